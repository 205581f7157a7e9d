package ui_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
)

// attack is a text that runs a script where a page shows it as HTML.
const attack = `<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>`

// world is a namespace with machines of both APIs, whose texts other people wrote.
type world struct {
	t *testing.T
	client.Client
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	env := devplanetest.Start(t)
	c, err := client.New(env.Config, client.Options{Scheme: connect.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, c, devplanetest.Namespace(t)}
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) say(o client.Object, status string) {
	w.t.Helper()
	if err := w.Status().Patch(w.t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(`{"status":`+status+`}`))); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{"pool": "a"}}
}

func (w *world) set(name string, replicas int32) *machinev1.MachineSet {
	s := &machinev1.MachineSet{ObjectMeta: w.meta(name), Spec: machinev1.MachineSetSpec{
		Replicas: ptr.To(replicas), Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": name}},
		Template: machinev1.MachineTemplateSpec{ObjectMeta: machinev1.ObjectMeta{Labels: map[string]string{"pool": name}}},
	}}
	w.create(s)
	return s
}

func (w *world) machine(name string, owner *machinev1.MachineSet, zone, status string) *machinev1.Machine {
	m := &machinev1.Machine{ObjectMeta: w.meta(name)}
	m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"kind":"KubemarkMachineProviderSpec"}`)}
	m.Labels["machine.openshift.io/zone"], m.Labels[machinev1.MachineClusterIDLabel] = zone, "blue"
	m.Spec.ProviderID = ptr.To("aws:///" + zone + "/i-" + name)
	m.OwnerReferences = []metav1.OwnerReference{{APIVersion: machinev1.GroupVersion.String(), Kind: "MachineSet", Name: owner.Name, UID: owner.UID, Controller: ptr.To(true)}}
	w.create(m)
	w.say(m, status)
	return m
}

func quoted(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

// broken fills the namespace: a healthy machine, failed ones of both APIs with hostile texts, an event, a node.
func (w *world) broken() (failed *machinev1.Machine) {
	w.t.Helper()
	set := w.set("mill", 3)
	w.say(set, `{"replicas":2,"readyReplicas":1,"availableReplicas":1,"fullyLabeledReplicas":2}`)
	name := w.namespace + "-n"
	w.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: "zone-b"}}})
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.t.Cleanup(func() { _ = w.Delete(w.t.Context(), node) })
	w.say(node, `{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","message":`+quoted(attack)+`}]}`)
	w.machine("mill-good", set, "zone-b", `{"phase":"Running","nodeRef":{"kind":"Node","name":"`+name+`"}}`)
	failed = w.machine("mill-bad", set, "zone-c", `{"phase":"Failed","errorReason":"InvalidConfiguration","errorMessage":`+quoted("no such subnet "+attack)+`}`)
	w.create(&corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "told"}, Reason: "FailedCreate", Message: "event " + attack, Type: corev1.EventTypeWarning,
		InvolvedObject: corev1.ObjectReference{Kind: "Machine", Namespace: w.namespace, Name: failed.Name, UID: failed.UID}, FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(),
	})
	g := &v1alpha1.Machine{ObjectMeta: w.meta("pool-x"), Spec: v1alpha1.MachineSpec{Class: v1alpha1.ClassSpec{Kind: "MachineClass", Name: "pool"}}}
	w.create(g)
	w.say(g, `{"currentStatus":{"phase":"Failed","lastUpdateTime":null},"lastOperation":{"description":`+quoted("refused "+attack)+`,"state":"Failed","type":"Create","lastUpdateTime":null}}`)
	return failed
}

// TestPage follows a user: in by the address, what is wrong, one machine, live changes, filters in the address.
func TestPage(t *testing.T) {
	w := newWorld(t)
	failed := w.broken()
	address := serve(t, w.namespace)
	b := openBrowser(t)
	do(b, chromedp.Navigate(address))
	b.awaits("Wrong now", "mill-bad", "pool-x", "mill-good", "no such subnet")
	if at := evaluate[string](b, "location.href"); strings.Contains(at, "code") {
		t.Errorf("the code is still in the address: %s", at)
	}
	b.picture("fleet")

	b.visit("#/?q=zone:zone-b")
	b.awaits("1 of 3")
	b.visit("#/?states=Failed")
	b.awaits("2 of 3")
	b.visit("#/")

	do(b, chromedp.Click(`//main//a[contains(., "mill-bad")]`))
	b.awaits("Life", "event <img", "YAML", "no such subnet <img")
	b.picture("machine")
	w.say(failed, `{"errorMessage":"the subnet was deleted"}`)
	b.awaits("the subnet was deleted")
	b.visit(evaluate[string](b, "location.hash") + "?beside=" + url.QueryEscape("machine.openshift.io/"+w.namespace+"/mill-good"))
	b.awaits("Machine mill-good", "Ready True")

	b.visit("#/")
	b.awaits("Wrong now")
	if err := w.Delete(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
	b.until(`!document.body.innerText.includes("mill-bad")`)
	if evaluate[bool](b, "'attacked' in window") {
		t.Error("a text of an object ran as a script")
	}
	b.calm()
}

// TestPageByKeyboardAndOnAPhone: links are reached by Tab, and nothing is wider than the screen.
func TestPageByKeyboardAndOnAPhone(t *testing.T) {
	w := newWorld(t)
	views := w.views()
	address := serve(t, w.namespace)
	b := openBrowser(t)
	do(b, chromedp.Navigate(address))
	b.awaits("mill-bad")
	b.tabTo(`e.textContent.includes("mill-bad")`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits("← fleet", "YAML")
	for i, v := range views {
		for _, pixels := range []int64{390, 1280} {
			b.width(pixels)
			b.visit(v.hash)
			b.awaits(v.text)
			if wide := evaluate[int64](b, "document.documentElement.scrollWidth"); wide > pixels {
				t.Errorf("%s is %d pixels wide on a screen of %d", v.hash, wide, pixels)
			}
			b.picture(fmt.Sprintf("view%d-%d", i, pixels))
		}
	}
	b.calm()
}

// violation is a finding of axe.
type violation struct {
	ID, Help string
	Nodes    []struct{ HTML string }
}

// accessible fails the test if axe finds that the page cannot be used by all. AXE is the file axe.min.js of axe-core.
func (b *browser) accessible(where string) {
	b.t.Helper()
	file := os.Getenv("AXE")
	if file == "" {
		b.t.Skip("AXE names no file: make test-ui sets it")
	}
	if !evaluate[bool](b, "'axe' in window") {
		axe, err := os.ReadFile(file)
		if err != nil {
			b.t.Fatal(err)
		}
		evaluate[any](b, string(axe)+"; 0")
	}
	found := evaluate[[]violation](b, `axe.run({runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}).then(r => r.violations.map(v => ({ID: v.id, Help: v.help, Nodes: v.nodes.map(n => ({HTML: n.html}))})))`)
	for _, v := range found {
		b.t.Errorf("%s: %s: %s (%d times), as in %s", where, v.ID, v.Help, len(v.Nodes), v.Nodes[0].HTML)
	}
}

// TestPageIsAccessible asks axe, in light and dark and on both widths, about all pages.
func TestPageIsAccessible(t *testing.T) {
	w := newWorld(t)
	views := w.views()
	address := serve(t, w.namespace)
	b := openBrowser(t)
	do(b, chromedp.Navigate(address))
	b.awaits("mill-bad")
	for i, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.width([]int64{1280, 390}[i])
		for _, v := range views {
			b.visit(v.hash)
			b.awaits(v.text)
			b.accessible(scheme + ", " + v.hash)
		}
		b.picture(scheme)
	}
}
