package remote_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/remote"
	"github.com/millwright-dev/millwright/provider/remote/wire"
)

// liar is a provider that answers as a test requires.
type liar struct {
	wire.UnimplementedProviderServer
	hello  *wire.HelloReply
	open   *wire.OpenReply
	find   *wire.FindReply
	create *wire.CreateReply
	delete *wire.DeleteReply
	list   []*wire.ListReply
	// endless listings repeat the last page forever.
	endless bool
	ends    error
	account *wire.AccountReply
	size    *wire.SizeReply
	status  *wire.StatusReply
	left    []*wire.LeftoversReply
	console *wire.ConsoleReply
	refers  *wire.RefersReply
	// hangs are the calls that never return, greeted counts the hellos.
	hangs   map[string]bool
	greeted int
}

func (l *liar) Hello(context.Context, *wire.HelloRequest) (*wire.HelloReply, error) {
	l.greeted++
	if l.hello != nil {
		return l.hello, nil
	}
	return &wire.HelloReply{Version: 1, Versions: []uint32{1}, Name: "liar"}, nil
}

func (l *liar) Open(context.Context, *wire.OpenRequest) (*wire.OpenReply, error) {
	if l.open != nil {
		return l.open, nil
	}
	return &wire.OpenReply{Capabilities: []wire.Capability{
		wire.Capability_CAPABILITY_ACCOUNTER, wire.Capability_CAPABILITY_SIZER,
		wire.Capability_CAPABILITY_STATUS_REPORTER, wire.Capability_CAPABILITY_LEFTOVER_LISTER,
		wire.Capability_CAPABILITY_CONSOLE_READER, wire.Capability_CAPABILITY_COMPARER, wire.Capability_CAPABILITY_MAINTAINER, wire.Capability(77),
	}}, nil
}

func (l *liar) Find(context.Context, *wire.FindRequest) (*wire.FindReply, error) { return l.find, nil }
func (l *liar) Create(context.Context, *wire.CreateRequest) (*wire.CreateReply, error) {
	return l.create, nil
}

func (l *liar) Delete(context.Context, *wire.DeleteRequest) (*wire.DeleteReply, error) {
	return l.delete, nil
}

func (l *liar) Account(context.Context, *wire.AccountRequest) (*wire.AccountReply, error) {
	return l.account, nil
}
func (l *liar) Size(context.Context, *wire.SizeRequest) (*wire.SizeReply, error) { return l.size, nil }
func (l *liar) Status(context.Context, *wire.StatusRequest) (*wire.StatusReply, error) {
	return l.status, nil
}

func (l *liar) Console(context.Context, *wire.ConsoleRequest) (*wire.ConsoleReply, error) {
	return l.console, nil
}

func (l *liar) Refers(context.Context, *wire.RefersRequest) (*wire.RefersReply, error) {
	return l.refers, nil
}

func (l *liar) List(_ *wire.ListRequest, stream grpc.ServerStreamingServer[wire.ListReply]) error {
	for _, page := range l.list {
		if err := stream.Send(page); err != nil {
			return err
		}
	}
	for l.endless {
		if err := stream.Send(l.list[len(l.list)-1]); err != nil {
			return err
		}
	}
	return l.ends
}

func (l *liar) Leftovers(_ *wire.LeftoversRequest, stream grpc.ServerStreamingServer[wire.LeftoversReply]) error {
	for _, page := range l.left {
		if err := stream.Send(page); err != nil {
			return err
		}
	}
	return nil
}

// hanging lets the liar's calls hang.
func (l *liar) hanging() grpc.ServerOption {
	return grpc.UnaryInterceptor(func(ctx context.Context, q any, call *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if l.hangs[call.FullMethod[strings.LastIndexByte(call.FullMethod, '/')+1:]] {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return next(ctx, q)
	})
}

// speak starts the liar and dials it.
func (l *liar) speak(t *testing.T, edit ...func(*remote.Config)) *remote.Client {
	t.Helper()
	path := socket(t)
	start(t, path, func(g *grpc.Server) { wire.RegisterProviderServer(g, l) }, l.hanging(), grpc.MaxSendMsgSize(64<<20))
	return dial(t, "liar", path, edit...)
}

func (l *liar) session(t *testing.T, edit ...func(*remote.Config)) provider.Session {
	t.Helper()
	s, err := l.speak(t, edit...).Open(t.Context(), provider.Class{API: provider.OpenShift, Cluster: "prod", Spec: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var mine = provider.Ref{UID: "uid-1", Namespace: "machines", Name: "worker-1", ProviderID: "liar:///i-1"}

func instance(edit func(*wire.Instance)) *wire.Instance {
	i := &wire.Instance{Id: "i-1", Uid: "uid-1", Name: "worker-1", ProviderId: "liar:///i-1", State: wire.State_STATE_RUNNING}
	if edit != nil {
		edit(i)
	}
	return i
}

var long = strings.Repeat("x", 3000)

// TestNoAnswerIsMadeOfNonsense: an answer that cannot be right is an error with an unknown outcome. Above
// all, none of them means that an instance does not exist.
func TestNoAnswerIsMadeOfNonsense(t *testing.T) {
	found := func(complete bool, all ...*wire.Instance) *liar {
		return &liar{find: &wire.FindReply{Complete: complete, Instances: all}}
	}
	find := func(ctx context.Context, s provider.Session) error {
		_, err := s.Find(ctx, mine)
		return err
	}
	create := func(ctx context.Context, s provider.Session) error {
		_, err := s.Create(ctx, mine, provider.Want{})
		return err
	}
	list := func(ctx context.Context, s provider.Session) error {
		_, err := collect(ctx, s)
		return err
	}
	for reason, c := range map[string]struct {
		liar *liar
		call func(context.Context, provider.Session) error
		says string
	}{
		"an empty message, as of a handler that forgot to answer": {found(false), find, "complete"},
		"some of the instances":                                   {found(false, instance(nil)), find, "complete"},
		"an instance of another machine": {
			found(true, instance(func(i *wire.Instance) { i.Uid, i.ProviderId = "uid-2", "liar:///i-2" })), find, "neither the UID",
		},
		"one of no machine and another name": {
			found(true, instance(func(i *wire.Instance) { i.Uid, i.Name, i.ProviderId = "", "x", "" })), find, "neither the UID",
		},
		"one twice, of which one would have to go": {found(true, instance(nil), instance(nil)), find, "twice"},
		"one without an identifier":                {found(true, instance(func(i *wire.Instance) { i.Id = "" })), find, "identifier"},
		"one in a state that nobody said":          {found(true, instance(func(i *wire.Instance) { i.State = 0 })), find, "state 0"},
		"one in a state of another version":        {found(true, instance(func(i *wire.Instance) { i.State = 99 })), find, "state 99"},
		"one that was given up and runs":           {found(true, instance(func(i *wire.Instance) { i.Fault = &wire.Failure{} })), find, "has a fault"},
		"one that was made at no time": {
			found(true, instance(func(i *wire.Instance) { i.Created = &timestamppb.Timestamp{Nanos: -1} })), find, "no time",
		},
		"a name without end": {found(true, instance(func(i *wire.Instance) { i.NodeName = long })), find, "2048 bytes"},
		"a tag without end": {
			found(true, instance(func(i *wire.Instance) { i.Tags = &wire.Tags{Items: map[string]string{"a": long}} })), find, "tag",
		},
		"an address without end": {
			found(true, instance(func(i *wire.Instance) { i.Addresses = []*wire.Address{{Address: long}} })), find, "address",
		},
		"more of one machine than there can be": {found(true, make([]*wire.Instance, 1001)...), find, "1001 instances"},
		"a message without end": {
			found(true, instance(func(i *wire.Instance) { i.RawState = strings.Repeat("x", 17<<20) })), find, "larger than max",
		},
		"a creation of nothing": {&liar{create: &wire.CreateReply{}}, create, "identifier"},
		"a creation of another machine's instance": {
			&liar{create: &wire.CreateReply{Instance: instance(func(i *wire.Instance) { i.Uid, i.ProviderId = "uid-2", "liar:///i-2" })}}, create, "neither the UID",
		},
		"a listing that just ends":    {&liar{list: []*wire.ListReply{{Instances: []*wire.Instance{instance(nil)}}}}, list, "last page"},
		"a listing of nothing at all": {&liar{}, list, "last page"},
		"a listing that fails in the middle": {
			&liar{list: []*wire.ListReply{{Instances: []*wire.Instance{instance(nil)}}}, ends: status.Error(codes.Unknown, "oh")}, list, "oh",
		},
		"a listing without end": {
			&liar{list: []*wire.ListReply{{Instances: slices.Repeat([]*wire.Instance{instance(nil)}, 1000)}}, endless: true}, list, "more than",
		},
		"a listing with one instance of two machines": {
			&liar{list: []*wire.ListReply{{Complete: true, Instances: []*wire.Instance{instance(nil), instance(func(i *wire.Instance) { i.Uid = "uid-2" })}}}},
			list, "two UIDs",
		},
		"a listing of what is none": {
			&liar{list: []*wire.ListReply{{Complete: true, Instances: []*wire.Instance{{}}}}}, list, "identifier",
		},
		"a page that has failed and says it is the end": {
			&liar{list: []*wire.ListReply{{Complete: true, Failure: &wire.Failure{Message: "no page"}}}}, list, "no page",
		},
		"leftovers that just end": {&liar{left: []*wire.LeftoversReply{{}}}, leftovers, "last page"},
		"a leftover of no name": {
			&liar{left: []*wire.LeftoversReply{{Complete: true, Leftovers: []*wire.Leftover{{}}}}}, leftovers, "leftover",
		},
		"an account without a name":        {&liar{account: &wire.AccountReply{}}, account, "account"},
		"less than no memory":              {&liar{size: &wire.SizeReply{MemoryMib: -1}}, size, "less than nothing"},
		"a label that is none":             {&liar{size: &wire.SizeReply{Labels: map[string]string{"a,b": "c"}}}, size, "label"},
		"a taint that does nothing":        {&liar{size: &wire.SizeReply{Taints: []*wire.Taint{{Key: "a", Effect: "Maybe"}}}}, size, "taint"},
		"a status that no object can keep": {&liar{status: &wire.StatusReply{Status: []byte("{")}}, providerStatus, "no JSON"},
		"a status without end": {
			&liar{status: &wire.StatusReply{Status: []byte(`"` + strings.Repeat("x", 70<<10) + `"`)}}, providerStatus, "bytes",
		},
	} {
		t.Run(reason, func(t *testing.T) {
			err := c.call(t.Context(), c.liar.session(t))
			if provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v of kind %q; want Transient, and to be told of %q", err, provider.KindOf(err), c.says)
			}
			if err != nil && len(err.Error()) > 10<<10 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func leftovers(ctx context.Context, s provider.Session) error {
	l, _ := provider.As[provider.LeftoverLister](s)
	for _, err := range l.Leftovers(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}

func account(ctx context.Context, s provider.Session) error {
	_, err := s.Account(ctx)
	return err
}

func size(ctx context.Context, s provider.Session) error {
	a, _ := provider.As[provider.Sizer](s)
	_, err := a.Size(ctx)
	return err
}

func providerStatus(_ context.Context, s provider.Session) error {
	_, err := s.Status(provider.Instance{})
	return err
}

// TestNoSessionIsMadeOfNonsense: a session with such data would be worse than no session.
func TestNoSessionIsMadeOfNonsense(t *testing.T) {
	for reason, c := range map[string]struct {
		hello *wire.HelloReply
		open  *wire.OpenReply
		kind  provider.Kind
		says  string
	}{
		"another infrastructure": {hello: &wire.HelloReply{Version: 1, Name: "other"}, kind: provider.Transient, says: `calls itself "other"`},
		"another version": {
			hello: &wire.HelloReply{Versions: []uint32{7}, Name: "liar"},
			kind:  provider.Transient, says: "speaks the versions [7] of the contract, and this program [1]",
		},
		"a version that was not offered": {hello: &wire.HelloReply{Version: 7, Name: "liar"}, kind: provider.Transient, says: "speaks the versions"},
		"a hello that fails": {
			hello: &wire.HelloReply{Failure: &wire.Failure{Kind: wire.Kind_KIND_DENIED, Message: "go away"}}, kind: provider.Denied, says: "go away",
		},
		"listings that are behind for ever": {open: &wire.OpenReply{ReadLag: durationpb.New(2 * time.Hour)}, kind: provider.Transient, says: "2h0m0s behind"},
		"listings that are ahead":           {open: &wire.OpenReply{ReadLag: durationpb.New(-time.Second)}, kind: provider.Transient, says: "behind"},
		"a choice without a name":           {open: &wire.OpenReply{Choices: []*wire.Choice{{}}}, kind: provider.Transient, says: "no name"},
		"two choices of a name": {
			open: &wire.OpenReply{Choices: []*wire.Choice{{Name: "a"}, {Name: "a"}}}, kind: provider.Transient, says: "choice 2 has no name of its own",
		},
		"a choice as good as none": {
			open: &wire.OpenReply{Choices: []*wire.Choice{{Name: "a", Zone: "a", Equal: true}}}, kind: provider.Transient, says: "as good as none",
		},
		"a pattern that is none": {open: &wire.OpenReply{Identities: []*wire.Identity{{Pattern: "("}}}, kind: provider.Transient, says: "pattern"},
		"a scope without end":    {open: &wire.OpenReply{Scope: long}, kind: provider.Transient, says: "scope"},
		"a secret that it was not allowed": {
			open: &wire.OpenReply{Needs: []*wire.ObjectRef{{ApiVersion: "v1", Kind: "Secret", Namespace: "kube-system", Name: "admin"}}},
			kind: provider.Denied, says: "v1/Secret/kube-system/admin, which it is not allowed",
		},
		"more objects than anybody needs": {open: &wire.OpenReply{Needs: make([]*wire.ObjectRef, 21)}, kind: provider.Transient, says: "21 objects"},
		"a failure with a pause of years": {
			open: &wire.OpenReply{Failure: &wire.Failure{Kind: wire.Kind_KIND_THROTTLED, Message: "slow", After: durationpb.New(1e6 * time.Hour)}},
			kind: provider.Throttled, says: "slow",
		},
		"a failure of a kind that nobody knows": {
			open: &wire.OpenReply{Failure: &wire.Failure{Kind: 99, Field: "zone", Message: "odd"}}, kind: provider.Transient, says: "odd",
		},
	} {
		t.Run(reason, func(t *testing.T) {
			s, err := (&liar{hello: c.hello, open: c.open}).speak(t).Open(t.Context(), provider.Class{Cluster: "prod"})
			if s != nil && err == nil || provider.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v of kind %q; want %q, and to be told of %q", err, provider.KindOf(err), c.kind, c.says)
			}
			if after := provider.AfterOf(err); after > time.Hour {
				t.Errorf("waits %v", after)
			}
		})
	}
}

// TestAListingMayRepeatItself: pages overlap if an instance is created meanwhile; a repeated instance
// counts once.
func TestAListingMayRepeatItself(t *testing.T) {
	other := instance(func(i *wire.Instance) { i.Id, i.Uid = "i-2", "uid-2" })
	l := &liar{list: []*wire.ListReply{{Instances: []*wire.Instance{instance(nil), other}}, {Instances: []*wire.Instance{other}, Complete: true}}}
	listing := l.session(t).List(t.Context())
	for range 2 { // a second look lists again
		var ids []string
		for i, err := range listing {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, i.ID)
		}
		if got := strings.Join(ids, " "); got != "i-1 i-2" {
			t.Errorf("listed %q", got)
		}
	}
}

// TestConsoleKeepsToItsLimit: it returns the end of the output, without a partial character.
func TestConsoleKeepsToItsLimit(t *testing.T) {
	c, _ := provider.As[provider.ConsoleReader]((&liar{console: &wire.ConsoleReply{Text: "beginning €nd"}}).session(t))
	if text, err := c.Console(t.Context(), mine, provider.Instance{}, 4); err != nil || text != "nd" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestProviderThatHangs: no call holds its caller longer than allowed, with or without a context, and the
// defaults are harmless.
func TestProviderThatHangs(t *testing.T) {
	const limit = 50 * time.Millisecond
	l := &liar{hangs: map[string]bool{"Find": true, "Create": true, "Differences": true, "Unkept": true, "Status": true}}
	s := l.session(t, func(c *remote.Config) { c.Timeouts = remote.Timeouts{Read: limit, Write: 2 * limit, Plain: limit} })
	maintain, _ := provider.As[provider.Maintainer](s)
	for what, call := range map[string]func() error{
		"find": func() error {
			_, err := s.Find(context.Background(), mine)
			return err
		},
		"create": func() error {
			_, err := s.Create(context.Background(), mine, provider.Want{})
			return err
		},
		"status": func() error { return providerStatus(context.Background(), s) },
		"differences": func() error {
			if d := s.Differences(mine, provider.Instance{ID: "i-1"}); d != nil {
				t.Errorf("differences %v", d)
			}
			return provider.Errorf(provider.Transient, "nothing is said")
		},
		"unkept": func() error {
			if maintain.Unkept(mine, provider.Instance{ID: "i-1"}) {
				t.Error("what is not known is mended")
			}
			return provider.Errorf(provider.Transient, "nothing is said")
		},
	} {
		t.Run(what, func(t *testing.T) {
			begun := time.Now()
			err := call()
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("held for %v", took)
			}
			fails(t, err, provider.Transient)
		})
	}
	if done, err := s.Delete(t.Context(), mine, nil); done || err != nil { // the server answers other calls meanwhile
		t.Errorf("delete beside calls that hang: %v, %v", done, err)
	}
}
