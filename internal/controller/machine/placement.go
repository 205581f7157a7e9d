package machine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/engine/choice"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// mostTries is how many failed choices one pass may request.
const mostTries = 5

// placement chooses where one machine's instance is requested, and sends the request: with the class itself, or with one of its choices.
type placement struct {
	infra  *infrastructure
	ref    provider.Ref
	memory memory
	// self is the memory of the machine, mem its part about orders.
	self *remembered
	mem  *lastRequest
	// siblings are the owner's machines from the list.
	siblings func(context.Context) []choice.Sibling
	// in is the account of the request; empty if it is unknown.
	in string
	// pause is the first pause before an exhausted choice is requested again.
	pause time.Duration
	clock clock.PassiveClock
	log   logr.Logger
}

func (s *instances[M]) placement() placement {
	in := s.world.Session.Origin.Account
	if o := s.view.Recorded.Origin; o != nil && o.Account != "" {
		in = o.Account
	}
	return placement{
		infra: &s.infra, ref: s.ref(), in: in, memory: s.memory, self: s.mem, mem: &s.mem.lastRequest,
		siblings: s.siblings, pause: s.policy.Delays.Exhausted, clock: s.Clock, log: s.log,
	}
}

// account is the key by which machines share shortages: the account of the machine's instance or, if the
// infrastructure does not report it, the credentials.
func (m placement) account() string {
	if m.in != "" {
		return "account/" + m.in
	}
	return "credentials/" + string(provider.KeyOf(m.infra.class.Credentials, "", ""))
}

// offered closes the open one of requests if the class does not offer it any more, or if it cannot lead to an
// instance yet and this process has learned, since it chose it, that it is exhausted.
func (m placement) offered(requests lifecycle.Requests) lifecycle.Requests {
	choices := m.choices()
	requests = requests.Offered(choices)
	open := requests.Open()
	if open == nil || open.Number != m.mem.number || m.mem.open {
		return requests
	}
	if c := choiceNamed(choices, open.Choice); c != nil && m.memory.shortages.lackedSince(m.account(), *c, m.mem.chosen) {
		return requests.Close(lifecycle.Withdrawn, false)
	}
	return requests
}

// next returns requests with the next request added: the class, or its first choice that is not exhausted.
func (m placement) next(ctx context.Context, requests lifecycle.Requests) (lifecycle.Requests, error) {
	now, name := m.clock.Now(), ""
	if choices := m.choices(); len(choices) > 0 {
		picked := m.pick(ctx, now, choices)
		if picked.Err != nil {
			return requests, picked.Err
		}
		name = picked.Choice.Name
	}
	requests = requests.Next(now, name)
	m.mem.chose(requests, now)
	return requests, nil
}

// pick picks from the choices in the order of the list or, if some are equal, in the order that spreads the
// owner's machines.
func (m placement) pick(ctx context.Context, now time.Time, choices []provider.Choice) choice.Picked {
	account := m.account()
	if !choice.Spreads(choices) {
		return m.memory.shortages.pick(account, now, choices)
	}
	return m.memory.place(m.self, m.siblings(ctx), func(siblings []choice.Sibling) choice.Picked {
		return m.memory.shortages.pick(account, now, choice.Spread(choices, choice.Zones(siblings)))
	})
}

// send sends the open one of requests, and returns the known instances afterwards. Only an answer that the
// choice is exhausted closes it: after any other answer the machine's instances are looked for first, and
// the same choice is requested again.
func (m placement) send(ctx context.Context, want provider.Want, requests lifecycle.Requests) (provider.Instance, lifecycle.Requests, error) {
	request, began := *requests.Open(), m.clock.Now()
	want.Choice, want.Attempt = request.Choice, request.Attempt
	i, err := m.infra.session.Create(ctx, m.ref, want)
	now := m.clock.Now()
	m.mem.requests = requests
	m.mem.asked(request, began, err, now)
	if provider.KindOf(err) != provider.Exhausted {
		m.log.V(1).Info("requested an instance", "request", request.Number, "choice", request.Choice, "err", err)
		return i, requests, err
	}
	requests = requests.Close(provider.Exhausted, m.mem.lost)
	if request.Choice == "" { // the next request is known, and is stored with the failure
		requests = requests.Next(now, "")
		m.mem.chose(requests, now)
		return i, requests, err
	}
	m.mem.order.Told, m.mem.requests = true, requests
	if c := choiceNamed(m.choices(), request.Choice); c != nil {
		m.learn(choice.Answer{Choice: *c, Began: began, At: now, Err: err})
	}
	return i, requests, err
}

// failure turns err, the answer to the last of requests, into a failure of the pass if the pass has tried too
// often; it returns nothing as long as the pass requests other choices.
func (m placement) failure(requests lifecycle.Requests, tried int, err error) error {
	switch {
	case requests.Open() != nil:
		return err
	case tried < mostTries:
		return nil
	}
	var vain []provider.Choice
	choices := m.choices()
	for _, request := range requests[max(0, len(requests)-tried):] {
		if c := choiceNamed(choices, request.Choice); c != nil {
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
func (m placement) sees(all []provider.Instance, late bool) {
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
func (m placement) learn(a choice.Answer) {
	if a.Err != nil {
		m.log.Info("a choice is exhausted", "choice", a.Choice.Name, "scope", provider.ScopeOf(a.Err), "accepted", a.GivenUp, "why", a.Err.Error())
	}
	a.Pause = m.pause
	m.memory.shortages.answered(m.account(), a)
}

// choices are the choices of the class for the machine; empty if the class has no several choices.
func (m placement) choices() []provider.Choice {
	out := choice.Rotate(m.infra.traits().Choices, m.ref.UID)
	for n := range out {
		out[n].Region = cmp.Or(out[n].Region, m.infra.class.Region)
	}
	return out
}
