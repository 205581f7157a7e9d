package orphan

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
)

// The reasons of events. All are warnings, because each is about an anomaly.
const (
	// ReasonQuarantined: an instance without a machine was found.
	ReasonQuarantined = "OrphanQuarantined"
	// ReasonHeld: its grace period is over, and it is not removed.
	ReasonHeld = "OrphanNotDeleted"
	// ReasonDeleted: it was removed, with its resources.
	ReasonDeleted = "OrphanDeleted"
	// ReasonAnonymous: no orphan of a scope is removed, because the identity of the control plane is
	// unknown.
	ReasonAnonymous = "OrphansNotCollected"
)

// few is how many events of one kind a listing may cause; if there are more, one event reports them all.
const few = 3

// tell reports what is new. The instances of a lost API would be hundreds.
func (c *Collector) tell(ctx context.Context, s *scope, plan orphan.Plan, bad error) {
	log := logr.FromContextOrDiscard(ctx)
	var found, held []orphan.Verdict
	for _, v := range plan.Verdicts {
		if !v.News || v.Fate != orphan.Quarantine || v.Reason == orphan.ReasonCap {
			continue
		}
		log.Info("instance without a machine", "orphan", describe(v), "providerID", v.Instance.ProviderID,
			"uid", v.Instance.UID, "reason", v.Reason, "why", v.Message, "since", v.Since)
		if v.Reason == v.Cause {
			found = append(found, v)
		} else {
			held = append(held, v)
		}
	}
	c.events(s, ReasonQuarantined, found)
	if bad != nil && len(held) > 0 {
		held[0].Message += "; " + bad.Error()
	}
	c.events(s, ReasonHeld, held)
}

// anonymous reports once that the orphans of a scope are only reported, because the control plane has no
// identity.
func anonymous(c *Collector, s *scope) {
	if c.Policy.Owner != "" || s.anonymous || len(s.anchors) == 0 {
		return
	}
	s.anonymous = true
	c.event(s, orphan.Verdict{}, ReasonAnonymous, "instances are made without an owner, and those without a machine are only reported: "+
		"the identity of this control plane is not known: %s", c.Policy.Lacks)
}

// events reports each verdict, or all together if they are many.
func (c *Collector) events(s *scope, reason string, all []orphan.Verdict) {
	if len(all) <= few {
		for _, v := range all {
			c.event(s, v, reason, "%s: %s", describe(v), v.Message)
		}
		return
	}
	var names []string
	for _, v := range all[:few] {
		names = append(names, describe(v))
	}
	c.event(s, orphan.Verdict{}, reason, "%d: %s and %d more; of the first: %s",
		len(all), strings.Join(names, ", "), len(all)-few, all[0].Message)
}

// event is recorded on the machine if there is one, else on the object from which the class was read.
func (c *Collector) event(s *scope, v orphan.Verdict, reason, note string, args ...any) {
	var about runtime.Object
	if v.Machine != nil {
		if ref := c.live.ref(v.Machine.UID); ref != nil {
			about = ref
		}
	}
	if about == nil && len(s.anchors) > 0 {
		about = s.anchors[0]
	}
	if c.Recorder == nil || about == nil {
		return
	}
	// Events that differ only in their notes form one series, which keeps the first note; the related
	// object keeps them apart.
	var related runtime.Object
	if v.Key != "" {
		related = &corev1.ObjectReference{Kind: "Instance", Name: v.Key}
	}
	c.Recorder.Eventf(about, related, corev1.EventTypeWarning, reason, "CollectOrphans", "%s", dialect.Note(fmt.Sprintf(note, args...)))
}

// ref names the machine in events.
func (l *live) ref(uid string) *corev1.ObjectReference {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.seen {
		if m.UID == uid {
			return m.Ref.DeepCopy()
		}
	}
	return nil
}
