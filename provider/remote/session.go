package remote

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/remote/wire"
)

// session is a class that another process has opened. That process stores no session: each call transmits
// the class.
type session struct {
	client  *Client
	version uint32
	class   *wire.Class

	capabilities []wire.Capability
	scope        string
	source       provider.ClientKey
	lag          time.Duration
	choices      []provider.Choice
	identities   []identity
}

// mostLag is the longest read lag that a provider may declare. During the lag, an empty answer is not
// trusted.
const mostLag = time.Hour

// opened stores the reported properties of the session.
func (s *session) opened(a *wire.OpenReply) (err error) {
	if !short(a.GetScope(), a.GetSource()) {
		return lie("a scope or a source of more than %d bytes", mostName)
	}
	if lag := a.GetReadLag(); lag.AsDuration() < 0 || lag.AsDuration() > mostLag {
		return lie("listings that are %v behind", lag.AsDuration())
	}
	s.capabilities, s.scope, s.source, s.lag = a.GetCapabilities(), a.GetScope(), provider.ClientKey(a.GetSource()), a.GetReadLag().AsDuration()
	if s.choices, err = checkChoices(a.GetChoices()); err != nil {
		return err
	}
	s.identities, err = checkIdentities(a.GetIdentities())
	return err
}

// Find implements [provider.Session].
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	q := &wire.FindRequest{Version: s.version, Class: s.class, Ref: refOf(ref)}
	a, err := askKnown(ctx, s.client, s.version, s.client.config.Timeouts.Read, s.client.stub.Find, q)
	if err != nil {
		return nil, err
	}
	if !a.GetComplete() {
		return nil, lie("it does not say that what it found is complete")
	}
	return checkFound(s, ref, a.GetInstances())
}

// Create implements [provider.Session].
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	q := &wire.CreateRequest{
		Version: s.version, Class: s.class, Ref: refOf(ref), UserData: want.UserData, Role: want.Role, Choice: want.Choice,
		Token: ref.Token(s.class.GetCluster()), Attempt: uint32(want.Attempt), //nolint:gosec // it counts requests of one machine
	}
	a, err := askKnown(ctx, s.client, s.version, s.client.config.Timeouts.Write, s.client.stub.Create, q)
	if err != nil {
		return provider.Instance{}, err
	}
	made, err := checkFound(s, ref, []*wire.Instance{a.GetInstance()})
	if err != nil {
		return provider.Instance{}, err
	}
	return made[0], nil
}

// Delete implements [provider.Session].
func (s *session) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (bool, error) {
	q := &wire.DeleteRequest{Version: s.version, Class: s.class, Ref: refOf(ref), Instances: each(instances, instanceOf)}
	a, err := askKnown(ctx, s.client, s.version, s.client.config.Timeouts.Write, s.client.stub.Delete, q)
	return a.GetDone(), err
}

// List implements [provider.Session]. Pages of a listing may overlap: a repeated instance is one instance.
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return pages(ctx, s, func(ctx context.Context) (receiver[*wire.ListReply], error) {
		return s.client.stub.List(ctx, &wire.ListRequest{Version: s.version, Class: s.class})
	}, (*wire.ListReply).GetInstances, listed)
}

// listed begins a listing of instances.
func listed() func(*wire.Instance) (provider.Instance, bool, error) {
	owners := map[string]string{}
	return func(w *wire.Instance) (provider.Instance, bool, error) {
		i, err := checkInstance(w)
		uid, seen := owners[i.ID]
		if err == nil && seen && uid != i.UID {
			err = lie("instance %s with two UIDs", i.ID)
		}
		owners[i.ID] = i.UID
		return i, !seen, err
	}
}

// receiver is a stream of pages.
type receiver[P any] interface{ Recv() (P, error) }

// page is a page of a listing.
type page interface {
	replied
	GetComplete() bool
}

// pages yields the items on the pages of a stream, up to the page that is marked as the last. Each listing
// gets a new taking function: it converts an item, and reports whether the item is new.
func pages[P page, W, T any](
	ctx context.Context, s *session, open func(context.Context) (receiver[P], error), items func(P) []W, taking func() func(W) (T, bool, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		take := taking()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var none T
		stream, err := begin(ctx, s, open)
		if err != nil {
			yield(none, err)
			return
		}
		for total, complete := 0, false; !complete; {
			p, err := receive(ctx, s, stream)
			if err != nil {
				yield(none, err)
				return
			}
			complete = p.GetComplete()
			// An empty page counts as well: the number of pages must be limited.
			if total += max(1, len(items(p))); total > mostListed {
				yield(none, lie("a listing of more than %d", mostListed))
				return
			}
			for _, w := range items(p) {
				item, ok, err := take(w)
				if err != nil {
					yield(none, err)
					return
				}
				if ok && !yield(item, nil) {
					return
				}
			}
		}
	}
}

// begin begins a listing.
func begin[P any](ctx context.Context, s *session, open func(context.Context) (receiver[P], error)) (receiver[P], error) {
	if err := s.client.known(ctx, s.version); err != nil {
		return nil, err
	}
	stream, err := open(ctx)
	if err != nil {
		return nil, s.client.lost(ctx, err)
	}
	return stream, nil
}

// receive returns the next page. A listing that ends without its last page has failed.
func receive[P page](ctx context.Context, s *session, stream receiver[P]) (P, error) {
	p, err := stream.Recv()
	switch {
	case errors.Is(err, io.EOF):
		return p, lie("a listing that ends without its last page")
	case err != nil:
		return p, s.client.lost(ctx, err)
	}
	if err := toError(p.GetFailure()); err != nil {
		return p, err
	}
	return p, s.client.known(ctx, s.version)
}

// has reports whether the session has a capability.
func (s *session) has(c wire.Capability) bool { return slices.Contains(s.capabilities, c) }
