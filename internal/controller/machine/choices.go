package machine

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

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
}

func newShortages() *shortages { return &shortages{accounts: map[string]choice.Shortages{}} }

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

// buy asks the infrastructure for the machine's instance: of the class, or of its first
// choice that is not exhausted. Only the answer that one is exhausted leads to the next:
// after any other the machine's instances are looked for first, and the same one is
// asked for again.
func (p *pass[M]) buy(ctx context.Context, want provider.Want) (provider.Instance, error) {
	choices := p.choices()
	if len(choices) == 0 {
		i, err := p.infra.session.Create(ctx, p.ref(), want)
		p.mem.asked(err, p.Clock.Now())
		return i, err
	}
	account := p.account()
	var tried []provider.Choice
	for range mostTries {
		began := p.Clock.Now()
		picked := p.memory.shortages.pick(account, began, choices, p.mem.unanswered())
		if picked.Err != nil {
			return provider.Instance{}, picked.Err
		}
		c := picked.Choice
		want.Choice = c.Name
		i, err := p.infra.session.Create(ctx, p.ref(), want)
		now := p.Clock.Now()
		p.mem.asked(choice.Unclear(err, c), now)
		p.memory.shortages.answered(account, choice.Answer{Choice: c, Began: began, At: now, Err: err, Pause: p.policy.Delays.Exhausted})
		if provider.KindOf(err) != provider.Exhausted {
			p.log.V(1).Info("asked for an instance", "choice", c.Name, "err", err)
			return i, err
		}
		p.log.Info("a choice is exhausted", "choice", c.Name, "scope", provider.ScopeOf(err), "why", err.Error())
		tried = append(tried, c)
	}
	return provider.Instance{}, p.memory.shortages.partly(account, tried)
}

// choices are those of the class for the machine; none where it has no several.
func (p *pass[M]) choices() []provider.Choice {
	c, ok := provider.As[provider.Chooser](p.infra.session)
	if !ok {
		return nil
	}
	out := append([]provider.Choice(nil), c.Choices(p.ref())...)
	for n := range out {
		out[n].Region = cmp.Or(out[n].Region, p.infra.class.Region)
	}
	return out
}

// account names what shares shortages: the account in which the machine's instance is
// asked for, or, where the infrastructure does not tell it, the credentials.
func (p *pass[M]) account() string {
	if o := p.view.Recorded.Origin; o != nil && o.Account != "" {
		return "account/" + o.Account
	}
	return "credentials/" + string(provider.KeyOf(p.infra.class.Credentials, "", ""))
}
