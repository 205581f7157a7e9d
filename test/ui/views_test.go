package ui_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
)

// view is a page of a world, and a text that it shows.
type view struct{ hash, text string }

// views fills the namespace, and returns all pages.
func (w *world) views() []view {
	w.t.Helper()
	w.broken()
	w.rollout()
	w.check()
	object := func(api, kind, name string) string {
		return "#/object/" + api + "/" + kind + "/" + w.namespace + "/" + name
	}
	return []view{
		{"#/", "mill-bad"},
		{object(machinev1.GroupName, "Machine", "mill-bad"), "no such subnet"},
		{object(v1alpha1.GroupName, "MachineDeployment", "rolled"), "What holds it up"},
		{object(machinev1.GroupName, "MachineHealthCheck", "watch"), "What it would remediate now"},
	}
}

// rollout is a deployment under way: a set with an old class and one with the present class, of which one machine failed.
func (w *world) rollout() {
	w.t.Helper()
	labels := map[string]string{"pool": "rolled"}
	selector := metav1.LabelSelector{MatchLabels: labels}
	template := func(class string) v1alpha1.MachineTemplateSpec {
		return v1alpha1.MachineTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1alpha1.MachineSpec{Class: v1alpha1.ClassSpec{Kind: "MachineClass", Name: class}}}
	}
	d := &v1alpha1.MachineDeployment{ObjectMeta: w.meta("rolled"), Spec: v1alpha1.MachineDeploymentSpec{Replicas: 3, Selector: &selector, Template: template("large")}}
	d.Spec.Strategy = v1alpha1.MachineDeploymentStrategy{Type: v1alpha1.RollingUpdateMachineDeploymentStrategyType, RollingUpdate: &v1alpha1.RollingUpdateMachineDeployment{}}
	d.Spec.Strategy.RollingUpdate.MaxSurge, d.Spec.Strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromString("50%")), ptr.To(intstr.FromInt32(1))
	w.create(d)
	w.say(d, `{"observedGeneration":1,"replicas":4,"updatedReplicas":2,"availableReplicas":3,"conditions":[{"type":"Progressing","status":"True","reason":"MachineSetUpdated","message":`+quoted("progress "+attack)+`}]}`)
	for i, class := range []string{"small", "large"} {
		s := &v1alpha1.MachineSet{ObjectMeta: w.meta("rolled-" + class), Spec: v1alpha1.MachineSetSpec{Replicas: 2, Selector: &selector, Template: template(class)}}
		s.Labels = labels
		s.Annotations = map[string]string{"deployment.kubernetes.io/revision": string(rune('1' + i)), "kubernetes.io/change-cause": "cause " + attack}
		s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, v1alpha1.GroupVersion.WithKind("MachineDeployment"))}
		w.create(s)
		w.say(s, `{"observedGeneration":1,"replicas":2,"availableReplicas":`+string(rune('2'-i))+`}`)
		for _, name := range []string{"x", "y"} {
			m := &v1alpha1.Machine{ObjectMeta: w.meta(s.Name + "-" + name), Spec: template(class).Spec}
			m.Labels = labels
			m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("MachineSet"))}
			w.create(m)
			phase := "Running"
			if class == "large" && name == "y" {
				phase = "Failed"
			}
			w.say(m, `{"currentStatus":{"phase":"`+phase+`","lastUpdateTime":null},"lastOperation":{"description":`+quoted(name+" "+attack)+`,"state":"Failed","type":"Create","lastUpdateTime":null}}`)
		}
	}
}

// check is a health check of machines whose nodes do not exist, with hostile texts in its settings and its memory.
func (w *world) check() {
	w.t.Helper()
	set := w.set("watched", 3)
	for _, name := range []string{"watched-a", "watched-b"} {
		w.machine(name, set, "zone-a", `{"phase":"Running","nodeRef":{"kind":"Node","name":"`+name+`-of-nobody"}}`)
	}
	c := &lenient.MachineHealthCheck{ObjectMeta: w.meta("watch")}
	c.Annotations = map[string]string{
		"millwright.dev/remediation-breaker": attack,
		"millwright.dev/remediations":        `{"begun":[{"uid":"u","machine":` + quoted("past "+attack) + `,"at":"2026-01-02T03:04:05Z"}]}`,
	}
	c.Spec.Selector.MatchLabels = map[string]string{machinev1.MachineClusterIDLabel: "blue"}
	c.Spec.UnhealthyConditions = []lenient.UnhealthyCondition{{Type: "Ready", Status: "Unknown", Timeout: "5m"}}
	c.Spec.MaxUnhealthy = lenient.AmountOf("80%")
	w.create(c)
	w.say(c, `{"expectedMachines":4,"currentHealthy":1,"conditions":[{"type":"Calm","status":"False","reason":"Storm","message":`+quoted("storm "+attack)+`,"lastTransitionTime":"2026-01-02T03:04:05Z"}]}`)
}

// TestViews: each view shows what it is about, hostile texts as texts, and follows the cluster.
func TestViews(t *testing.T) {
	w := newWorld(t)
	views := w.views()
	b := openBrowser(t)
	do(b, chromedp.Navigate(serve(t, w.namespace)))
	for _, v := range views {
		b.visit(v.hash)
		b.awaits(v.text)
	}
	b.visit(views[2].hash)
	b.awaits("at most 5 machines", "at least 2 available", "rolled-large-y", "cause <img", "--to-revision=1", "new, not available", "old, available")
	b.until(`[...document.querySelectorAll(".chart > svg text")].map(t => t.textContent).join() == "at most 5,at least 2 available"`)
	b.picture("rollout")
	if err := w.Delete(t.Context(), &v1alpha1.Machine{ObjectMeta: w.meta("rolled-small-x")}); err != nil {
		t.Fatal(err)
	}
	b.until(`document.querySelector(".chart > svg").getAttribute("aria-label").includes("1 old, available")`)
	b.visit(views[3].hash)
	b.awaits("does not exist any more", "80%: 3 machines", "watched-a", "report")
	b.picture("check")
	evaluate[any](b, `document.querySelector("[aria-label='health check'] details").open = true`)
	b.awaits("1 recent remediation", "past <img")
	if evaluate[bool](b, "'attacked' in window") {
		t.Error("a text of an object ran as a script")
	}
	b.calm()
}

// tabTo presses Tab until the expression about the focused element e is true.
func (b *browser) tabTo(expression string) {
	b.t.Helper()
	for range 80 {
		do(b, chromedp.KeyEvent(kb.Tab))
		if evaluate[bool](b, "(e => "+expression+")(document.activeElement)") {
			return
		}
	}
	b.t.Fatalf("80 times Tab do not lead to %s", expression)
}

// TestViewsByKeyboard: the controls of each view are reached and used without a mouse.
func TestViewsByKeyboard(t *testing.T) {
	w := newWorld(t)
	views := w.views()
	b := openBrowser(t)
	do(b, chromedp.Navigate(serve(t, w.namespace)))
	b.visit(views[2].hash)
	b.awaits(views[2].text)
	b.tabTo(`e.tagName == "SELECT"`)
	do(b, chromedp.KeyEvent("e")) // everything
	b.until(`document.querySelector(".chart select").value == "everything"`)
	b.tabTo(`e.textContent == "Numbers"`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.until(`document.querySelector(".chart details").open`)
	b.visit(views[3].hash)
	b.awaits(views[3].text)
	b.tabTo(`e.textContent == "watched-a"`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits("Machine watched-a", "YAML")
	if at := evaluate[string](b, "location.hash"); !strings.HasSuffix(at, "watched-a") {
		t.Errorf("the address is %s", at)
	}
	b.calm()
}
