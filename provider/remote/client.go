package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/remote/wire"
)

// versions are the versions of the contract that this package supports.
var versions = []uint32{1}

// Config has the address of a provider and its settings.
type Config struct {
	// Name is the provider's. A provider that reports another name is refused: it belongs to another
	// infrastructure, which does not have this one's machines.
	Name string
	// Address is unix:///path, or host:port with TLS.
	Address string
	// TLS identifies both sides; nil for a unix socket, whose directory restricts access.
	TLS *TLS
	// Timeouts limit calls.
	Timeouts Timeouts
	// Objects reads the further objects that the provider requests, if Allowed names them; nil: the
	// provider gets none.
	Objects provider.Objects
	// Allowed are the objects that the provider may read. Others may hold secrets that it must not see.
	Allowed []provider.ObjectRef
	// Log records missing answers for which a default is used. Default: no log.
	Log logr.Logger
}

// Timeouts limit the duration of calls.
type Timeouts struct {
	// Read is for calls that only read; 0 for a minute. Write is for calls that change something; 0 for 5
	// minutes. A listing has none: package decorate sets a deadline for each page.
	Read, Write time.Duration
	// Plain is for calls that the provider answers without the infrastructure: differences, status; 0 for 5
	// s.
	Plain time.Duration
}

func (t Timeouts) withDefaults() Timeouts {
	if t.Read <= 0 {
		t.Read = time.Minute
	}
	if t.Write <= 0 {
		t.Write = 5 * time.Minute
	}
	if t.Plain <= 0 {
		t.Plain = 5 * time.Second
	}
	return t
}

// Client is a provider in another process. It connects at the first call, and again whenever the connection
// is lost.
type Client struct {
	config   Config
	versions []uint32
	conn     *grpc.ClientConn
	stub     wire.ProviderClient
	// dialled counts connections.
	dialled atomic.Int64

	mu      sync.Mutex
	greeted greeting
}

// greeting is the agreement of both sides.
type greeting struct {
	// dialled is the number of its connection, 0 for none.
	dialled  int64
	version  uint32
	referrer bool
}

var names = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$`)

// Dial returns the provider at the address. It does not connect yet: a provider may start later than its controller.
func Dial(config Config) (*Client, error) {
	if !names.MatchString(config.Name) {
		return nil, fmt.Errorf("%q is no name of a provider: small letters, digits and dashes", config.Name)
	}
	network, address, err := parse(config.Address)
	if err != nil {
		return nil, err
	}
	secured, err := config.TLS.client(network, address)
	if err != nil {
		return nil, err
	}
	config.Timeouts = config.Timeouts.withDefaults()
	c := &Client{config: config, versions: versions}
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		c.dialled.Add(1)
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}
	c.conn, err = grpc.NewClient("passthrough:///provider",
		grpc.WithTransportCredentials(secured), grpc.WithContextDialer(dial),
		// The caller decides when to call again, and first finds out the result of the first call.
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostMessage), grpc.MaxCallSendMsgSize(mostMessage)),
		grpc.WithMaxHeaderListSize(64<<10),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}))
	if err != nil {
		return nil, fmt.Errorf("connect to provider %s: %w", config.Name, err)
	}
	c.stub = wire.NewProviderClient(c.conn)
	return c, nil
}

// parse splits an address into network and address.
func parse(address string) (network, at string, err error) {
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		if !strings.HasPrefix(path, "/") {
			return "", "", fmt.Errorf("address %q: the path of a socket begins with a slash: unix:///run/provider.sock", address)
		}
		return "unix", path, nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "", "", fmt.Errorf("address %q is neither unix:///path nor host:port: %w", address, err)
	}
	return "tcp", address, nil
}

// Close ends the connection, and all calls with it.
func (c *Client) Close() error { return c.conn.Close() }

// Name implements [provider.Provider].
func (c *Client) Name() string { return c.config.Name }

// replied is the interface of every reply.
type replied interface{ GetFailure() *wire.Failure }

// ask makes a call, and returns its reply or the reported failure.
func ask[Q any, A replied](ctx context.Context, c *Client, limit time.Duration, call func(context.Context, Q, ...grpc.CallOption) (A, error), q Q) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var none A
	a, err := call(ctx, q)
	if err != nil {
		return none, c.lost(ctx, err)
	}
	if err := toError(a.GetFailure()); err != nil {
		return none, err
	}
	return a, nil
}

// askKnown is ask after both sides have agreed on a version. The connection may have changed by the time of
// the call: then the reply counts only if the other side is still the expected provider.
func askKnown[Q any, A replied](
	ctx context.Context, c *Client, version uint32, limit time.Duration, call func(context.Context, Q, ...grpc.CallOption) (A, error), q Q,
) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var none A
	if err := c.known(ctx, version); err != nil {
		return none, err
	}
	a, err := ask(ctx, c, limit, call, q)
	if err != nil {
		return none, err
	}
	if err := c.known(ctx, version); err != nil {
		return none, err
	}
	return a, nil
}

// lost is the error of a call without a reply: its outcome is unknown.
func (c *Client) lost(ctx context.Context, err error) error {
	s := status.Convert(err)
	if s.Code() == codes.FailedPrecondition { // a process with another version has replaced the greeted one
		c.mu.Lock()
		c.greeted = greeting{}
		c.mu.Unlock()
	}
	text := fmt.Sprintf("provider %s at %s: no answer (%s): %s", c.config.Name, c.config.Address, s.Code(), provider.Clip(s.Message(), mostText))
	if ctx.Err() != nil {
		return &provider.Error{Kind: provider.Transient, Err: fmt.Errorf("%s: %w", text, ctx.Err())}
	}
	return &provider.Error{Kind: provider.Transient, Err: errors.New(text)}
}

// greet returns the agreement for this connection, and sends a hello on a new one, until the connection
// stays the same during the hello.
func (c *Client) greet(ctx context.Context) (greeting, error) {
	for {
		now := c.dialled.Load()
		c.mu.Lock()
		g := c.greeted
		c.mu.Unlock()
		if g.dialled != 0 && g.dialled == now {
			return g, nil
		}
		g, err := c.hello(ctx)
		if err != nil {
			return g, err
		}
		if g.dialled = now; c.dialled.Load() == now {
			c.mu.Lock()
			c.greeted = g
			c.mu.Unlock()
		}
	}
}

// hello agrees with the other side on a version.
func (c *Client) hello(ctx context.Context) (g greeting, err error) {
	a, err := ask(ctx, c, c.config.Timeouts.Read, c.stub.Hello, &wire.HelloRequest{Versions: c.versions, Client: "millwright"})
	if err != nil {
		return g, fmt.Errorf("say hello: %w", err)
	}
	if err := checkName(c.config.Name, a.GetName()); err != nil {
		return g, &provider.Error{Kind: provider.Transient, Err: err}
	}
	if !slices.Contains(c.versions, a.GetVersion()) {
		return g, provider.Errorf(provider.Transient, "provider %s speaks the versions %v of the contract, and this program %v: update the older one",
			c.config.Name, a.GetVersions()[:min(len(a.GetVersions()), 20)], c.versions)
	}
	return greeting{version: a.GetVersion(), referrer: slices.Contains(a.GetCapabilities(), wire.Capability_CAPABILITY_REFERRER)}, nil
}

// known reports whether the other side of the connection is the provider, and supports the version.
func (c *Client) known(ctx context.Context, version uint32) error {
	g, err := c.greet(ctx)
	if err == nil && g.version != version {
		err = provider.Errorf(provider.Transient, "provider %s speaks version %d of the contract since it was connected to anew, and %d before",
			c.config.Name, g.version, version)
	}
	return err
}

// As makes the client a [provider.SpecReader] if the provider is one. This takes a call: if it gets no
// answer, the first call of the SpecReader returns the error.
func (c *Client) As(target any) bool {
	t, ok := target.(*provider.SpecReader)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.config.Timeouts.Plain)
	defer cancel()
	g, err := c.greet(ctx)
	if err == nil && !g.referrer {
		return false
	}
	*t = specReader{client: c, version: g.version, err: err}
	return true
}

type specReader struct {
	client  *Client
	version uint32
	err     error
}

// ReadSpec implements [provider.SpecReader]. The contract does not transmit regions.
func (r specReader) ReadSpec(api string, spec []byte) (provider.SpecNames, error) {
	if r.err != nil {
		return provider.SpecNames{}, r.err
	}
	c := r.client
	q := &wire.RefersRequest{Version: r.version, Api: api, Spec: spec}
	a, err := askKnown(context.Background(), c, r.version, c.config.Timeouts.Plain, c.stub.Refers, q)
	if err != nil {
		return provider.SpecNames{}, err
	}
	names := provider.SpecNames{UserData: toSecret(a.GetUserData()), Credentials: toSecret(a.GetCredentials())}
	if !short(names.UserData.Namespace, names.UserData.Name, names.Credentials.Namespace, names.Credentials.Name) {
		return provider.SpecNames{}, lie("a name of a secret has more than %d bytes", mostName)
	}
	return names, nil
}

// mostRounds is how many times a class may be opened with further objects.
const mostRounds = 5

// Open implements [provider.Provider].
func (c *Client) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	g, err := c.greet(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{client: c, version: g.version, class: classOf(class)}
	for range mostRounds {
		a, err := askKnown(ctx, c, s.version, c.config.Timeouts.Read, c.stub.Open, &wire.OpenRequest{Version: s.version, Class: s.class})
		if err != nil {
			return nil, err
		}
		if len(a.GetNeeds()) == 0 {
			return s, s.opened(a)
		}
		if err := s.fetch(ctx, a.GetNeeds()); err != nil {
			return nil, err
		}
	}
	return nil, lie("it asks for further objects %d times", mostRounds)
}

// fetch reads the objects that the provider needs besides the class.
func (s *session) fetch(ctx context.Context, needs []*wire.ObjectRef) error {
	if len(needs)+len(s.class.GetObjects()) > 20 {
		return lie("it asks for %d objects", len(needs)+len(s.class.GetObjects()))
	}
	config := s.client.config
	for _, need := range needs {
		ref := toObjectRef(need)
		if config.Objects == nil || !slices.Contains(config.Allowed, ref) {
			return provider.Errorf(provider.Denied, "the provider asks for %s, which it is not allowed to be given", describe(ref))
		}
		raw, err := config.Objects.Object(ctx, ref)
		missing := errors.Is(err, provider.ErrNoObject)
		if err != nil && !missing {
			return err
		}
		s.class.Objects = append(s.class.Objects, &wire.Object{Ref: objectRefOf(ref), Json: raw, Missing: missing})
	}
	return nil
}

// describe returns an object in the form of the flags: APIVERSION/KIND/NAMESPACE/NAME.
func describe(ref provider.ObjectRef) string {
	return provider.Clip(strings.Join([]string{ref.APIVersion, ref.Kind, ref.Namespace, ref.Name}, "/"), 200)
}
