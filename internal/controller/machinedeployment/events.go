package machinedeployment

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

const (
	// scalePause is the least time between two events about the size of one set. Without it, a rollout of a
	// thousand machines in steps of a few would write hundreds of events.
	scalePause = 5 * time.Second
)

// told is what events have reported already.
type told struct {
	// fault and createError are those last reported.
	fault, createError string
	// held is the last report of the guard of growth.
	held string
	// doubts is the last report about annotations without effect.
	doubts string
	// canary says that an event has reported the canary, and none yet that the rest follows.
	canary bool
	// scales are the sizes of sets.
	scales map[types.UID]*scaleNote
}

// scaleNote is the reported size of one set, and the size to report.
type scaleNote struct {
	set      client.Object
	from, to int
	at       time.Time
}

func (b *scope[D, S]) tell(kind, reason, action, format string, args ...any) {
	if reason != "" {
		b.Recorder.Eventf(b.object, nil, kind, reason, action, format, args...)
	}
}

// scaled notes that a set was scaled. The first change is reported in this pass; those that follow shortly
// after are reported in one event with the final size.
func (b *scope[D, S]) scaled(s S, from, to int) {
	if b.told.scales == nil {
		b.told.scales = map[types.UID]*scaleNote{}
	}
	note := b.told.scales[s.GetUID()]
	if note == nil {
		note = &scaleNote{from: from}
		b.told.scales[s.GetUID()] = note
	}
	note.set, note.to = s, to
}

// tellScales reports the sizes that are due.
func (r *observation[D, S]) tellScales() {
	for _, uid := range slices.Sorted(maps.Keys(r.told.scales)) {
		n := r.told.scales[uid]
		left := n.at.Add(scalePause).Sub(r.now)
		if _, there := r.set(uid); !there {
			left = 0
		}
		switch {
		case left > 0 && n.from != n.to:
			r.again(left)
		case left > 0:
		case n.from == n.to:
			delete(r.told.scales, uid)
		default:
			r.tellScale(n)
		}
	}
}

func (b *scope[D, S]) tellScale(n *scaleNote) {
	direction := "up"
	if n.to < n.from {
		direction = "down"
	}
	if reason := b.lens.Traits().Events.Scaled; reason != "" {
		b.Recorder.Eventf(b.object, n.set, corev1.EventTypeNormal, reason, "Scale", "Scaled %s machine set %s to %d from %d", direction, n.set.GetName(), n.to, n.from)
	}
	n.from, n.at = n.to, b.now
}

// tellFault reports a fault of the deployment once until it changes.
func (p *pass[D, S]) tellFault() {
	fault := p.facts.Faults[0].String()
	if p.told.fault == fault {
		return
	}
	p.told.fault = fault
	reason := p.lens.Traits().Events.Invalid
	if dialect.SelectsAll(p.facts.Faults) {
		reason = p.lens.Traits().Events.SelectsAll
	}
	p.tell(corev1.EventTypeWarning, reason, "Validate", "%s", dialect.Note(fault))
}

// tellDoubts reports Millwright annotations without effect, once until that changes.
func (p *pass[D, S]) tellDoubts() {
	reason, note := apis.DoubtsNote(p.object)
	if note != p.told.doubts {
		p.tell(corev1.EventTypeWarning, reason, "Read", "%s", dialect.Note(note))
	}
	p.told.doubts = note
}

// tellCreateError reports why there is no set of the present template, once until the reason changes.
func (h executor[D, S]) tellCreateError(err error) {
	note := err.Error()
	if h.told.createError == note {
		return
	}
	h.told.createError = note
	h.tell(corev1.EventTypeWarning, h.lens.Traits().Events.CreateError, "Create", "%s", dialect.Note(note))
}

func (h executor[D, S]) tellRollBack(b rollout.RollBack) {
	t := h.lens.Traits().Events
	kind, reason := corev1.EventTypeNormal, t.RolledBack
	switch {
	case !b.Found:
		kind, reason = corev1.EventTypeWarning, t.RevisionNotFound
	case !b.Differs:
		kind, reason = corev1.EventTypeWarning, t.TemplateUnchanged
	}
	h.tell(kind, reason, "RollBack", "%s", dialect.Note(b.Note))
}

// tellCanary reports that the canary step was reached, which begins its time, and that the rest follows.
func (h executor[D, S]) tellCanary(w rollout.SetWant) {
	if w.Notes.CanarySince.IsZero() {
		return
	}
	if h.told.canary && w.Replicas > w.Was {
		h.told.canary = false
		h.tell(corev1.EventTypeNormal, h.lens.Traits().Events.Resumed, "Rollout", "The rollout goes on after its canary")
		return
	}
	for _, s := range h.view {
		if s.UID == w.UID && s.Notes.CanarySince.IsZero() && h.waiting != "" {
			h.told.canary = true
			h.tell(corev1.EventTypeNormal, h.lens.Traits().Events.Canary, "Rollout", "%s", dialect.Note(h.waiting))
		}
	}
}

// tellProgress reports that a rollout was stopped, or that it continues.
func (p *pass[D, S]) tellProgress() {
	last, s, t := p.facts.Last.Progress.Reason, p.plan.Status, p.lens.Traits().Events
	switch was, is := last == rollout.Stopped, s.Progress.Reason == rollout.Stopped; {
	case is && !was:
		p.tell(corev1.EventTypeWarning, t.Stopped, "Rollout", "%s", dialect.Note(s.Progress.Message))
	case was && !is && !s.Faulty:
		p.tell(corev1.EventTypeNormal, t.Resumed, "Rollout", "The rollout goes on after it was stopped")
	}
}
