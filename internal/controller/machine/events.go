package machine

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// eventReporter reports the result of a pass.
type eventReporter[M client.Object] struct{ passFacts[M] }

// event records an event.
func (t eventReporter[M]) event(kind, reason, action, note string) {
	t.Recorder.Eventf(t.m, nil, kind, reason, action, "%s", dialect.Note(note))
}

// report reports the result of the pass: by events, logs and metrics.
func (t eventReporter[M]) report(ctx context.Context, before M, out lifecycle.Outcome) {
	for _, e := range append(t.Dialect.Events(before, t.m, out), t.instanceEvents()...) {
		t.event(e.Type, e.Reason, e.Action, e.Note)
	}
	t.budgetEvents(out)
	t.mem.heard(out)
	log := learned(t.log, t.was, t.Dialect.View(t.m))
	for _, d := range out.Steps {
		log.Info("performed", "step", d.Step, "reason", d.Reason)
	}
	if was := t.was.Stage; out.Stage != was || out.Err != nil {
		log.Info("machine", "stage", out.Stage, "was", was, "reason", out.Reason, "message", out.Message, "after", out.After)
	}
	t.Metrics.observe(t.was, out)
	t.stretches(out)
	t.counts(out)
	t.measure(ctx, out)
	t.Metrics.doubled(t.found, t.m)
}

// accountEvents report once that the credentials belong to another account than the one in which the
// instance was requested: not every API has a field for that on a machine that is not under deletion.
func (t eventReporter[M]) accountEvents() []dialect.Event {
	account := t.world.Session.Origin.Account
	err := t.view.Recorded.Origin.Elsewhere(account)
	if err == nil || len(t.world.Instances.Owned()) > 0 {
		t.mem.reported.account = ""
		return nil
	}
	if t.mem.reported.account == account {
		return nil
	}
	t.mem.reported.account = account
	return []dialect.Event{{Type: corev1.EventTypeWarning, Reason: "OtherAccount", Action: "Find", Note: err.Error()}}
}

// instanceEvents report what a user should know about the instances, besides the dialect's events:
// duplicates, and, when an instance is recorded, that another implementation created it and that it differs
// from its class.
func (t eventReporter[M]) instanceEvents() []dialect.Event {
	now := t.Dialect.View(t.m)
	out := append(dialect.InstanceEvents(t.found, t.m, now.Recorded.ProviderID), t.accountEvents()...)
	i := t.instance()
	if t.was.Recorded.ProviderID != "" || now.Recorded.ProviderID == "" || i == nil {
		return out
	}
	if i.UID != now.UID {
		out = append(out, dialect.Event{
			Type: corev1.EventTypeNormal, Reason: "Adopted", Action: "Find",
			Note: fmt.Sprintf("instance %s (%s) has the machine's name and was made by another implementation: it is the machine's from now on", i.ID, i.State),
		})
	}
	if differences := t.infra.session.Differences(t.ref(), *i); len(differences) > 0 {
		out = append(out, dialect.Event{
			Type: corev1.EventTypeWarning, Reason: "InstanceDiffers", Action: "Find",
			Note: fmt.Sprintf("instance %s is not what the class says by now: %s", i.ID, strings.Join(differences, "; ")),
		})
	}
	return out
}

// counts records the outcome of a pass in the metrics of single machines.
func (t eventReporter[M]) counts(out lifecycle.Outcome) {
	if t.Metrics == nil {
		return
	}
	key := types.NamespacedName{Namespace: t.view.Namespace, Name: t.view.Name}
	switch {
	case out.Did(lifecycle.RemoveFinalizer):
		t.Metrics.forget(t.Dialect.API(), key)
		return
	case !t.view.Deleted.IsZero():
		t.Metrics.blocked.note(blockedKey{api: t.Dialect.API(), machine: key}, obstacle(out), t.Clock)
	}
	t.Metrics.frozen.note(blockedKey{api: t.Dialect.API(), machine: key}, distrust(out))
	t.Metrics.failures.count(key, t.was, out)
}
