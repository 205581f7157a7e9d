package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// oldCheckProfile says whether health checks of healthchecking.openshift.io/v1alpha1 exist.
type oldCheckProfile struct {
	// oldChecks: checks of the older API exist beside the newer ones. common: one ConfigMap lists the unhealthy conditions
	// for all of them.
	oldChecks, common bool
}

// oldCheckSource is the source of random numbers of this profile alone.
const oldCheckSource = widerSource + 0xe1de4

func (e *oldCheckProfile) draw(r *rand.Rand) {
	e.oldChecks, e.common = r.IntN(2) == 0, r.IntN(2) == 0
}

// oldCheck is a health check of the older API as stored.
type oldCheck = v1alpha1.MachineHealthCheck

// hasOldChecks reports whether this world has checks of the older API.
func (w *World) hasOldChecks() bool { return w.profile.checks && w.profile.oldChecks }

// oldChecks are the kinds of the older API of health checks.
func (w *World) oldChecks() []*store.Kind {
	if !w.hasOldChecks() {
		return nil
	}
	k := store.NewKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindMachineHealthCheck), &oldCheck{})
	k.Subresource, k.Counted = true, true
	return []*store.Kind{k, store.NewKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"), &corev1.ConfigMap{})}
}

// checkKinds are empty health checks of all APIs of health checks in this world.
func (w *World) checkKinds() []client.Object {
	if !w.hasOldChecks() {
		return []client.Object{&check{}}
	}
	return []client.Object{&check{}, &oldCheck{}}
}

// createOldCheckFixtures creates the objects that older checks read.
func (w *World) createOldCheckFixtures() {
	if !w.hasOldChecks() {
		return
	}
	if w.profile.common {
		_, err := w.store.Create(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.ConditionsConfigMap},
			Data: map[string]string{v1alpha1.ConditionsKey: "items:\n" +
				"- {name: Ready, status: Unknown, timeout: 90s}\n" +
				"- {name: Ready, status: \"False\", timeout: 4m}\n"},
		})
		w.must("say what is unhealthy", err)
	}
	w.createOldCheck()
}

// oldCheckActions are the users' actions on older checks.
func (w *World) oldCheckActions() []func() {
	if !w.hasOldChecks() {
		return nil
	}
	return []func(){w.createOldCheck, w.createOldCheck, w.editOldCheck, w.editOldCheck, w.pauseOldCheck, w.deleteOldCheck}
}

func (w *World) createOldCheck() {
	if len(objects(w, &oldCheck{})) >= mostChecks {
		return
	}
	w.healthState.made++
	c := &oldCheck{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("check", w.healthState.made)}}
	w.fillOldCheck(c)
	switch s := w.anySet(); {
	case s != nil && w.chance(60):
		name := s.GetLabels()[memberLabel]
		if name == "" {
			name = s.GetName()
		}
		c.Spec.Selector.MatchLabels = map[string]string{memberLabel: name}
	case w.chance(80):
		c.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: memberLabel, Operator: metav1.LabelSelectorOpExists}}
	}
	_, err := w.store.Create(c)
	w.must("create a health check of the older form", err)
	w.does("creates older health check %s: %s", c.Name, describeOldCheck(c))
}

// fillOldCheck gives a check other contents. The fields of both APIs get the same values.
func (w *World) fillOldCheck(c *oldCheck) {
	like := check{ObjectMeta: c.ObjectMeta}
	w.fillCheck(&like)
	c.ObjectMeta, c.Spec.MaxUnhealthy, c.Spec.UnhealthyConditions = like.ObjectMeta, like.Spec.MaxUnhealthy, nil
	if w.chance(50) {
		c.Spec.UnhealthyConditions = like.Spec.UnhealthyConditions
	}
	c.Spec.RemediationStrategy = nil
	dialect.SetAnnotation(c, openshift.OldStrategyAnnotation, "")
	switch w.roll(6) {
	case 0:
		c.Spec.RemediationStrategy = ptr.To(v1alpha1.StrategyReboot)
	case 1:
		dialect.SetAnnotation(c, openshift.OldStrategyAnnotation, v1alpha1.StrategyReboot)
	}
}

func describeOldCheck(c *oldCheck) string {
	like := check{ObjectMeta: c.ObjectMeta}
	like.Spec.Selector, like.Spec.MaxUnhealthy, like.Spec.UnhealthyConditions = c.Spec.Selector, c.Spec.MaxUnhealthy, c.Spec.UnhealthyConditions
	return describeCheck(&like) + ", strategy " + ptr.Deref(c.Spec.RemediationStrategy, "none")
}

// changeOldCheck is a user's edit of a check.
func (w *World) changeOldCheck(c *oldCheck, what string, edit func(*oldCheck)) {
	w.edit(c, "", func(o client.Object) { edit(o.(*oldCheck)) })
	now := w.store.Lookup(c, client.ObjectKeyFromObject(c)).(*oldCheck)
	w.does("%s older health check %s: %s", what, c.Name, describeOldCheck(now))
}

func (w *World) editOldCheck() {
	if c, ok := pick(w, objects(w, &oldCheck{})); ok {
		w.changeOldCheck(c, "rewrites", w.fillOldCheck)
	}
}

func (w *World) pauseOldCheck() {
	c, ok := pick(w, objects(w, &oldCheck{}))
	if !ok {
		return
	}
	_, paused := c.Annotations[openshift.PausedAnnotation]
	w.changeOldCheck(c, map[bool]string{true: "resumes", false: "pauses"}[paused], func(c *oldCheck) {
		dialect.SetAnnotation(c, openshift.PausedAnnotation, map[bool]string{false: "true"}[paused])
	})
}

func (w *World) deleteOldCheck() {
	if c, ok := pick(w, objects(w, &oldCheck{})); ok && w.chance(30) {
		w.must("delete a health check", w.store.Delete(c, client.DeleteOptions{}))
		w.does("deletes older health check %s", c.Name)
	}
}

// repairOldChecks makes every check valid and resumes it.
func (w *World) repairOldChecks() {
	if !w.hasOldChecks() {
		return
	}
	for _, c := range objects(w, &oldCheck{}) {
		w.changeOldCheck(c, "mends", func(c *oldCheck) {
			dialect.SetAnnotation(c, openshift.PausedAnnotation, "")
			if a := c.Spec.MaxUnhealthy; a != nil {
				if _, err := health.ParseLimit(a.Text()); err != nil {
					c.Spec.MaxUnhealthy = nil
				}
			}
		})
	}
}

// kubeletsToRestart are the kubelets whose nodes a check has asked an external controller to restart.
func (w *World) kubeletsToRestart() (out []*kubelet) {
	if !w.hasOldChecks() {
		return nil
	}
	for _, i := range w.cloud.Existing("") {
		k := w.kubelet(i)
		if n := w.nodeOf(k); n != nil {
			if _, asked := n.Annotations[health.RebootAnnotation]; asked {
				out = append(out, k)
			}
		}
	}
	return out
}

// restartActions are the possible restarts of nodes by the external controller. A restart repairs the node unless it has
// failed permanently.
func (w *World) restartActions() (out []func()) {
	for _, k := range w.kubeletsToRestart() {
		n := w.nodeOf(k)
		if w.now.Before(w.repairDue(n)) {
			continue
		}
		out = append(out, func() {
			w.healthState.repaired[n.UID] = w.now
			w.tracef("repairer", "restarts node %s", n.Name)
			k.failure, k.stalled = nodeFailure{}, time.Time{}
			w.edit(n, "", func(o client.Object) { delete(o.GetAnnotations(), health.RebootAnnotation) })
		})
	}
	return out
}

// machineToRestart names a machine whose node still has to be restarted.
func (w *World) machineToRestart() string {
	for _, k := range w.kubeletsToRestart() {
		if m := w.machineOf(k.on.UID); m != nil && !w.hopeless(m) {
			return m.GetName()
		}
	}
	return ""
}

// oldCheckSetting makes worlds of older checks that select all machines of sets.
func oldCheckSetting(c *profile) {
	healthSetting(c)
	c.oldChecks = true
}

// oldCheckMutants treat an older check like a newer one.
func oldCheckMutants() []Mutation {
	of := func(name, finds string, change func(*health.Check)) Mutation {
		return Mutation{Name: name, Finds: []string{finds}, Setting: oldCheckSetting, Checks: CheckDefects{OfOldCheck: change}}
	}
	return []Mutation{
		of("an older check gives up machines that have no node", judge.HealthyStay, func(v *health.Check) { v.NodesOnly, v.StartupTimeout = false, time.Minute }),
		of("an older check deletes what others are to restart", judge.OthersRepair, func(v *health.Check) { v.Remediation = health.Delete }),
	}
}
