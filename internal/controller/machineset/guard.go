package machineset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// heldPause is the pause before a set whose machines are held is reconciled again: the deletion of machines
// of its siblings wakes only the siblings.
const heldPause = 15 * time.Second

// guarded decides, and weighs the planned deletions together with those of the other sets of the same
// deployment. It reads these sets only if machines are to be deleted.
func (p *pass[S]) guarded(ctx context.Context) (replicas.Decision, error) {
	d := replicas.Decide(p.now, p.set, p.members, p.policy)
	owner := metav1.GetControllerOfNoCopy(p.object)
	if p.set.Guard == nil || p.set.Deleting || owner == nil || len(d.Delete) == 0 && d.Withheld == "" {
		return d, nil
	}
	elsewhere, err := otherSets[S]{p.scope}.elsewhere(ctx, owner)
	if err != nil {
		return d, err
	}
	p.set.Guard.Elsewhere = elsewhere
	p.set.Guard.Place = fmt.Sprintf("%s %s", owner.Kind, owner.Name)
	return replicas.Decide(p.now, p.set, p.members, p.policy), nil
}

// hear keeps the verdict of a guard for the record, and reports it once: again only after a change of the
// set's size or its permission.
func (p *pass[S]) hear(d replicas.Decision) {
	p.hearGrowth(d)
	g := p.set.Guard
	if g == nil {
		p.misread, p.refused = "", ""
		return
	}
	if g.Misread != "" && g.Misread != p.misread {
		p.warn(dialect.MisreadReason, g.Misread)
	}
	p.misread = g.Misread
	p.held = d.Withheld
	if d.Withheld == "" {
		p.refused = ""
		return
	}
	if g.Place != "" {
		p.again(heldPause)
	}
	asked := fmt.Sprint(p.set.Replicas, p.set.Scaled, g.Limit, g.Approved)
	if asked != p.refused {
		p.warn(dialect.HeldReason, d.Withheld)
	}
	p.refused = asked
}

// hearGrowth does the same for the guard of growth.
func (p *pass[S]) hearGrowth(d replicas.Decision) {
	asked := ""
	if g := p.set.Growth; d.Held != "" {
		asked = fmt.Sprint(p.set.Replicas, g.Limit, g.Approved)
		if asked != p.refusedGrowth {
			p.warn(limits.CreationHeld, d.Held)
		}
	}
	p.growth, p.refusedGrowth = d.Held, asked
}

// keepSize stores how many members the guard of growth allows, before they are created: lost machines up to
// that number are created again.
func (p *pass[S]) keepSize(ctx context.Context, d replicas.Decision) error {
	if g := p.set.Growth; g == nil || d.Held != "" || p.set.Deleting || g.Known == p.set.Replicas {
		return nil
	}
	p.set.Growth.Known = p.set.Replicas
	return p.patchSet(ctx, "keep the allowed size", func(s S) { dialect.KeepSize(s, p.set.Replicas) })
}

// doubt reports Millwright annotations without effect on the set, once until that changes.
func (p *pass[S]) doubt() {
	if metav1.GetControllerOfNoCopy(p.object) != nil {
		return // its deployment reports it
	}
	doubts := slices.DeleteFunc(apis.Doubts(p.object), func(d dialect.Doubt) bool { return !d.Unknown && strings.Contains(d.Field, "-deletion") }) // the guard reports those
	reason, note := dialect.DoubtsNote(doubts)
	if note != "" && note != p.doubted {
		p.Recorder.Eventf(p.object, nil, corev1.EventTypeWarning, reason, "Read", "%s", dialect.Note(note))
	}
	p.doubted = note
}

func (p *pass[S]) warn(reason, note string) {
	p.Recorder.Eventf(p.object, nil, corev1.EventTypeWarning, reason, "Guard", "%s", dialect.Note(note))
}
