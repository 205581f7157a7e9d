package cloud

import (
	"context"
	"crypto/tls"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/endpoint"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// defaultEndpoint is the address that names the endpoints of Yandex Cloud's services.
const defaultEndpoint = "api.cloud.yandex.net:443"

// The services that are called, by the names under which Yandex Cloud lists their endpoints.
const (
	computeService   = "compute"
	iamService       = "iam"
	operationService = "operation"
	vpcService       = "vpc"
)

// services are the connections to the services of Yandex Cloud. All clients share them: requests have the
// credentials, connections have none.
type services struct {
	// endpoint lists the addresses of the services; plain is the address of all services, without TLS.
	endpoint, plain string
	addresses       *kit.Memo[map[string]string]

	mu   sync.Mutex
	open map[string]*grpc.ClientConn // by address
}

func newServices(o Options) *services {
	s := &services{endpoint: o.Endpoint, addresses: kit.NewMemo[map[string]string](o.Clock, aDay), open: map[string]*grpc.ClientConn{}}
	if at, err := url.Parse(o.Endpoint); err == nil && at.Scheme == "http" && at.Host != "" {
		s.plain = at.Host
	}
	if s.endpoint == "" {
		s.endpoint = defaultEndpoint
	}
	return s
}

// to returns a connection to a service.
func (s *services) to(ctx context.Context, service string) (*grpc.ClientConn, error) {
	if s.plain != "" {
		return s.dial(s.plain)
	}
	all, err := s.addresses.Get(ctx, "", s.list)
	if err != nil {
		return nil, err
	}
	if all[service] == "" {
		return nil, provider.Errorf(provider.Transient, "%s names no endpoint of the service %q", s.endpoint, service)
	}
	return s.dial(all[service])
}

// list asks for the addresses of all services, which needs no credentials.
func (s *services) list(ctx context.Context) (map[string]string, error) {
	conn, err := s.dial(s.endpoint)
	if err != nil {
		return nil, err
	}
	answer, err := endpoint.NewApiEndpointServiceClient(conn).List(ctx, &endpoint.ListApiEndpointsRequest{})
	if err != nil {
		return nil, classify("ask "+s.endpoint+" for the endpoints of services", err)
	}
	all := map[string]string{}
	for _, e := range answer.GetEndpoints() {
		all[e.GetId()] = e.GetAddress()
	}
	return all, nil
}

// unused is how long a connection without an answer is kept.
const unused = 30 * time.Second

// mostMessage is the size of the largest accepted answer: a page of instances.
const mostMessage = 64 << 20

// dial returns the connection to an address. It does not connect before the first call.
func (s *services) dial(address string) (*grpc.ClientConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if conn := s.open[address]; conn != nil {
		return conn, nil
	}
	secure := credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	if s.plain != "" {
		secure = insecure.NewCredentials()
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(secure), grpc.WithUserAgent("millwright"), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostMessage)), grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 2 * unused, Timeout: unused}))
	if err != nil {
		return nil, provider.Errorf(provider.Invalid, "the address %q of Yandex Cloud: %w", address, err)
	}
	s.open[address] = conn
	return conn, nil
}

// errNoStreams is the error of calls that the provider does not make.
var errNoStreams = errors.New("the provider calls no streams")
