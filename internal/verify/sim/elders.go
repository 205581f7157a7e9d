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

// elderly is what worlds have of health checks of the older form.
type elderly struct {
	// elders: there are such, beside the newer ones. said: what counts as unhealthy is
	// said once for all of them.
	elders, said bool
}

// elderSource is a stream of random numbers that nothing else has.
const elderSource = widerSource + 0xe1de4

func (e *elderly) draw(r *rand.Rand) {
	e.elders, e.said = r.IntN(2) == 0, r.IntN(2) == 0
}

// elder is a health check of the older form as it is stored.
type elder = v1alpha1.MachineHealthCheck

// aged reports whether there are checks of the older form.
func (w *World) aged() bool { return w.profile.checks && w.profile.elders }

// elders are the kinds that such worlds have besides.
func (w *World) elders() []*store.Kind {
	if !w.aged() {
		return nil
	}
	k := store.NewKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindMachineHealthCheck), &elder{})
	k.Subresource, k.Counted = true, true
	return []*store.Kind{k, store.NewKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"), &corev1.ConfigMap{})}
}

// checkKinds are empty health checks of the kinds that there are.
func (w *World) checkKinds() []client.Object {
	if !w.aged() {
		return []client.Object{&check{}}
	}
	return []client.Object{&check{}, &elder{}}
}

// beginElders furnishes what they go by.
func (w *World) beginElders() {
	if !w.aged() {
		return
	}
	if w.profile.said {
		_, err := w.store.Create(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.ConditionsConfigMap},
			Data: map[string]string{v1alpha1.ConditionsKey: "items:\n" +
				"- {name: Ready, status: Unknown, timeout: 90s}\n" +
				"- {name: Ready, status: \"False\", timeout: 4m}\n"},
		})
		w.must("say what is unhealthy", err)
	}
	w.createElder()
}

// elderDeeds are what people do about them.
func (w *World) elderDeeds() []func() {
	if !w.aged() {
		return nil
	}
	return []func(){w.createElder, w.createElder, w.editElder, w.editElder, w.pauseElder, w.deleteElder}
}

func (w *World) createElder() {
	if len(objects(w, &elder{})) >= mostChecks {
		return
	}
	w.ward.made++
	c := &elder{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("check", w.ward.made)}}
	w.prescribeElder(c)
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
	w.does("creates older health check %s: %s", c.Name, describeElder(c))
}

// prescribeElder gives a check other contents: those that both forms have are the same.
func (w *World) prescribeElder(c *elder) {
	like := check{ObjectMeta: c.ObjectMeta}
	w.prescribe(&like)
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

func describeElder(c *elder) string {
	like := check{ObjectMeta: c.ObjectMeta}
	like.Spec.Selector, like.Spec.MaxUnhealthy, like.Spec.UnhealthyConditions = c.Spec.Selector, c.Spec.MaxUnhealthy, c.Spec.UnhealthyConditions
	return describeCheck(&like) + ", strategy " + ptr.Deref(c.Spec.RemediationStrategy, "none")
}

// changeElder is an edit of a check by people.
func (w *World) changeElder(c *elder, what string, edit func(*elder)) {
	w.edit(c, "", func(o client.Object) { edit(o.(*elder)) })
	now := w.store.Lookup(c, client.ObjectKeyFromObject(c)).(*elder)
	w.does("%s older health check %s: %s", what, c.Name, describeElder(now))
}

func (w *World) editElder() {
	if c, ok := pick(w, objects(w, &elder{})); ok {
		w.changeElder(c, "rewrites", w.prescribeElder)
	}
}

func (w *World) pauseElder() {
	c, ok := pick(w, objects(w, &elder{}))
	if !ok {
		return
	}
	_, paused := c.Annotations[openshift.PausedAnnotation]
	w.changeElder(c, map[bool]string{true: "resumes", false: "pauses"}[paused], func(c *elder) {
		dialect.SetAnnotation(c, openshift.PausedAnnotation, map[bool]string{false: "true"}[paused])
	})
}

func (w *World) deleteElder() {
	if c, ok := pick(w, objects(w, &elder{})); ok && w.chance(30) {
		w.must("delete a health check", w.store.Delete(c, client.DeleteOptions{}))
		w.does("deletes older health check %s", c.Name)
	}
}

// mendElders makes every check one that is gone by.
func (w *World) mendElders() {
	if !w.aged() {
		return
	}
	for _, c := range objects(w, &elder{}) {
		w.changeElder(c, "mends", func(c *elder) {
			dialect.SetAnnotation(c, openshift.PausedAnnotation, "")
			if a := c.Spec.MaxUnhealthy; a != nil {
				if _, err := health.ParseLimit(a.Text()); err != nil {
					c.Spec.MaxUnhealthy = nil
				}
			}
		})
	}
}

// restarted are the kubelets whose nodes somebody is asked to restart.
func (w *World) restarted() (out []*kubelet) {
	if !w.aged() {
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

// restarts are what those who restart nodes could do now. It helps where anything does.
func (w *World) restarts() (out []func()) {
	for _, k := range w.restarted() {
		n := w.nodeOf(k)
		if w.now.Before(w.repairDue(n)) {
			continue
		}
		out = append(out, func() {
			w.ward.repaired[n.UID] = w.now
			w.tracef("repairer", "restarts node %s", n.Name)
			k.ails, k.stalled = ail{}, time.Time{}
			w.edit(n, "", func(o client.Object) { delete(o.GetAnnotations(), health.RebootAnnotation) })
		})
	}
	return out
}

// unrestarted names the node of a machine that is still to be restarted.
func (w *World) unrestarted() string {
	for _, k := range w.restarted() {
		if m := w.machineOf(k.on.UID); m != nil && !w.hopeless(m) {
			return m.GetName()
		}
	}
	return ""
}

// aging makes worlds of checks of the older form that select all machines of sets.
func aging(c *profile) {
	sickbay(c)
	c.elders = true
}

// elderMutants go by the older form as if it were the newer one.
func elderMutants() []Mutation {
	of := func(name, finds string, change func(*health.Check)) Mutation {
		return Mutation{Name: name, Finds: []string{finds}, Setting: aging, Checks: CheckDefects{OfElder: change}}
	}
	return []Mutation{
		of("an older check gives up machines that have no node", judge.HealthyStay, func(v *health.Check) { v.NodesOnly, v.StartupTimeout = false, time.Minute }),
		of("an older check deletes what others are to restart", judge.OthersRepair, func(v *health.Check) { v.Remediation = health.Delete }),
	}
}
