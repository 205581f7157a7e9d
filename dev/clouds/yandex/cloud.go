package yandex

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	"github.com/yandex-cloud/go-genproto/yandex/cloud/endpoint"
	"github.com/yandex-cloud/go-genproto/yandex/cloud/iam/v1"
	"github.com/yandex-cloud/go-genproto/yandex/cloud/operation"
	"github.com/yandex-cloud/go-genproto/yandex/cloud/vpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Options are the options of a cloud.
type Options struct {
	Inventory Inventory
	// AcceptAny accepts unknown service accounts, keys, folders, zones, images, subnets, platforms and so on.
	AcceptAny bool
	// Boot is how long an instance takes to run, Delete how long it takes to stop or to be deleted. 0 means
	// 3 s and 4 s.
	Boot, Delete time.Duration
	// PageSize limits the pages of listings; 0 means 1000.
	PageSize int
}

func (o Options) complete() Options {
	o.Boot, o.Delete = double.Or(o.Boot, 3*time.Second), double.Or(o.Delete, 4*time.Second)
	o.PageSize = cmp.Or(o.PageSize, 1000)
	return o
}

// Cloud is a cloud with its folders.
type Cloud struct {
	*store
	services map[string]any // by the full name of the service
}

// The services, each on its own type. Each of them is the store.
type (
	instanceService struct {
		compute.UnimplementedInstanceServiceServer
		*store
	}
	operationService struct {
		operation.UnimplementedOperationServiceServer
		*store
	}
	tokenService struct {
		iam.UnimplementedIamTokenServiceServer
		*store
	}
	addressService struct {
		vpc.UnimplementedAddressServiceServer
		*store
	}
	endpointService struct {
		endpoint.UnimplementedApiEndpointServiceServer
	}
)

// store has the state of a cloud.
type store struct {
	options Options
	clock   *double.Clock

	instances *double.Table[instance]
	disks     *double.Table[disk]

	double.Controls
	double.Conditions // the capacity of zones, and of zone/platform
	double.Inbox[Received]
	*double.Credentials[accountKey]

	mu         sync.Mutex // of writes, and of the fields below
	made       int
	operations map[string]*pendingOperation
	keys       map[string]string // the operation of each idempotency key, by account and key
	tokens     map[string]grant
	sample     sample
}

var (
	_ double.Cloud       = &Cloud{}
	_ double.Host        = &Cloud{}
	_ double.Inspected   = &Cloud{}
	_ double.Exhaustible = &Cloud{}
)

// New returns a cloud with a clock.
func New(clock *double.Clock, o Options) *Cloud {
	s := &store{
		options: o.complete(), clock: clock, instances: double.NewTable[instance](clock), disks: double.NewTable[disk](clock),
		operations: map[string]*pendingOperation{}, keys: map[string]string{}, tokens: map[string]grant{},
		Credentials: double.NewCredentials(o.AcceptAny, func(k accountKey) bool { return k.folder == o.Inventory.Folders[0] }, o.Inventory.keys()...),
	}
	s.SetCapacity(o.Inventory.Capacity)
	s.Controls = s.controls()
	return &Cloud{store: s, services: map[string]any{
		compute.InstanceService_ServiceDesc.ServiceName:     instanceService{store: s},
		operation.OperationService_ServiceDesc.ServiceName:  operationService{store: s},
		iam.IamTokenService_ServiceDesc.ServiceName:         tokenService{store: s},
		vpc.AddressService_ServiceDesc.ServiceName:          addressService{store: s},
		endpoint.ApiEndpointService_ServiceDesc.ServiceName: endpointService{},
	}}
}

// handlers are the handlers of all methods, by the path of a request.
var handlers = func() map[string]grpc.MethodHandler {
	all := map[string]grpc.MethodHandler{}
	for _, d := range []grpc.ServiceDesc{
		compute.InstanceService_ServiceDesc, operation.OperationService_ServiceDesc, iam.IamTokenService_ServiceDesc, vpc.AddressService_ServiceDesc,
		endpoint.ApiEndpointService_ServiceDesc,
	} {
		for _, m := range d.Methods {
			all["/"+d.ServiceName+"/"+m.MethodName] = m.Handler
		}
	}
	return all
}()

// nameOf is the name of the operation of a path: "Instance.Create".
func nameOf(path string) string {
	service, method, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return strings.TrimSuffix(service[strings.LastIndexByte(service, '.')+1:], "Service") + "." + method
}

// Operation implements [double.Cloud]. The name for a page after the first ends in a plus sign.
func (c *Cloud) Operation(r *http.Request, body []byte) (name string, writes bool) {
	name = nameOf(r.URL.Path)
	if name == instanceList {
		var in compute.ListInstancesRequest
		if raw, err := message(body); err == nil && proto.Unmarshal(raw, &in) == nil && in.PageToken != "" {
			return name + "+", false
		}
	}
	switch _, method, _ := strings.Cut(name, "."); method {
	case "Create", "Update", "Delete", "Start", "Stop", "Restart":
		return name, name != tokenCreate // a token is no resource
	}
	return name, false
}

// The names of operations with a special meaning.
const (
	instanceList = "Instance.List"
	tokenCreate  = "IamToken.Create"
)

// Fail implements [double.Cloud].
func (c *Cloud) Fail(w http.ResponseWriter, _ *http.Request, f double.Failure) {
	writeStatus(w, worded(f))
}

// Serve implements [double.Cloud].
func (c *Cloud) Serve(w http.ResponseWriter, r *http.Request, body []byte) {
	c.settle()
	answer, err := c.serve(r, body)
	if err != nil {
		writeStatus(w, status.Convert(err))
		return
	}
	writeMessage(w, answer)
}

func (c *Cloud) serve(r *http.Request, body []byte) (proto.Message, error) {
	handler, ok := handlers[r.URL.Path]
	if !ok {
		return nil, status.Errorf(codes.Unimplemented, "unknown method %s", r.URL.Path)
	}
	raw, err := message(body)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	name := nameOf(r.URL.Path)
	in := call{name: name, key: r.Header.Get("Idempotency-Key")}
	if !public[name] {
		if in.caller, err = c.authenticate(r); err != nil {
			return nil, err
		}
		if err := in.caller.permitted(name); err != nil {
			return nil, err
		}
	}
	service, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	answer, err := handler(c.services[service], context.WithValue(r.Context(), callKey{}, in), func(into any) error {
		m := into.(proto.Message)
		if err := proto.Unmarshal(raw, m); err != nil {
			return status.Error(codes.Internal, err.Error())
		}
		c.Remember(in.name, Received{Key: in.key, Message: m})
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	return answer.(proto.Message), nil
}

// public are the operations without credentials.
var public = map[string]bool{tokenCreate: true, "ApiEndpoint.List": true, "ApiEndpoint.Get": true}

// call is a request beside its message.
type call struct {
	name string
	// key is the idempotency key; empty without one.
	key    string
	caller ServiceAccount
}

type callKey struct{}

func callOf(ctx context.Context) call {
	in, _ := ctx.Value(callKey{}).(call)
	return in
}

// Received is a received request.
type Received struct {
	// Key is its idempotency key.
	Key     string
	Message proto.Message
}

// newID returns a new ID in the form of Yandex Cloud: a prefix of three characters, and 17 letters and digits.
func newID(prefix string) string { return prefix + double.Hex(17) }

// Get implements the service of endpoints, under the real addresses: of a proxy in front of the simulator.
func (endpointService) Get(_ context.Context, in *endpoint.GetApiEndpointRequest) (*endpoint.ApiEndpoint, error) {
	for _, e := range endpoints {
		if e.GetId() == in.GetApiEndpointId() {
			return e, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "Endpoint %s not found", in.GetApiEndpointId())
}

// List implements the service of endpoints.
func (endpointService) List(context.Context, *endpoint.ListApiEndpointsRequest) (*endpoint.ListApiEndpointsResponse, error) {
	return &endpoint.ListApiEndpointsResponse{Endpoints: endpoints}, nil
}

// endpoints are the addresses of the simulated services at Yandex Cloud.
var endpoints = []*endpoint.ApiEndpoint{
	{Id: "compute", Address: "compute.api.cloud.yandex.net:443"},
	{Id: "iam", Address: "iam.api.cloud.yandex.net:443"},
	{Id: "operation", Address: "operation.api.cloud.yandex.net:443"},
	{Id: "vpc", Address: "vpc.api.cloud.yandex.net:443"},
}
