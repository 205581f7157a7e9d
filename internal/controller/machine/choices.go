package machine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/engine/choice"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// mostTries is how many failed choices one pass may request.
const mostTries = 5

// shortages are the known shortages of the accounts of all machines. Losing them costs one request for
// each.
type shortages struct {
	mu       sync.Mutex
	accounts map[string]choice.Shortages
	// waiting are the machines that wait for capacity.
	waiting map[types.NamespacedName]bool
}

func newShortages() *shortages {
	return &shortages{accounts: map[string]choice.Shortages{}, waiting: map[types.NamespacedName]bool{}}
}

// waits notes whether a machine waits for capacity.
func (s *shortages) waits(machine types.NamespacedName, waits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waits {
		s.waiting[machine] = true
	} else {
		delete(s.waiting, machine)
	}
}

// any reports whether some machine waits for capacity.
func (s *shortages) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) > 0
}

// pick chooses for one machine; other machines see at once that it tries.
func (s *shortages) pick(account string, now time.Time, choices []provider.Choice) choice.Picked {
	s.mu.Lock()
	defer s.mu.Unlock()
	picked, known := choice.Pick(now, s.accounts[account], choices)
	s.accounts[account] = known
	return picked
}

func (s *shortages) lackedSince(account string, c provider.Choice, since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accounts[account].LackedSince(c, since)
}

func (s *shortages) answered(account string, a choice.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts[account] = s.accounts[account].After(a)
	maps.DeleteFunc(s.accounts, func(_ string, known choice.Shortages) bool { return known.Empty(a.At) })
}

func (s *shortages) partly(account string, tried []provider.Choice) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return choice.Partly(s.accounts[account], tried, lifecycle.FirstDelay)
}

// market is where one machine's instance is requested: with the class itself, or with one of its choices.
type market struct {
	infra  *infrastructure
	ref    provider.Ref
	memory memory
	// self is the memory of the machine, mem its part about orders.
	self *remembered
	mem  *request
	// siblings are the owner's machines from the list.
	siblings func(context.Context) []choice.Sibling
	// in is the account of the request; empty if it is unknown.
	in string
	// pause is the first pause before an exhausted choice is requested again.
	pause time.Duration
	clock clock.PassiveClock
	log   logr.Logger
}

func (s *instances[M]) market() market {
	in := s.world.Session.Origin.Account
	if o := s.view.Recorded.Origin; o != nil && o.Account != "" {
		in = o.Account
	}
	return market{
		infra: &s.infra, ref: s.ref(), in: in, memory: s.memory, self: s.mem, mem: &s.mem.request,
		siblings: s.siblings, pause: s.policy.Delays.Exhausted, clock: s.Clock, log: s.log,
	}
}

// account is the key by which machines share shortages: the account of the machine's instance or, if the
// infrastructure does not report it, the credentials.
func (m market) account() string {
	if m.in != "" {
		return "account/" + m.in
	}
	return "credentials/" + string(provider.KeyOf(m.infra.class.Credentials, "", ""))
}

// offered closes the open one of asks if the class does not offer it any more, or if it cannot lead to an
// instance yet and this process has learned, since it chose it, that it is exhausted.
func (m market) offered(asks lifecycle.Asks) lifecycle.Asks {
	choices := m.choices()
	asks = asks.Offered(choices)
	open := asks.Open()
	if open == nil || open.Number != m.mem.number || m.mem.open {
		return asks
	}
	if c := choiceNamed(choices, open.Choice); c != nil && m.memory.shortages.lackedSince(m.account(), *c, m.mem.chosen) {
		return asks.Close(lifecycle.Withdrawn, false)
	}
	return asks
}

// next returns asks with the next request added: the class, or its first choice that is not exhausted.
func (m market) next(ctx context.Context, asks lifecycle.Asks) (lifecycle.Asks, error) {
	now, name := m.clock.Now(), ""
	if choices := m.choices(); len(choices) > 0 {
		picked := m.pick(ctx, now, choices)
		if picked.Err != nil {
			return asks, picked.Err
		}
		name = picked.Choice.Name
	}
	asks = asks.Next(now, name)
	m.mem.chose(asks, now)
	return asks, nil
}

// pick picks from the choices in the order of the list or, if some are equal, in the order that spreads the
// owner's machines.
func (m market) pick(ctx context.Context, now time.Time, choices []provider.Choice) choice.Picked {
	account := m.account()
	if !choice.Spreads(choices) {
		return m.memory.shortages.pick(account, now, choices)
	}
	return m.memory.place(m.self, m.siblings(ctx), func(siblings []choice.Sibling) choice.Picked {
		return m.memory.shortages.pick(account, now, choice.Spread(choices, choice.Zones(siblings)))
	})
}

// buy sends the open one of asks, and returns the known instances afterwards. Only an answer that the
// choice is exhausted closes it: after any other answer the machine's instances are looked for first, and
// the same choice is requested again.
func (m market) buy(ctx context.Context, want provider.Want, asks lifecycle.Asks) (provider.Instance, lifecycle.Asks, error) {
	ask, began := *asks.Open(), m.clock.Now()
	want.Choice, want.Attempt = ask.Choice, ask.Attempt
	i, err := m.infra.session.Create(ctx, m.ref, want)
	now := m.clock.Now()
	m.mem.asks = asks
	m.mem.asked(ask, began, err, now)
	if provider.KindOf(err) != provider.Exhausted {
		m.log.V(1).Info("asked for an instance", "ask", ask.Number, "choice", ask.Choice, "err", err)
		return i, asks, err
	}
	asks = asks.Close(provider.Exhausted, m.mem.lost)
	if ask.Choice == "" { // the next request is known, and is stored with the failure
		asks = asks.Next(now, "")
		m.mem.chose(asks, now)
		return i, asks, err
	}
	m.mem.order.Told, m.mem.asks = true, asks
	if c := choiceNamed(m.choices(), ask.Choice); c != nil {
		m.learn(choice.Answer{Choice: *c, Began: began, At: now, Err: err})
	}
	return i, asks, err
}

// failure turns err, the answer to the last of asks, into a failure of the pass if the pass has tried too
// often; it returns nothing as long as the pass requests other choices.
func (m market) failure(asks lifecycle.Asks, tried int, err error) error {
	switch {
	case asks.Open() != nil:
		return err
	case tried < mostTries:
		return nil
	}
	var vain []provider.Choice
	choices := m.choices()
	for _, ask := range asks[max(0, len(asks)-tried):] {
		if c := choiceNamed(choices, ask.Choice); c != nil {
			vain = append(vain, *c)
		}
	}
	return m.memory.shortages.partly(m.account(), vain)
}

// choiceNamed is the choice with that name; nil if the class has no such choice.
func choiceNamed(choices []provider.Choice, name string) *provider.Choice {
	if n := slices.IndexFunc(choices, func(c provider.Choice) bool { return c.Name == name }); n >= 0 {
		return &choices[n]
	}
	return nil
}

// sees learns from the machine's instances about the choice that they were created from: a running instance
// shows that there is capacity, one that was accepted and has failed shows a shortage. late is that
// of [choice.Seen].
func (m market) sees(all []provider.Instance, late bool) {
	for _, i := range all {
		if i.UID != m.ref.UID || !m.mem.order.News(i) {
			continue
		}
		if a, known := m.mem.order.Answer(choice.Seen{At: m.clock.Now(), Late: late}, i, m.choices()); known {
			m.learn(a)
		}
		m.mem.order.Told = true
	}
}

// learn reports a result to all machines of the account.
func (m market) learn(a choice.Answer) {
	if a.Err != nil {
		m.log.Info("a choice is exhausted", "choice", a.Choice.Name, "scope", provider.ScopeOf(a.Err), "accepted", a.GivenUp, "why", a.Err.Error())
	}
	a.Pause = m.pause
	m.memory.shortages.answered(m.account(), a)
}

// choices are the choices of the class for the machine; empty if the class has no several choices.
func (m market) choices() []provider.Choice {
	out := choice.Rotate(m.infra.traits().Choices, m.ref.UID)
	for n := range out {
		out[n].Region = cmp.Or(out[n].Region, m.infra.class.Region)
	}
	return out
}
