package ui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	budgets "github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/plugin/live"
	"github.com/millwright-dev/millwright/internal/plugin/ui"
)

// withBudgets installs the kind of machine disruption budgets.
func (w *world) withBudgets() {
	w.t.Helper()
	crds, err := config.OptionalCRDs()
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(devplanetest.Start(w.t).Config, envtest.CRDInstallOptions{CRDs: crds, MaxTime: time.Minute}); err != nil {
		w.t.Fatal(err)
	}
}

// budget is a machine disruption budget for the machines of the test, with hostile texts, and returns its name.
func (w *world) budget() string {
	w.t.Helper()
	w.withBudgets()
	b := &budgets.MachineDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	b.Spec.Selector.MatchLabels = map[string]string{"pool": "a"}
	b.Spec.Message = "weekdays " + attack
	b.Spec.Budgets = []budgets.Budget{{Nodes: intstr.FromInt32(1)}, {
		Nodes: intstr.FromString("30%"), Schedule: "0 9 * * mon-fri", Duration: &metav1.Duration{Duration: 8 * time.Hour}, TimeZone: "Europe/Berlin", Reasons: []budgets.DisruptionReason{budgets.ReasonRollout},
	}}
	w.create(b)
	w.remove(b)
	w.say(b, `{"machines":3,"inUse":1,"observed":[{"api":"machine.openshift.io","machines":3,"at":"`+time.Now().UTC().Format(time.RFC3339)+`"}],"disruptions":[{"api":"machine.openshift.io","namespace":"blue","name":`+quoted("lost "+attack)+`,"uid":"u","reason":"Rollout","since":"2026-01-02T03:04:05Z"}]}`)
	g := &v1alpha1.Machine{ObjectMeta: w.meta("pool-waits"), Spec: v1alpha1.MachineSpec{Class: v1alpha1.ClassSpec{Kind: "MachineClass", Name: "pool"}}}
	g.Finalizers = []string{v1alpha1.FinalizerMachine}
	w.create(g)
	w.remove(g)
	if err := w.Delete(w.t.Context(), g); err != nil {
		w.t.Fatal(err)
	}
	w.say(g, `{"currentStatus":{"phase":"Terminating","lastUpdateTime":null},"lastOperation":{"description":`+quoted("Waits for machine disruption budget "+b.Name+", which permits no manual disruption until 2099-01-01T00:00:00Z ("+attack+")")+`,"state":"Processing","type":"Delete","lastUpdateTime":null}}`)
	return b.Name
}

// remove deletes an object, whatever finalizers it has, when the test ends.
func (w *world) remove(o client.Object) {
	ctx := context.WithoutCancel(w.t.Context())
	w.t.Cleanup(func() {
		if err := w.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
			w.t.Error(err)
		}
		if err := w.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			w.t.Error(err)
		}
	})
}

// evidence is the evidence of the failed machine, with a hostile console.
func (w *world) evidence() {
	w.t.Helper()
	m := &machinev1.Machine{}
	if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "mill-bad"}, m); err != nil {
		w.t.Fatal(err)
	}
	w.say(m, `{"lastUpdated":"2026-01-02T03:04:05Z","providerStatus":{"providerName":`+quoted("cloud "+attack)+`,"conditions":[{"type":"MachineCreation","status":"False","message":`+quoted("said "+attack)+`}]}}`)
	raw, err := json.Marshal(postmortem.Record{
		API: machinev1.GroupName, Namespace: w.namespace, Name: m.Name, UID: string(m.UID), Taken: time.Now(), Console: "booting\npanic " + attack,
		Instance: &postmortem.Instance{ID: "i-1", State: "Stopped", RawState: "stopped " + attack},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "evidence", Labels: map[string]string{status.Label: status.LabelValue}}, Data: map[string]string{status.Key: string(raw)}})
}

// acting serves the page with actions, and returns its log.
func (w *world) acting(b *browser) *syncBuffer {
	w.t.Helper()
	log := &syncBuffer{}
	o := ui.Options{Cluster: "test", ActionLog: log, Options: live.Options{Control: devplanetest.Start(w.t).Config, Namespace: w.namespace, Clock: clock.RealClock{}}}
	do(b, chromedp.Navigate(serveFrom(w.t, o)))
	return log
}

// press presses the button with the text by keyboard.
func (b *browser) press(text string) {
	b.t.Helper()
	b.tabTo(fmt.Sprintf("e.tagName == 'BUTTON' && e.textContent == %q", text))
	do(b, chromedp.KeyEvent(kb.Enter))
}

// fits fails the test if the page is wider than a phone.
func (b *browser) fits(where string) {
	b.t.Helper()
	b.width(390)
	if wide := evaluate[int64](b, "document.documentElement.scrollWidth"); wide > 390 {
		b.t.Errorf("%s is %d pixels wide on a screen of 390", where, wide)
	}
	b.width(1280)
}

// TestStopView: an emergency stop is planned, confirmed, seen on each view, and ended, by keyboard.
func TestStopView(t *testing.T) {
	w := newWorld(t)
	views := w.views()
	b := openBrowser(t)
	log := w.acting(b)
	stop := &budgets.MachineDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "emergency-stop"}}
	w.remove(stop)
	b.awaits("Disruption budgets", w.namespace)
	b.awaits("Emergency stop: not in force")
	b.tabTo(`e.textContent == "how to stop all disruption"`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits("No emergency stop")
	b.tabTo(`e.labels?.[0]?.textContent.startsWith("Stop all disruption")`)
	do(b, chromedp.KeyEvent("storage "+attack))
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits("kubectl machine stop --message", "What would happen", "MachineDisruptionBudget emergency-stop is created")
	b.press("Stop all disruption: MachineDisruptionBudget emergency-stop")
	for _, v := range views {
		b.visit(v.hash)
		b.awaits("All disruption is stopped by emergency-stop, since", "storage <img")
	}
	b.picture("stop")
	for _, scheme := range []string{"dark", "light"} {
		b.scheme(scheme)
		b.accessible(scheme + ", an emergency stop")
	}
	b.fits("an emergency stop")
	b.visit("#/object/millwright.dev/MachineDisruptionBudget//emergency-stop")
	b.awaits("End the stop", "kubectl machine resume")
	b.press("End the stop …")
	b.awaits("MachineDisruptionBudget emergency-stop is deleted")
	b.press("End the stop: MachineDisruptionBudget emergency-stop")
	b.until(`!document.body.innerText.includes("All disruption is stopped")`)
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(stop), stop); !apierrors.IsNotFound(err) {
		t.Errorf("the stop exists: %v", err)
	}
	if text := log.String(); !strings.Contains(text, "kubectl machine stop --message 'storage ") || !strings.Contains(text, "kubectl machine resume") {
		t.Errorf("the log is %q", text)
	}
	if evaluate[bool](b, "'attacked' in window") {
		t.Error("a text ran as a script")
	}
	b.calm()
}

// pod is a pod of a controller on a node, whose deletion waits for no kubelet.
func (w *world) pod(name, node string) {
	w.t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: w.meta("owner-of-" + name)}
	w.create(owner)
	p := &corev1.Pod{ObjectMeta: w.meta(name), Spec: corev1.PodSpec{NodeName: node, TerminationGracePeriodSeconds: ptr.To[int64](0), Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
	p.Labels = map[string]string{"app": name}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: ptr.To(true)}}
	w.create(p)
	w.say(p, `{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`)
}

// TestDrainView: the drain of a node is planned, confirmed and followed pod by pod, waits for the budget of a pod, and is undone.
func TestDrainView(t *testing.T) {
	w := newWorld(t)
	w.broken()
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "default"}})
	node := w.namespace + "-n"
	w.pod("web", node)
	w.pod("held", node)
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: w.meta("held"), Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "held"}}}}
	w.create(pdb)
	w.say(pdb, `{"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":1,"expectedPods":1}`)
	b := openBrowser(t)
	log := w.acting(b)
	b.visit("#/object/machine.openshift.io/Machine/" + w.namespace + "/mill-good")
	b.awaits("Drain its node", "Node "+node, "A drain would not finish now", w.namespace+"/held", "0 of 1, 1 needed", "kubectl get pods -n "+w.namespace+" -l 'app=held'")
	b.picture("verdict")
	b.press("Drain its node …")
	b.awaits("kubectl drain "+node+" --ignore-daemonsets --delete-emptydir-data", "Drain of node "+node, "drains 2 pods", "allows no disruption now")
	b.picture("drain-plan")
	b.press("Drain its node: Machine mill-good")
	b.awaits("1 of 2 pods have left", "DisruptionBudget", "cordoned", "End the drain and uncordon")
	b.picture("drain")
	for _, scheme := range []string{"dark", "light"} {
		b.scheme(scheme)
		b.accessible(scheme + ", a drain")
	}
	b.fits("a drain")
	if err := w.Delete(t.Context(), pdb); err != nil {
		t.Fatal(err)
	}
	b.awaits("2 of 2 pods have left", "Done: 2 pods have left the node", "Uncordon its node")
	b.press("Uncordon its node …")
	b.awaits("spec.unschedulable: true → false")
	b.press("Uncordon its node: Machine mill-good")
	b.awaits("The API server has accepted: Uncordon its node")
	n := &corev1.Node{}
	if err := w.Get(t.Context(), client.ObjectKey{Name: node}, n); err != nil || n.Spec.Unschedulable {
		t.Errorf("%v, cordoned %v", err, n.Spec.Unschedulable)
	}
	if text := log.String(); strings.Count(text, "kubectl drain "+node) != 2 || !strings.Contains(text, "begun") || !strings.Contains(text, "done, 2 pods") {
		t.Errorf("the log is %q", text)
	}
	b.calm()
}

// TestScaleView: a set is scaled by keyboard.
func TestScaleView(t *testing.T) {
	w := newWorld(t)
	set := w.set("mill", 2)
	b := openBrowser(t)
	w.acting(b)
	b.visit("#/object/machine.openshift.io/MachineSet/" + w.namespace + "/mill")
	b.awaits("Scale …")
	b.tabTo(`e.labels?.[0]?.textContent.startsWith("Scale: number of machines")`)
	do(b, chromedp.KeyEvent("5"))
	b.until(`document.activeElement.value.includes("5")`)
	evaluate[any](b, `document.activeElement.select()`)
	do(b, chromedp.KeyEvent("4"))
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits("--current-replicas=2 --replicas=4", "create 4 machines")
	b.press("Scale: MachineSet mill")
	b.awaits("The API server has accepted: Scale: MachineSet mill")
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil || *set.Spec.Replicas != 4 {
		t.Errorf("%v, %d machines", err, *set.Spec.Replicas)
	}
	b.calm()
}
