package machinehealthcheck

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// grace is the age at which a check is reported that selects nothing: its machines may be created after it.
const grace = 2 * time.Minute

// tellSelection reports, once, that the check selects no machine, or a machine that another check selects
// too.
func (p *pass[C]) tellSelection() {
	if !p.empty() {
		p.state.lonely = false
	} else if !p.state.lonely && !p.now.Before(p.emptyDue()) {
		p.state.lonely = true
		p.Recorder.Eventf(p.object, nil, corev1.EventTypeWarning, dialect.EventNoMachines, dialect.ActionHealthCheck,
			"The selector matches no machine of %s in the namespace: nothing is watched", p.patients.API())
	}
	for _, other := range p.shared() {
		const note = "Machines that this check selects are selected by health check %s, too: both remedy them, each by its own limits"
		p.Recorder.Eventf(p.object, nil, corev1.EventTypeWarning, dialect.EventSharedMachines, dialect.ActionHealthCheck, note, other.GetName())
		p.Recorder.Eventf(other, nil, corev1.EventTypeWarning, dialect.EventSharedMachines, dialect.ActionHealthCheck, note, p.object.GetName())
	}
}

// tellDoubts reports Millwright annotations without effect on the check, once until that changes.
func (p *pass[C]) tellDoubts() {
	reason, note := apis.DoubtsNote(p.object)
	if note != "" && note != p.state.doubted {
		p.Recorder.Eventf(p.object, nil, corev1.EventTypeWarning, reason, dialect.ActionHealthCheck, "%s", dialect.Note(note))
	}
	p.state.doubted = note
}

// empty reports whether a valid check selects nothing.
func (p *pass[C]) empty() bool {
	return p.plan.Expected+p.plan.Missing == 0 && len(p.check.Faults) == 0
}

// emptyDue is when a check that selects nothing is reported.
func (p *pass[C]) emptyDue() time.Time { return p.object.GetCreationTimestamp().Add(grace) }

// due is when the pass is to be repeated even without an event.
func (p *pass[C]) due() time.Time {
	due := p.plan.Due
	if look := p.now.Add(requestLook); p.asked.any && (due.IsZero() || look.Before(due)) {
		due = look
	}
	if at := p.emptyDue(); p.empty() && p.now.Before(at) {
		wait := at.Sub(p.now)
		if !due.IsZero() {
			wait = lifecycle.Earlier(wait, due.Sub(p.now))
		}
		return p.now.Add(wait)
	}
	return due
}

// shared are the checks that select machines of this one, as far as neither check reported that before. It
// reads only memory.
func (p *pass[C]) shared() (news []C) {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.object.GetName()
	for key, w := range p.states {
		if w == p.state || key.Namespace != p.object.GetNamespace() {
			continue
		}
		switch both := w.api() == p.state.api() && overlap(w, p.state); {
		case !both:
			delete(w.sharedWith, own)
			delete(p.state.sharedWith, key.Name)
		case !p.state.sharedWith[key.Name] && !w.sharedWith[own]:
			w.shares(own)
			p.state.shares(key.Name)
			other := p.lens.New()
			other.SetNamespace(key.Namespace)
			other.SetName(key.Name)
			other.SetUID(w.uid)
			news = append(news, other)
		}
	}
	return news
}

func (w *state) shares(with string) {
	if w.sharedWith == nil {
		w.sharedWith = map[string]bool{}
	}
	w.sharedWith[with] = true
}

// api is the group of the cohort's machines, from its check.
func (w *state) api() string {
	_, api, _ := strings.Cut(w.view, " ")
	return api
}

func overlap(a, b *state) bool {
	if len(a.uids) > len(b.uids) {
		a, b = b, a
	}
	for name := range a.uids {
		if _, in := b.uids[name]; in {
			return true
		}
	}
	return false
}
