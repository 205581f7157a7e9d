package decorate

import (
	"context"
	"iter"

	"github.com/millwright-dev/millwright/provider"
)

// The verbs of a [Call]. They are label values of metrics.
const (
	Find       = "find"
	Create     = "create"
	Delete     = "delete"
	List       = "list"
	Initialize = "initialize"
	Maintain   = "maintain"
	Size       = "size"
	Power      = "power"
	Leftovers  = "leftovers"
	Console    = "console"
)

// Call is a call that is about to begin.
type Call struct {
	// Provider is the provider's name, Verb one of the verbs above.
	Provider, Verb string
	// Class is the session's. It is shared: do not change it.
	Class *provider.Class
	// Account identifies the class's credentials and region.
	Account provider.ClientKey
	// Ref is zero for calls that concern no machine (List, Size).
	Ref provider.Ref
}

// Around runs in place of every call. It makes the call with do, or returns an error of its own; it calls
// do at most once, and do may continue after around has returned an error. For List and Leftovers, do
// covers the whole listing, including the caller's work between two items, and must have ended.
type Around func(ctx context.Context, c Call, do func(context.Context) error) error

// Calls decorates p so that around runs in place of every call of a session, including those of optional
// capabilities that reach the infrastructure.
func Calls(p provider.Provider, around Around) provider.Provider {
	return &calls{Provider: p, around: around}
}

type calls struct {
	provider.Provider
	around Around
}

func (p *calls) Unwrap() any { return p.Provider }

func (p *calls) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	s, err := p.Provider.Open(ctx, class)
	if err != nil {
		return nil, err
	}
	return &session{Session: s, interception: interception{inner: s, around: p.around, call: Call{
		Provider: p.Name(), Class: &class,
		Account: provider.KeyOf(class.Credentials, "", class.Region),
	}}}, nil
}

// session decorates the verbs; its interception decorates the optional capabilities.
type session struct {
	provider.Session
	interception
}

func (s *session) Unwrap() any { return s.Session }

func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	return asked(ctx, &s.interception, Find, ref, func(ctx context.Context) ([]provider.Instance, error) {
		return s.Session.Find(ctx, ref)
	})
}

func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	return asked(ctx, &s.interception, Create, ref, func(ctx context.Context) (provider.Instance, error) {
		return s.Session.Create(ctx, ref, want)
	})
}

func (s *session) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (bool, error) {
	return asked(ctx, &s.interception, Delete, ref, func(ctx context.Context) (bool, error) {
		return s.Session.Delete(ctx, ref, instances)
	})
}

// asked runs a call that returns a value and an error; with an error the value is zero. The value is handed
// over, never shared: around may return before the call does.
func asked[T any](ctx context.Context, n *interception, verb string, ref provider.Ref, do func(context.Context) (T, error)) (answer T, err error) {
	answers := make(chan T, 1)
	err = n.run(ctx, verb, ref, func(ctx context.Context) error {
		a, err := do(ctx)
		if err == nil {
			answers <- a
		}
		return err
	})
	if err != nil {
		return answer, err
	}
	select {
	case answer = <-answers:
	default:
	}
	return answer, nil
}

func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return paged(ctx, &s.interception, List, s.Session.List)
}

// paged runs a listing as one call. It passes on the error that around returns, from the listing or from
// around itself.
func paged[T any](ctx context.Context, n *interception, verb string, list func(context.Context) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		wanted := true
		err := n.run(ctx, verb, provider.Ref{}, func(ctx context.Context) error {
			for i, err := range list(ctx) {
				if err != nil {
					return err
				}
				if wanted = yield(i, nil); !wanted {
					return nil
				}
			}
			return nil
		})
		if err != nil && wanted {
			var none T
			yield(none, err)
		}
	}
}
