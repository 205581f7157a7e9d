package sim

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/provider"
)

// mostChecks bounds the number of checks.
const mostChecks = 2

// setUpHealthChecks creates the objects for health checks.
func (w *World) setUpHealthChecks() {
	w.healthState = healthState{repaired: map[types.UID]time.Time{}}
	w.healthState.beat, w.remediationState.seen = w.now.Add(heartbeatInterval), map[types.UID]bool{}
	if w.profile.checks {
		w.createRemediationTemplate()
		w.createCheck()
		w.createOldCheckFixtures()
	}
}

// healthDeeds are the users' actions on health checks, and the actions that protect machines from checks.
func (w *World) healthDeeds() (actions []func()) {
	if w.profile.checks {
		actions = append(actions, w.createCheck, w.createCheck, w.editCheck, w.editCheck, w.pauseCheck, w.pauseCheck, w.deleteCheck, w.toggleSkipRemediation, w.setMachineTimeouts)
		actions = append(actions, w.oldCheckActions()...)
	}
	if w.profile.shares {
		actions = append(actions, w.guardSet, w.guardSet, w.approveMass)
	}
	return actions
}

func (w *World) createCheck() {
	if len(w.checks()) >= mostChecks {
		return
	}
	w.healthState.made++
	c := &check{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("check", w.healthState.made)}}
	w.fillCheck(c)
	if w.chance(50) {
		if s := w.anySet(); s != nil {
			c.Spec.Selector.MatchLabels = map[string]string{memberLabel: s.GetLabels()[memberLabel]}
			if c.Spec.Selector.MatchLabels[memberLabel] == "" {
				c.Spec.Selector.MatchLabels[memberLabel] = s.GetName()
			}
		}
	}
	_, err := w.store.Create(c)
	w.must("create a health check", err)
	w.tracef("user", "creates health check %s: %s", c.Name, describeCheck(c))
}

// fillCheck gives a check other contents.
func (w *World) fillCheck(c *check) {
	waits := []string{"45s", "2m", "5m", "10m"}
	c.Spec.UnhealthyConditions = []lenient.UnhealthyCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Timeout: waits[w.roll(len(waits))]},
	}
	if w.chance(80) {
		c.Spec.UnhealthyConditions = append(c.Spec.UnhealthyConditions,
			lenient.UnhealthyCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Timeout: waits[w.roll(len(waits))]})
	}
	limits := []string{"", "", "100%", "0", "1", "1", "2", "3", "20%", "40%", "60%", "some"}
	c.Spec.MaxUnhealthy = nil
	if l := limits[w.roll(len(limits))]; l != "" {
		c.Spec.MaxUnhealthy = lenient.AmountOf(l)
	}
	c.Spec.NodeStartupTimeout = nil
	if w.chance(60) {
		c.Spec.NodeStartupTimeout = ptr.To([]string{"0", "0", "5m", "10m"}[w.roll(4)])
	}
	dialect.SetAnnotation(c, dialect.BreakerAnnotation, []string{"", "report", "enforce", "enforce", "off"}[w.roll(5)])
	dialect.SetAnnotation(c, dialect.RateAnnotation, []string{"", "", "1", "2", "50%"}[w.roll(5)])
	if w.profile.strict {
		dialect.SetAnnotation(c, dialect.BreakerAnnotation, string(health.Enforce))
		dialect.SetAnnotation(c, dialect.RateAnnotation, "1")
	}
	dialect.SetAnnotation(c, dialect.CooldownAnnotation, []string{"", "2m"}[w.roll(2)])
	api := ""
	if w.adapter.api != provider.OpenShift && w.chance(95) && !w.profile.foreign {
		api = w.adapter.api
	}
	dialect.SetAnnotation(c, dialect.MachineAPIAnnotation, api)
	w.setBreaker(c)
	w.setExternalRemediation(c)
	w.setRemediationTemplate(c)
	w.escalate(c)
}

func describeCheck(c *check) string {
	var parts []string
	for _, u := range c.Spec.UnhealthyConditions {
		parts = append(parts, fmt.Sprintf("%s=%s for %s", u.Type, u.Status, u.Timeout))
	}
	limit := "all"
	if c.Spec.MaxUnhealthy != nil {
		limit = c.Spec.MaxUnhealthy.Text()
	}
	return fmt.Sprintf("of %v, %s, %s without a node, at most %s, %v", c.Spec.Selector.MatchLabels, strings.Join(parts, " or "),
		ptr.Deref(c.Spec.NodeStartupTimeout, "10m"), limit, c.Annotations)
}

func (w *World) anyCheck() *check {
	c, _ := pick(w, w.checks())
	return c
}

// change is a user's edit of a check.
func (w *World) change(c *check, what string, edit func(*check)) {
	w.edit(c, "", func(o client.Object) { edit(o.(*check)) })
	now := w.store.Lookup(c, client.ObjectKeyFromObject(c)).(*check)
	w.tracef("user", "%s health check %s: %s", what, c.Name, describeCheck(now))
}

func (w *World) editCheck() {
	if c := w.anyCheck(); c != nil {
		w.change(c, "rewrites", w.fillCheck)
	}
}

func (w *World) pauseCheck() {
	c := w.anyCheck()
	if c == nil {
		return
	}
	_, paused := c.Annotations[openshift.PausedAnnotation]
	w.change(c, map[bool]string{true: "resumes", false: "pauses"}[paused], func(c *check) {
		if paused {
			delete(c.Annotations, openshift.PausedAnnotation)
		} else {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, openshift.PausedAnnotation, "")
		}
	})
}

func (w *World) deleteCheck() {
	if c := w.anyCheck(); c != nil && w.chance(30) {
		w.must("delete a health check", w.store.Delete(c, client.DeleteOptions{}))
		w.tracef("user", "deletes health check %s", c.Name)
	}
}

// toggleSkipRemediation excludes a machine from health checks, or includes it again.
func (w *World) toggleSkipRemediation() {
	m := w.anyMachine(false)
	if m == nil || !w.chance(40) {
		return
	}
	spared := m.GetAnnotations()[dialect.SkipRemediationAnnotation] != ""
	w.edit(m, "", func(o client.Object) {
		dialect.SetAnnotation(o, dialect.SkipRemediationAnnotation, map[bool]string{false: "true"}[spared])
	})
	w.tracef("user", "spares machine %s of health checks: %v", m.GetName(), !spared)
}

// setMachineTimeouts gives a machine its own timeouts, or removes them.
func (w *World) setMachineTimeouts() {
	m := w.anyMachine(false)
	if m == nil || !w.chance(40) {
		return
	}
	startup, health := []string{"", "5m", "20m"}[w.roll(3)], []string{"", "3m", "6m"}[w.roll(3)]
	w.edit(m, "", func(o client.Object) {
		dialect.SetAnnotation(o, dialect.CreationTimeoutAnnotation, startup)
		dialect.SetAnnotation(o, dialect.HealthTimeoutAnnotation, health)
	})
	w.tracef("user", "gives machine %s timeouts of its own: %q to join, %q to be healthy", m.GetName(), startup, health)
}

// repairChecks makes every check valid, and removes the sets' limits.
func (w *World) repairChecks() {
	w.repairOldChecks()
	for _, c := range w.checks() {
		w.change(c, "mends", func(c *check) {
			delete(c.Annotations, openshift.PausedAnnotation)
			if c.Spec.RemediationTemplate != nil {
				c.Spec.RemediationTemplate = w.template(false)
			}
			if a := c.Spec.MaxUnhealthy; a != nil {
				if _, err := health.ParseLimit(a.Text()); err != nil {
					c.Spec.MaxUnhealthy = nil
				}
			}
		})
	}
	if w.profile.checks {
		for _, m := range w.machines() {
			w.edit(m, "", func(o client.Object) { dialect.SetAnnotation(o, dialect.SkipRemediationAnnotation, "") })
		}
	}
	if w.profile.shares {
		w.each(func() {
			for _, o := range append(w.deployments(), w.store.All(w.adapter.set)...) {
				w.edit(o, "", func(o client.Object) { dialect.SetAnnotation(o, dialect.MaxShareAnnotation, "") })
			}
		})
	}
}

// guardSet gives a deployment, or a set without one, a limit for deletions, or removes it.
func (w *World) guardSet() {
	o := w.whole()
	if o == nil {
		return
	}
	share := []string{"", "20%", "34%", "50%", "a third"}[w.roll(5)]
	w.edit(o, "", func(o client.Object) { dialect.SetAnnotation(o, dialect.MaxShareAnnotation, share) })
	w.does("guards %s: at most %q of its machines", o.GetName(), share)
}

// approveMass approves that a deployment or set deletes more machines, or withdraws that approval.
func (w *World) approveMass() {
	o := w.whole()
	if o == nil {
		return
	}
	n := []string{"", "2", "3", "4"}[w.roll(4)]
	w.edit(o, "", func(o client.Object) { dialect.SetAnnotation(o, dialect.ApproveShrinkAnnotation, n) })
	w.does("approves the deletion of %q machines of %s", n, o.GetName())
}

// whole returns a deployment, or a set without a deployment.
func (w *World) whole() client.Object {
	all := w.deployments()
	for _, s := range w.store.All(w.adapter.set) {
		if metav1.GetControllerOf(s) == nil {
			all = append(all, s)
		}
	}
	o, _ := pick(w, all)
	if o == nil || o.GetDeletionTimestamp() != nil {
		return nil
	}
	return o
}
