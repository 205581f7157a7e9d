package cloud

import (
	"context"
	"time"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	"github.com/yandex-cloud/go-genproto/yandex/cloud/operation"
	"github.com/yandex-cloud/go-genproto/yandex/cloud/vpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// client is a folder, in the view of one service account, with cached answers.
type client struct {
	folder     string
	instances  compute.InstanceServiceClient
	operations operation.OperationServiceClient
	addresses  vpc.AddressServiceClient

	reads    kit.SharedReads
	opened   *kit.Memo[string]   // the folder, once it was read
	created  *kit.Memo[creation] // by the token of the machine
	failed   *kit.Memo[int]      // the number of failed creations, by the token of the machine
	leaving  *kit.Memo[struct{}] // instances whose deletion Compute Cloud has accepted, by ID
	taken    *kit.Memo[string]   // the token of the machine that was promised a public address, by address
	refusals *kit.Refusals       // of labels, by instance and labels
}

// How long answers are cached.
const (
	aMoment = time.Minute
	aWhile  = 5 * time.Minute
	aDay    = 24 * time.Hour
)

func newClient(p *Provider, secret map[string][]byte) (*client, error) {
	key, folder, err := identityOf(secret)
	if err != nil {
		return nil, err
	}
	t := newTokens(p.services, p.options.Clock, key)
	to := func(service string) caller { return caller{services: p.services, tokens: t, service: service} }
	clock := p.options.Clock
	return &client{
		folder:     folder,
		instances:  compute.NewInstanceServiceClient(to(computeService)),
		operations: operation.NewOperationServiceClient(to(operationService)),
		addresses:  vpc.NewAddressServiceClient(to(vpcService)),
		opened:     kit.NewMemo[string](clock, 100*365*aDay),
		created:    kit.NewMemo[creation](clock, aDay), failed: kit.NewMemo[int](clock, aDay), leaving: kit.NewMemo[struct{}](clock, aWhile),
		taken: kit.NewMemo[string](clock, aMoment), refusals: kit.NewRefusals(clock, 2*aWhile),
	}, nil
}

// caller calls a service with the tokens of a service account.
type caller struct {
	services *services
	tokens   *tokens
	service  string
}

var _ grpc.ClientConnInterface = caller{}

// Invoke implements [grpc.ClientConnInterface]. A refused token may have expired: the call is repeated once
// with another one.
func (c caller) Invoke(ctx context.Context, method string, in, out any, o ...grpc.CallOption) error {
	err := c.invoke(ctx, method, in, out, o...)
	if status.Code(err) == codes.Unauthenticated {
		c.tokens.forget()
		err = c.invoke(ctx, method, in, out, o...)
	}
	return err
}

func (c caller) invoke(ctx context.Context, method string, in, out any, o ...grpc.CallOption) error {
	token, err := c.tokens.get(ctx)
	if err != nil {
		return err
	}
	conn, err := c.services.to(ctx, c.service)
	if err != nil {
		return err
	}
	return conn.Invoke(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token), method, in, out, o...)
}

// NewStream implements [grpc.ClientConnInterface].
func (caller) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errNoStreams
}

// once returns a context for a request that has its effect once for all requests with the key, which is a
// UUID.
func once(ctx context.Context, key string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "idempotency-key", key)
}

// uuid is 32 hexadecimal digits as a UUID of version 4, which Yandex Cloud recommends.
func uuid(digits string) string {
	return digits[:8] + "-" + digits[8:12] + "-4" + digits[13:16] + "-8" + digits[17:20] + "-" + digits[20:32]
}

// Account implements [provider.Session]: the ID of the folder, which the secret names. A listing proves that
// the credentials open it.
func (s *session) Account(ctx context.Context) (string, error) {
	c, err := s.client(ctx)
	if err != nil {
		return "", err
	}
	return c.opened.Get(ctx, "", func(ctx context.Context) (string, error) {
		_, err := c.instances.List(ctx, &compute.ListInstancesRequest{FolderId: c.folder, PageSize: 1})
		return c.folder, s.observe("open folder "+c.folder, err)
	})
}

var _ provider.Session = &session{}
