package machine

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/engine/choice"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// mostTries is how many choices one pass asks for.
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
func (s *shortages) pick(account string, now time.Time, choices []provider.Choice, unanswered string) choice.Picked {
	s.mu.Lock()
	defer s.mu.Unlock()
	picked, known := choice.Pick(now, s.accounts[account], choices, unanswered)
	s.accounts[account] = known
	return picked
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
	// origin is where it is asked for.
	origin *lifecycle.Origin
	// pause is how long what is exhausted is left alone at first.
	pause time.Duration
	clock clock.PassiveClock
	log   logr.Logger
}

func (s *instances[M]) market() market {
	return market{
		infra: &s.infra, ref: s.ref(), origin: s.view.Recorded.Origin, memory: s.memory, self: s.mem, mem: &s.mem.request,
		siblings: s.siblings, pause: s.policy.Delays.Exhausted, clock: s.Clock, log: s.log,
	}
}

// account names what shares shortages: the account in which the machine's instance is
// asked for, or, where the infrastructure does not tell it, the credentials.
func (m market) account() string {
	if m.origin != nil && m.origin.Account != "" {
		return "account/" + m.origin.Account
	}
	return "credentials/" + string(provider.KeyOf(m.infra.class.Credentials, "", ""))
}

// buy asks the infrastructure for the machine's instance: of the class, or of its first
// choice that is not exhausted. Only the answer that one is exhausted leads to the next:
// after any other the machine's instances are looked for first, and the same one is
// asked for again.
func (m market) buy(ctx context.Context, want provider.Want) (provider.Instance, error) {
	choices := m.choices()
	if len(choices) == 0 {
		i, err := m.infra.session.Create(ctx, m.ref, want)
		m.mem.asked(choice.Order{}, err, m.clock.Now())
		return i, err
	}
	pick := m.picker(ctx, choices)
	var tried []provider.Choice
	for range mostTries {
		began := m.clock.Now()
		picked := pick(began)
		if picked.Err != nil {
			return provider.Instance{}, picked.Err
		}
		c := picked.Choice
		want.Choice = c.Name
		i, err := m.infra.session.Create(ctx, m.ref, want)
		now := m.clock.Now()
		m.mem.asked(choice.Order{Choice: c.Name, At: began}, err, now)
		if provider.KindOf(err) != provider.Exhausted {
			m.log.V(1).Info("asked for an instance", "choice", c.Name, "err", err)
			return i, err
		}
		m.mem.order.Told = true
		m.learn(choice.Answer{Choice: c, Began: began, At: now, Err: err})
		tried = append(tried, c)
	}
	return provider.Instance{}, m.memory.shortages.partly(m.account(), tried)
}

// picker picks again and again: from the choices as they are listed, or, where some are
// equal, in the order that spreads the owner's machines.
func (m market) picker(ctx context.Context, choices []provider.Choice) func(time.Time) choice.Picked {
	account := m.account()
	if !choice.Spreads(choices) {
		return func(now time.Time) choice.Picked {
			return m.memory.shortages.pick(account, now, choices, m.mem.unanswered())
		}
	}
	listed := m.siblings(ctx)
	return func(now time.Time) choice.Picked {
		return m.memory.place(m.self, listed, func(siblings []choice.Sibling) choice.Picked {
			return m.memory.shortages.pick(account, now, choice.Spread(choices, choice.Zones(siblings)), m.mem.unanswered())
		})
	}
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
	c, ok := provider.As[provider.Chooser](m.infra.session)
	if !ok {
		return nil
	}
	out := append([]provider.Choice(nil), c.Choices(m.ref)...)
	for n := range out {
		out[n].Region = cmp.Or(out[n].Region, m.infra.class.Region)
	}
	return out
}
