package sim

import (
	"errors"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
	"github.com/millwright-dev/millwright/provider"
)

// lateEffect is a call that was sent and has not arrived yet.
type lateEffect struct {
	by  *process
	due time.Time
	do  func()
}

// budgetCause is the cause with which a disruption budget refuses an eviction.
const budgetCause = policyv1.DisruptionBudgetCause

var errReplyLost = errors.New("connection reset by peer")

// gate is the gate for calls to the API server of the store.
func (p *process) gate(s *store.Store, c store.Call, do func() error) error {
	err := p.sends(s, c, do)
	p.doubts(c, err)
	return err
}

// sends makes the call or lets it fail.
func (p *process) sends(s *store.Store, c store.Call, do func() error) error {
	p.pause()
	w, before := p.w, p.running.before
	effect := func() error { return p.judgedCall(s, c, before, 0, do) }
	if p.checks() && c.Writes() {
		w.judge.Asks(w.judge.Writes(before, p.deposed != nil, 0), c.Verb, c.Object)
	}
	if o := w.outageOf(s, w.now); o != nil {
		return p.answered(c, o.failure(c), "")
	}
	p.hearsTime()
	if err := w.permanentWriteFault(p, c); err != nil {
		return p.answered(c, err, "")
	}
	if err := w.refusalOf(s, c); err != nil {
		return p.answered(c, err, "")
	}
	if !c.Writes() {
		if p.hangs(c.Verb+" "+c.Kind.Kind+" "+c.Key.Name+" live", apiTime, func() {}, func() {}) {
			return errHung
		}
		if w.faulty(apiFails) {
			w.tracef(p.name(), "%s %s %s live: fails", c.Verb, c.Kind.Kind, c.Key.Name)
			return apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
		}
		err := effect()
		w.tracef(p.name(), "%s %s %s live: %s", c.Verb, c.Kind.Kind, c.Key.Name, outcome(err))
		return err
	}
	w.counts.writes++
	switch {
	case p.hungWrite(s, c, do):
		return p.answered(c, errHung, "")
	case w.faulty(apiFails):
		return p.answered(c, apierrors.NewInternalError(errors.New("etcdserver: leader changed")), "refused: ")
	case w.faulty(apiBusy):
		return p.answered(c, apierrors.NewTooManyRequestsError("the server is busy"), "refused: ")
	case w.faulty(apiLost):
		err := effect()
		_ = p.answered(c, err, "REPLY LOST, took effect: ")
		return errReplyLost
	case w.faulty(apiLate) && (!w.profile.dallies || c.Verb == "delete"):
		sent := max(1, w.judge.Changes())
		w.sendLate(p, func() {
			_ = p.answered(c, p.judgedCall(s, c, before, sent, do), "LATE, arrives only now: ")
		}, longestLate)
		_ = p.answered(c, nil, "REPLY LOST, will take effect later: ")
		return errReplyLost
	}
	was := s.Lookup(c.Object, c.Key)
	err := effect()
	if err == nil && p.plans != nil {
		p.keeps(s, c, was)
	}
	return p.answered(c, err, "")
}

// sendLate keeps an effect for later: for at most longestLate, and for less than
// the listings may be behind.
func (w *World) sendLate(p *process, do func(), most time.Duration) {
	w.late = append(w.late, lateEffect{by: p, due: w.now.Add(min(most, longestLate)), do: do})
}

// answered traces the result of a call to the API server.
func (p *process) answered(c store.Call, err error, remark string) error {
	if !p.w.o.Trace {
		return err
	}
	what := c.Verb + " " + c.Kind.Kind + " " + c.Key.Name
	if c.Part != "" {
		what = c.Verb + " " + c.Kind.Kind + "/" + c.Part + " " + c.Key.Name
	}
	if c.Patch != nil {
		data, _ := c.Patch.Data(c.Object)
		what += " " + string(data)
	}
	p.w.tracef(p.name(), "%s: %s%s", what, remark, outcome(err))
	return err
}

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}

// cloudGate is the gate for calls to the infrastructure.
func (p *process) cloudGate(c cloud.Call, do func() error) error {
	p.pause()
	w, before := p.w, p.running.before
	w.counts.cloudCalls++
	effect := func() error {
		w.acting = w.judge.Writes(before, p.deposed != nil, 0)
		return do()
	}
	tell := func(err error, remark string) error {
		w.tracef(p.name(), "cloud: %s %s: %s%s", c.Verb, c.Ref.Name, remark, outcome(err))
		return err
	}
	if p.role == orphanRole && c.Verb == "delete" {
		w.judge.Removes(before, c.Given, c.Ref.UID, p.running.removals)
	}
	changes := c.Verb == "create" || c.Verb == "delete" || c.Verb == "reboot" || c.Verb == "initialize"
	if err := w.permanentCallFault(p, c); err != nil {
		return tell(err, "")
	}
	if err := p.hungCall(c, changes, effect); err != nil {
		return tell(err, "")
	}
	if err := (cloudModel{w}).over(); err != nil {
		return tell(err, "")
	}
	switch {
	case w.faulty(cloudFails):
		return tell(provider.Errorf(provider.Transient, "internal error"), "")
	case w.faulty(cloudThrottled):
		return tell(provider.ThrottledFor(time.Duration(w.between(1, 5))*time.Second, errors.New("slow down")), "")
	case w.faulty(cloudDenied):
		return tell(provider.Errorf(provider.Denied, "not authorized to %s", c.Verb), "")
	case c.Verb == "create" && w.faulty(cloudExhausted):
		return tell(provider.Errorf(provider.Exhausted, "quota exceeded"), "")
	case changes && w.faulty(cloudLost):
		_ = tell(cloudModel{w}.around(p, before, effect), "REPLY LOST, took effect: ")
		return errReplyLost
	case changes && w.profile.cloud.Lag > 0 && w.faulty(cloudLate):
		p.lateCall(c, effect)
		_ = tell(nil, "REPLY LOST, will take effect later: ")
		return errReplyLost
	}
	return tell(cloudModel{w}.around(p, before, effect), "")
}

// lateCall keeps a call to the infrastructure for later, for less than the infrastructure's
// listings may lag.
func (p *process) lateCall(c cloud.Call, effect func() error) {
	w, sent := p.w, p.w.now
	w.sendLate(p, func() {
		w.cloud.Late = w.now.Sub(sent)
		w.tracef(p.name(), "cloud: %s %s: LATE, arrives only now: %s", c.Verb, c.Ref.Name, outcome(effect()))
		w.cloud.Late = 0
	}, w.profile.cloud.Lag*9/10)
}
