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

// mostTries is how many choices one pass asks for in vain.
const mostTries = 5

// shortages are what the accounts of all machines were found to lack. Losing it costs
// a question for each.
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

// pick chooses for one machine; others see at once that it tries.
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

// market is where one machine's instance is asked for: of its class, or of one of the
// choices of that.
type market struct {
	infra  *infrastructure
	ref    provider.Ref
	memory memory
	// self is what is remembered of the machine, mem the part of it that is about orders.
	self *remembered
	mem  *request
	// siblings are the owner's machines as they are listed.
	siblings func(context.Context) []choice.Sibling
	// in is the account in which it is asked for; empty where that is not known.
	in string
	// pause is how long what is exhausted is left alone at first.
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

// account names what shares shortages: the account in which the machine's instance is
// asked for, or, where the infrastructure does not tell it, the credentials.
func (m market) account() string {
	if m.in != "" {
		return "account/" + m.in
	}
	return "credentials/" + string(provider.KeyOf(m.infra.class.Credentials, "", ""))
}

// offered closes the open one of asks where the class does not offer it any more, and where no instance can come of it yet and this
// process found out since it chose it that it is exhausted.
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

// next is asks and what is asked for after them: the class, or its first choice that is not exhausted.
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

// pick picks from the choices as they are listed, or, where some are equal, in the order that spreads the owner's machines.
func (m market) pick(ctx context.Context, now time.Time, choices []provider.Choice) choice.Picked {
	account := m.account()
	if !choice.Spreads(choices) {
		return m.memory.shortages.pick(account, now, choices)
	}
	return m.memory.place(m.self, m.siblings(ctx), func(siblings []choice.Sibling) choice.Picked {
		return m.memory.shortages.pick(account, now, choice.Spread(choices, choice.Zones(siblings)))
	})
}

// buy sends the open one of asks, and returns what is known of them then. Only the answer that it is exhausted closes it: after any
// other the machine's instances are looked for first, and the same is asked for again.
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
	if ask.Choice == "" { // what is asked for next is known, and is stored with the failure
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

// failure is what the answer err to the last of asks comes to, where the pass has asked so many times in vain: nothing as long as it
// asks for other choices.
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

// choiceNamed is the choice of that name; nil where there is none.
func choiceNamed(choices []provider.Choice, name string) *provider.Choice {
	if n := slices.IndexFunc(choices, func(c provider.Choice) bool { return c.Name == name }); n >= 0 {
		return &choices[n]
	}
	return nil
}

// sees takes in what the machine's instances say of the choice that they were made of:
// there is room for one that runs, and none for one that was accepted and given up. late
// is that of [choice.Seen].
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

// learn lets all machines of the account know.
func (m market) learn(a choice.Answer) {
	if a.Err != nil {
		m.log.Info("a choice is exhausted", "choice", a.Choice.Name, "scope", provider.ScopeOf(a.Err), "accepted", a.GivenUp, "why", a.Err.Error())
	}
	a.Pause = m.pause
	m.memory.shortages.answered(m.account(), a)
}

// choices are those of the class for the machine; none where it has no several.
func (m market) choices() []provider.Choice {
	out := choice.Rotate(m.infra.traits().Choices, m.ref.UID)
	for n := range out {
		out[n].Region = cmp.Or(out[n].Region, m.infra.class.Region)
	}
	return out
}
