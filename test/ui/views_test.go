package ui_test

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/plugin/live"
	"github.com/millwright-dev/millwright/internal/plugin/ui"
)

// view is a page of a world, and a text that it shows.
type view struct{ hash, text string }

// views fills the namespace, and returns all pages.
func (w *world) views() []view {
	w.t.Helper()
	w.broken()
	w.rollout()
	w.check()
	budget := w.budget()
	w.evidence()
	object := func(api, kind, name string) string {
		return "#/object/" + api + "/" + kind + "/" + w.namespace + "/" + name
	}
	return []view{
		{"#/", "mill-bad"},
		{object(machinev1.GroupName, "Machine", "mill-bad"), "no such subnet"},
		{object(v1alpha1.GroupName, "MachineDeployment", "rolled"), "What holds it up"},
		{object(machinev1.GroupName, "MachineHealthCheck", "watch"), "What it would remediate now"},
		{"#/plan?about=" + url.QueryEscape("MachineSet/"+machinev1.GroupName+"/"+w.namespace+"/watched"), "Plan the change"},
		{"#/object/millwright.dev/MachineDisruptionBudget//" + budget, "Permits for each cause"},
		{"#/object/millwright.dev/MachineDisruptionBudget//emergency-stop", "No emergency stop"},
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
		if evaluate[bool](b, `!!document.querySelector("[aria-label=actions]")`) {
			t.Errorf("%s offers actions, which no user has allowed", v.hash)
		}
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
	b.visit(views[1].hash)
	b.awaits("As the machine's object shows it", "providerName", "The end of its console", "panic <img", "Disruption budgets of this machine", "permits 1 disruption at a time")
	b.picture("instance")
	b.visit(views[5].hash)
	b.awaits("weekdays <img", "Limits", "0 9 * * mon-fri for 8h, Europe/Berlin", "Machines with a permit", "lost <img", "Machines that wait for it", "pool-waits")
	b.picture("budget")
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
		if evaluate[bool](b, "(e => !!("+expression+"))(document.activeElement)") {
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

// TestPlanView: a change of an object and a manifest are planned by keyboard, an objection names its field, and nothing
// is stored.
func TestPlanView(t *testing.T) {
	w := newWorld(t)
	views := w.views()
	b := openBrowser(t)
	do(b, chromedp.Navigate(serve(t, w.namespace)))
	b.visit(views[4].hash)
	b.awaits(views[4].text)
	b.tabTo(`e.labels?.[0]?.textContent.startsWith("Machines")`)
	do(b, chromedp.KeyEvent("5"))
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits("What would happen", "spec.replicas: 3 → 5", "create ")
	b.picture("plan")
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.accessible(scheme + ", a plan")
	}
	b.width(390)
	if wide := evaluate[int64](b, "document.documentElement.scrollWidth"); wide > 390 {
		t.Errorf("a plan is %d pixels wide on a screen of 390", wide)
	}
	b.width(1280)
	const manifest = "{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: %q}, spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}}"
	do(b, chromedp.SendKeys("textarea", fmt.Sprintf(manifest, attack)))
	b.tabTo(`e.textContent == "Plan the manifest"`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits("manifest: read MachineSet <img", "invalid resource name")
	evaluate[string](b, `document.querySelector("textarea").value = ""`)
	do(b, chromedp.SendKeys("textarea", fmt.Sprintf(manifest, "planned")))
	b.tabTo(`e.textContent == "Plan the manifest"`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits("MachineSet "+w.namespace+"/planned is created", "create 2 machines")
	w.unfit(b)
	b.tabTo(`e.tagName == "SELECT"`)
	do(b, chromedp.KeyEvent("j"))
	b.until(`document.querySelector("form select").value == "JSON merge patch"`)
	do(b, chromedp.SendKeys("form textarea", `{"metadata":{"annotations":{"note":`+quoted(attack)+`}}}`))
	b.tabTo(`e.textContent == "Plan the change"`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits("MachineSet "+w.namespace+"/watched is changed", "onerror=")
	var sets machinev1.MachineSetList
	if err := w.List(t.Context(), &sets, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, s := range sets.Items {
		if s.Name == "planned" || s.Name == "watched" && *s.Spec.Replicas != 3 {
			t.Errorf("set %s with %d machines is stored", s.Name, *s.Spec.Replicas)
		}
	}
	if evaluate[bool](b, "'attacked' in window") {
		t.Error("a text ran as a script")
	}
}

// unfit plans manifests that cannot be planned, each of which gets an answer that says why.
func (w *world) unfit(b *browser) {
	w.t.Helper()
	const set = "{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: unfit%s}, spec: {%s selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {providerSpec: {value: {apiVersion: machine.openshift.io/v1beta1, kind: AWSMachineProviderConfig}}}}}}"
	for _, c := range []struct{ manifest, says string }{
		{" ", "Manifest: must not be empty"},
		{"just text " + attack, "is not the YAML or JSON of a Kubernetes object"},
		{"{apiVersion: v1, kind: Secret, metadata: {name: s}}", "it has no object that can be planned: Secret s (v1)"},
		{fmt.Sprintf(set, "", "replcas: 3,"), `unknown field "spec.replcas"`},
		{fmt.Sprintf(set, ", namespace: nowhere", ""), `namespaces "nowhere" not found`},
		{fmt.Sprintf(set, "", ""), "the provider spec of machineset/unfit of machine.openshift.io in " + w.namespace + " is invalid: providerSpec.ami: Required value"},
	} {
		evaluate[any](b, `document.querySelector("textarea").focus(), document.querySelector("textarea").select()`)
		do(b, chromedp.KeyEvent(c.manifest)) // replaces the selected text
		b.tabTo(`e.textContent == "Plan the manifest"`)
		do(b, chromedp.KeyEvent(kb.Enter))
		b.awaits(c.says)
		if evaluate[bool](b, `document.body.innerText.includes("Nothing would change")`) {
			w.t.Errorf("%q: nothing would change", c.manifest)
		}
	}
}

// TestActionsView: an action shows its command and its plan, waits for a confirmation, and is logged. All of it works by
// keyboard.
func TestActionsView(t *testing.T) {
	w := newWorld(t)
	views := w.views()
	log := &syncBuffer{}
	env := devplanetest.Start(t)
	b := openBrowser(t)
	do(b, chromedp.Navigate(serveFrom(t, ui.Options{Cluster: "test", ActionLog: log, Options: live.Options{Control: env.Config, Namespace: w.namespace, Clock: clock.RealClock{}}})))
	b.visit(views[2].hash)
	b.awaits("Pause the rollout", "Return to an earlier revision")
	b.visit("#/object/machine.openshift.io/Machine/" + w.namespace + "/watched-a")
	b.awaits("Delete and replace")
	const command = "kubectl delete machines.machine.openshift.io/watched-a"
	b.tabTo(`e.textContent == "Delete and replace …"`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits(command, "What would happen")
	b.picture("action")
	for _, scheme := range []string{"dark", "light"} {
		b.scheme(scheme)
		b.accessible(scheme + ", an action")
	}
	b.width(390)
	if wide := evaluate[int64](b, "document.documentElement.scrollWidth"); wide > 390 {
		t.Errorf("an action is %d pixels wide on a screen of 390", wide)
	}
	b.tabTo(`e.textContent == "Cancel"`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.until(`!document.body.innerText.includes("` + command + `")`)
	m := &machinev1.Machine{}
	key := client.ObjectKey{Namespace: w.namespace, Name: "watched-a"}
	if err := w.Get(t.Context(), key, m); err != nil || log.String() != "" {
		t.Fatalf("without a confirmation: %v, log %q", err, log)
	}
	b.tabTo(`e.textContent == "Delete and replace …"`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits(command)
	b.tabTo(`e.textContent == "Delete and replace: Machine watched-a"`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits("The API server has accepted: Delete and replace: Machine watched-a")
	if err := w.Get(t.Context(), key, m); !apierrors.IsNotFound(err) {
		t.Errorf("the machine exists: %v", err)
	}
	if !strings.Contains(log.String(), command+" -n "+w.namespace) || !strings.Contains(log.String(), "done") {
		t.Errorf("the log is %q", log)
	}
	b.calm()
	b.visit("#/object/machine.openshift.io/MachineSet/" + w.namespace + "/watched")
	b.awaits("Approve the removal of instances without machines")
	b.tabTo(`e.labels?.[0]?.textContent.startsWith("Approve the removal")`)
	do(b, chromedp.KeyEvent(attack))
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits("value: must be a number of instances, or provider IDs", "<img")
	if evaluate[bool](b, "'attacked' in window") {
		t.Error("a text ran as a script")
	}
}

// syncBuffer is a log that a server writes while a test reads it.
type syncBuffer struct {
	sync.Mutex
	text strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	return s.text.Write(p)
}

func (s *syncBuffer) String() string {
	s.Lock()
	defer s.Unlock()
	return s.text.String()
}
