package decorate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// Reads configures when reads are shared.
type Reads struct {
	// Age is how long a listing may answer Find, counted from its start; 0 for 10 s.
	Age time.Duration
	// Fresh is the same for instances in transition (Pending, Stopping), whose progress callers wait for; 0
	// for 500 ms.
	Fresh time.Duration
	// Enough is how many Finds within Age justify the pages of a listing; 0 for 8. A large scope needs
	// more: one for each hundred instances. After a listing that has answered so many, the next Find begins
	// another.
	Enough int
}

func (r Reads) withDefaults() Reads {
	if r.Age <= 0 {
		r.Age = 10 * time.Second
	}
	if r.Fresh <= 0 {
		r.Fresh = 500 * time.Millisecond
	}
	if r.Enough <= 0 {
		r.Enough = 8
	}
	return r
}

// Coalesce decorates p so that Finds which come close together are answered from one List of their scope.
// It follows these rules, in this order:
//
//   - a Find is never answered from a listing that began before the end of
//     the last write for its UID through this decorator. If the session has a
//     [provider.Traits].ReadLag, the listing must also have begun that much
//     later, or show the effect of the write: the instance that Create
//     returned exists, those that were given to Delete are under deletion. A
//     repeated Delete of instances that are already under deletion, because
//     this decorator deleted them before, does not change any listing, and
//     is no write here;
//   - only instances with the requested UID are taken from a listing. If there
//     is no such instance, or none that exists, or one that another implementation may
//     have created for the machine, the infrastructure is asked directly: a
//     listing never proves that an instance does not exist;
//   - a listing that ended with an error is not used. Throttling is passed on
//     to all callers that waited for it; after any other error Find asks the
//     infrastructure directly.
//
// List itself is passed through.
func Coalesce(p provider.Provider, clock provider.Clock, r Reads) provider.Provider {
	r = r.withDefaults()
	return &coalescer{
		Provider: p, clock: clock, reads: r, writes: newWrites(clock, r.Age),
		scopes: kit.NewClients[*scope](clock, time.Hour, 1000),
	}
}

type coalescer struct {
	provider.Provider
	clock  provider.Clock
	reads  Reads
	writes *writes
	scopes *kit.Clients[*scope]
}

func (p *coalescer) Unwrap() any { return p.Provider }

func (p *coalescer) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	s, err := p.Provider.Open(ctx, class)
	if err != nil {
		return nil, err
	}
	traits := s.Traits()
	sc, err := p.scopes.Get(ctx, scopeOf(class, traits), func(context.Context) (*scope, error) {
		return &scope{reads: p.reads, clock: p.clock, writes: p.writes}, nil
	})
	if err != nil {
		return nil, err
	}
	return &coalescing{
		Session: s, traits: traits, scope: sc, writes: p.writes,
		interception: interception{inner: s, around: p.writes.around},
	}, nil
}

// scopeOf distinguishes classes whose listings may differ. A spec and the class's zone may decide the place
// of the search, so they are part of the scope, unless the session knows better. The API always is part of
// it: it decides the format of provider IDs.
func scopeOf(class provider.Class, t provider.Traits) provider.ClientKey {
	says, place := class.Spec, class.Region+"/"+class.Zone
	if t.Scope != "" {
		says, place = []byte(t.Scope), class.Region
	}
	spec := sha256.Sum256(says)
	account := provider.KeyOf(class.Credentials, class.API+"/"+class.Cluster, place)
	return account + provider.ClientKey("/"+hex.EncodeToString(spec[:16]))
}

// coalescing is a session whose Finds may be answered from a listing. Calls of
// capabilities count as writes.
type coalescing struct {
	provider.Session
	traits provider.Traits
	scope  *scope
	writes *writes
	interception
}

func (s *coalescing) Unwrap() any { return s.Session }

// Traits implements [provider.Session]. They are computed once, when the session is opened: the engine
// reads them often.
func (s *coalescing) Traits() provider.Traits { return s.traits }

func (s *coalescing) Create(ctx context.Context, ref provider.Ref, want provider.Want) (i provider.Instance, err error) {
	end := s.writes.begin(ref.UID)
	defer func() { end(err, made(i)...) }()
	return s.Session.Create(ctx, ref, want)
}

func (s *coalescing) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (done bool, err error) {
	if ref.UID != "" && s.writes.goesOn(ref.UID, instances) {
		return s.Session.Delete(ctx, ref, instances)
	}
	changed := []string{ref.UID}
	if ref.UID == "" {
		changed = changed[:0]
		for _, i := range instances {
			changed = append(changed, i.UID)
		}
	}
	end := s.writes.begin(changed...)
	defer func() { end(err, leaving(ref.UID, instances)...) }()
	return s.Session.Delete(ctx, ref, instances)
}

func (s *coalescing) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	found, ok, err := s.scope.find(ctx, s, ref, s.traits.ReadLag)
	if ok || err != nil {
		return found, err
	}
	return s.Session.Find(ctx, ref)
}

// scope holds the newest listing of one ownership scope. It is safe for
// concurrent use.
type scope struct {
	reads  Reads
	clock  provider.Clock
	writes *writes

	mu     sync.Mutex
	latest *listing
	served int         // Finds answered from latest
	misses []time.Time // the last Finds that no listing answered, oldest first
	rested time.Time   // no listing before this time, after one has failed
}

// listing is a List in progress or done. Read its result after ready is closed.
type listing struct {
	began order
	at    time.Time
	ready chan struct{}
	err   error
	byUID map[string][]provider.Instance
	// loose are the instances of another implementation.
	loose []provider.Instance
	size  int
}

// find answers from a listing; ok is false if only the infrastructure can answer.
func (s *scope) find(ctx context.Context, session provider.Session, ref provider.Ref, lag time.Duration) (
	found []provider.Instance, ok bool, err error,
) {
	if ref.UID == "" {
		return nil, false, nil
	}
	l, mine := s.choose(ref.UID, lag)
	if l == nil {
		return nil, false, nil
	}
	if mine {
		s.fill(ctx, session, l)
	}
	select {
	case <-l.ready:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	if l.err != nil {
		if provider.KindOf(l.err) == provider.Throttled {
			return nil, false, l.err
		}
		return nil, false, nil
	}
	if !s.writes.before(ref.UID, l, lag) {
		return nil, false, nil
	}
	if found, ok = l.answer(session, ref); ok {
		s.serves(l)
	}
	return found, ok, nil
}

func (s *scope) serves(l *listing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest == l {
		s.served++
	}
}

// choose returns the listing that may answer for uid, or nil; mine says that the caller has to fill it.
func (s *scope) choose(uid string, lag time.Duration) (l *listing, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	age := s.reads.Age
	if s.latest != nil && s.latest.moving(uid) {
		age = s.reads.Fresh
	}
	if s.latest != nil && now.Sub(s.latest.at) <= age && s.writes.before(uid, s.latest, lag) {
		return s.latest, false
	}
	if !s.busy(now, age) || now.Before(s.rested) {
		return nil, false
	}
	l = &listing{began: s.writes.now(), at: now, ready: make(chan struct{})}
	if !s.writes.before(uid, l, lag) {
		// A listing cannot answer this caller; another one may begin it.
		return nil, false
	}
	s.latest, s.served, s.misses = l, 0, nil
	return l, true
}

// busy counts a Find that the latest listing does not answer, and reports whether another listing is worth
// its pages: Enough Finds were not answered within age, or the latest listing has answered as many.
func (s *scope) busy(now time.Time, age time.Duration) bool {
	enough := s.enough()
	s.misses = append(s.misses, now)
	s.misses = s.misses[max(0, len(s.misses)-enough):]
	if len(s.misses) == enough && now.Sub(s.misses[0]) <= age {
		return true
	}
	if s.latest == nil || s.served < enough {
		return false
	}
	old := now.Sub(s.latest.at)
	return age < old && old <= 2*age
}

func (s *scope) enough() int {
	if s.latest == nil || !s.latest.done() {
		return s.reads.Enough
	}
	return max(s.reads.Enough, s.latest.size/100)
}

// fill runs the listing. An incomplete one is not used.
func (s *scope) fill(ctx context.Context, session provider.Session, l *listing) {
	byUID := map[string][]provider.Instance{}
	defer close(l.ready)
	for i, err := range session.List(ctx) {
		if err != nil {
			l.err = err
			s.drop(l)
			return
		}
		l.size++
		if i.UID == "" {
			l.loose = append(l.loose, i)
			continue
		}
		byUID[i.UID] = append(byUID[i.UID], i)
	}
	l.byUID = byUID
}

// drop forgets a listing that failed, and sets the pause before the next.
func (s *scope) drop(l *listing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest == l {
		s.latest = nil
	}
	s.rested = s.clock.Now().Add(s.reads.Fresh)
}

func (l *listing) done() bool {
	select {
	case <-l.ready:
		return true
	default:
		return false
	}
}

// moving reports whether the listing shows an instance of uid that is in transition to another state.
func (l *listing) moving(uid string) bool {
	return l.done() && slices.ContainsFunc(l.byUID[uid], func(i provider.Instance) bool {
		return i.State == provider.Pending || i.State == provider.Stopping
	})
}

// answer returns the answer of Find, or ok false if the listing is not enough.
func (l *listing) answer(s provider.Session, ref provider.Ref) (found []provider.Instance, ok bool) {
	found = l.byUID[ref.UID]
	if len(provider.Existing(found)) == 0 {
		return nil, false
	}
	identify := provider.Identifier(s)
	recorded := identify(ref.ProviderID)
	known := func(i provider.Instance) bool { return recorded != "" && identify(i.ProviderID) == recorded }
	if ref.ProviderID != "" && !slices.ContainsFunc(found, known) {
		return nil, false
	}
	for _, i := range l.loose {
		if i.Name == ref.Name || ref.ProviderID != "" && known(i) {
			return nil, false
		}
	}
	// Callers may change the result.
	found = slices.Clone(found)
	for n := range found {
		found[n].Addresses = slices.Clone(found[n].Addresses)
		found[n].Tags = maps.Clone(found[n].Tags)
	}
	return found, true
}
