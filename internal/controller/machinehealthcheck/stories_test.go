package machinehealthcheck

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

// A kubelet stops: the machine is watched for the timeout, told of once, and
// deleted at the moment that the timeout has passed.
func TestSilentNodeIsReplaced(t *testing.T) {
	w := newWorld(t, append(pairs("a", "b", "c"), checkOf())...)
	if rest := w.pass(); rest.RequeueAfter != 0 {
		t.Errorf("4.2.11: a healthy fleet is looked at again after %s", rest.RequeueAfter)
	}
	if s := w.status(); *s.ExpectedMachines != 3 || *s.CurrentHealthy != 3 || s.RemediationsAllowed != 3 {
		t.Errorf("4.2.6: %+v", s)
	}
	if n := w.turns("a", "Unknown"); n != 1 {
		t.Fatalf("4.1: %d checks were woken", n)
	}
	if rest := w.pass(); rest.RequeueAfter != 5*time.Minute+time.Second {
		t.Errorf("4.3, row 8: comes again after %s", rest.RequeueAfter)
	}
	if got := w.heard(); !strings.HasPrefix(got, "Normal DetectedUnhealthy/HealthCheck a: Machine openshift-machine-api/check/a/node-a has unhealthy node node-a") {
		t.Errorf("9.3: told %q", got)
	}
	w.step(5 * time.Minute)
	w.wrote()
	w.pass()
	if got := append(w.wrote(), w.told...); got != nil {
		t.Errorf("W5, C11: a look too early did %v", got)
	}
	w.step(time.Second)
	w.pass()
	if got := w.leaving(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("4.5.4: leaving %v", got)
	}
	want := "Normal MachineDeleted/Remediate a: Machine openshift-machine-api/check/a/node-a has been remediated by requesting to delete Machine object"
	if got := w.heard(); got != want {
		t.Errorf("9.3: told %q", got)
	}
	if got := w.wrote(); !slices.Equal(got, []string{"patch check", "delete a", "patch status check"}) {
		t.Errorf("what is begun is remembered before: %v", got)
	}
}

// W10: a heartbeat of a node wakes no check, and costs no write.
func TestHeartbeat(t *testing.T) {
	w := newWorld(t, append(pairs("a"), checkOf())...)
	w.pass()
	w.wrote()
	var n corev1.Node
	w.must(w.Get(t.Context(), client.ObjectKey{Name: "node-a"}, &n))
	after := n.DeepCopy()
	after.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(w.clock.Now())
	if woken := w.r.NodeChanged(&n, after); woken != nil {
		t.Errorf("woke %v", woken)
	}
	w.pass()
	if got := w.wrote(); got != nil {
		t.Errorf("W6: wrote %v", got)
	}
}

// A status that was on its way when a pass found nothing to do is put right.
func TestLateStatus(t *testing.T) {
	w := newWorld(t, append(pairs("a"), checkOf())...)
	w.pass()
	var c lenient.MachineHealthCheck
	w.must(w.Get(t.Context(), request("check").NamespacedName, &c))
	late := c.DeepCopy()
	late.Status.CurrentHealthy = ptr.To[int64](0)
	w.must(w.Status().Update(t.Context(), late))
	if woken := w.r.Wakes(t.Context(), &c, late); len(woken) != 1 || woken[0].After == 0 {
		t.Errorf("woke %v, want itself after a while", woken)
	}
	w.pass()
	if got := ptr.Deref(w.status().CurrentHealthy, -1); got != 1 {
		t.Errorf("%d are healthy, want 1", got)
	}
	w.wrote()
	w.pass()
	if got := w.wrote(); got != nil {
		t.Errorf("W6: wrote %v", got)
	}
}

// Three machines with maxUnhealthy 1: one after the other, and never two.
func TestOneAtATime(t *testing.T) {
	w := newWorld(t, append(pairs("a", "b", "c"), checkOf(func(c *lenient.MachineHealthCheck) {
		c.Spec.MaxUnhealthy = ptr.To(lenient.Amount("1"))
	}))...)
	w.pass()
	w.turns("a", "Unknown")
	w.pass()
	w.step(6 * time.Minute)
	w.pass()
	if got := w.leaving(); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("leaving %v", got)
	}
	w.vanishes("a")
	w.turns("b", "Unknown")
	w.heard()
	w.pass()
	if c := w.condition("RemediationAllowed"); c.Status != "False" || !strings.Contains(c.Message, "(total: 3, unhealthy: 2, maxUnhealthy: 1)") {
		t.Errorf("C10: the one that is gone does not count: %+v", c)
	}
	if got := w.heard(); !strings.Contains(got, "Warning RemediationRestricted/Remediate check: Remediation restricted due to exceeded number of unhealthy machines (total: 3, unhealthy: 2, maxUnhealthy: 1)") {
		t.Errorf("9.3: told %q", got)
	}
	w.step(6 * time.Minute)
	w.pass()
	if got := w.leaving(); got != nil {
		t.Fatalf("C10: leaving %v", got)
	}
	if got := w.heard(); strings.Contains(got, "Restricted") {
		t.Errorf("W5: told again: %s", got)
	}
	// Another leader knows as much.
	again := newWorld(t)
	again.Client, again.r.Client, again.r.Live, again.r.Nodes, again.r.LiveNodes = w.Client, w.Client, w.Client, w.Client, w.Client
	again.clock.SetTime(w.clock.Now())
	again.pass()
	if got := w.leaving(); got != nil {
		t.Fatalf("C10: a new leader deletes %v", got)
	}
	m, n := pair("d")
	m.CreationTimestamp = metav1.NewTime(w.clock.Now())
	w.must(errors.Join(w.Create(t.Context(), m), w.Create(t.Context(), n)))
	w.r.MachineChanged(m)
	w.pass()
	if got := w.leaving(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("replaced: leaving %v, %s", got, w.condition("Calm").Message)
	}
}

// What another process wrote last counts, as does what a process wrote itself
// without learning that it did: the simulator found a storm that went on for ever
// after the reply was lost that it was remembered.
func TestMemoryIsWhatIsStored(t *testing.T) {
	w := newWorld(t, append(pairs("a", "b", "c"), checkOf(func(c *lenient.MachineHealthCheck) {
		c.Spec.MaxUnhealthy = ptr.To(lenient.Amount("1"))
	}))...)
	w.pass()
	w.turns("a", "Unknown")
	w.pass()
	deposed := newWorld(t)
	deposed.Client, deposed.r.Client, deposed.r.Live, deposed.r.Nodes, deposed.r.LiveNodes = w.Client, w.Client, w.Client, w.Client, w.Client
	w.step(6 * time.Minute)
	deposed.clock.SetTime(w.clock.Now())
	deposed.pass()
	if got := w.leaving(); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("leaving %v", got)
	}
	w.vanishes("a")
	w.turns("b", "Unknown")
	w.pass()
	w.step(6 * time.Minute)
	w.pass()
	if got := w.leaving(); got != nil {
		t.Errorf("what the other gave up does not count: leaving %v", got)
	}
}

// vanishes lets a machine go and tells the reconciler.
func (w *world) vanishes(name string) {
	w.t.Helper()
	var m machinev1.Machine
	w.must(w.Get(w.t.Context(), client.ObjectKey{Namespace: ns, Name: name}, &m))
	before := m.DeepCopy()
	m.Finalizers = nil
	w.must(w.Update(w.t.Context(), &m))
	w.r.MachineChanged(before)
}

// C10: a check looks after machines of its own namespace.
func TestNamespacesAreCompared(t *testing.T) {
	w := newWorld(t, append(pairs("a"), checkOf())...)
	w.pass()
	elsewhere, _ := pair("a")
	elsewhere.Namespace, elsewhere.UID = "default", "other"
	if woken := w.r.MachineChanged(elsewhere); woken != nil {
		t.Errorf("a machine of another namespace woke %v", woken)
	}
	here, _ := pair("b")
	if woken := w.r.MachineChanged(here); len(woken) != 1 {
		t.Errorf("one of this namespace woke %v", woken)
	}
}

// C10: a machine under deletion is not counted any more, from the start of its deletion.
func TestDeletedMachinesAreNotCounted(t *testing.T) {
	w := newWorld(t, append(pairs("a", "b"), checkOf())...)
	w.pass()
	m, _ := pair("a")
	w.must(w.Delete(t.Context(), m))
	w.vanishes("a")
	w.pass()
	if s := w.status(); *s.ExpectedMachines != 1 || *s.CurrentHealthy != 1 {
		t.Errorf("expected %d, healthy %d", *s.ExpectedMachines, *s.CurrentHealthy)
	}
}

func TestFailuresAreNotAbsence(t *testing.T) {
	refused := apierrors.NewForbidden(corev1.Resource("nodes"), "node-a", errors.New("no"))
	for _, c := range []struct {
		reason  string
		refuses func(w *world) func(string, client.Object) error
	}{
		{"reading a node is denied", func(*world) func(string, client.Object) error {
			return func(verb string, o client.Object) error {
				if _, ok := o.(*corev1.Node); ok && verb == "get" {
					return refused
				}
				return nil
			}
		}},
		{"storing what is begun fails", func(*world) func(string, client.Object) error {
			return func(verb string, o client.Object) error {
				if verb == "patch" && o.GetName() == "check" {
					return refused
				}
				return nil
			}
		}},
	} {
		_, n := pair("b")
		m, _ := pair("a")
		w := newWorld(t, m, n, checkOf())
		w.refuses = c.refuses(w)
		if _, err := w.r.Reconcile(t.Context(), request("check")); err == nil {
			t.Errorf("%s: no error", c.reason)
		}
		if got := w.leaving(); got != nil {
			t.Errorf("%s: leaving %v", c.reason, got)
		}
		w.refuses = nil
		w.pass()
		if got := w.leaving(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("%s, and then it is not: leaving %v", c.reason, got)
		}
	}
}

func TestCacheWithoutTheNode(t *testing.T) {
	m, n := pair("a")
	w := newWorld(t, m, n, checkOf())
	_, other := pair("b")
	w.r.Nodes = newWorld(t, other).Client
	w.pass()
	if got := w.leaving(); got != nil {
		t.Errorf("4.3, row 6: the node exists, and %v is leaving", got)
	}
}

func TestBlindRemediesNothing(t *testing.T) {
	m, _ := pair("a")
	_, n := pair("b")
	w := newWorld(t, m, n, checkOf())
	w.seen = connectivity.Begin(w.clock.Now(), connectivity.Policy{Timeout: 30 * time.Second, Interval: 10 * time.Second}, connectivity.Target)
	rest := w.pass()
	if got := w.leaving(); got != nil || w.condition("Calm").Reason != "Blind" {
		t.Errorf("leaving %v, %+v", got, w.condition("Calm"))
	}
	w.look(connectivity.Settle)
	if w.pass(); rest.RequeueAfter > connectivity.Settle || rest.RequeueAfter == 0 {
		t.Errorf("comes again after %s", rest.RequeueAfter)
	}
	if got := w.leaving(); !slices.Equal(got, []string{"a"}) || w.condition("Calm").Status != "True" {
		t.Errorf("leaving %v, %+v", got, w.condition("Calm"))
	}
}

// look lets time pass while everything is seen.
func (w *world) look(d time.Duration) {
	for range d / (10 * time.Second) {
		w.seen = w.seen.After(connectivity.Probe{At: w.clock.Now(), Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Target: connectivity.Reachable}})
		w.step(10 * time.Second)
	}
	w.seen = w.seen.After(connectivity.Probe{At: w.clock.Now(), Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Target: connectivity.Reachable}})
}

// C26: a node was silent for long when we started. Its timer begins then, and
// stands still while the API server does not answer.
func TestTimersCountWatchedTime(t *testing.T) {
	m, n := pair("a")
	n.Status.Conditions[0].Status = "Unknown"
	w := newWorld(t, m, n, checkOf())
	w.seen = connectivity.Begin(w.clock.Now(), connectivity.Policy{Timeout: 30 * time.Second, Interval: 10 * time.Second}, connectivity.Target)
	w.look(4 * time.Minute)
	w.pass()
	if got := w.leaving(); got != nil {
		t.Fatalf("watched for 4 minutes: leaving %v", got)
	}
	w.seen = w.seen.After(connectivity.Probe{At: w.clock.Now()})
	w.step(time.Hour)
	w.look(10 * time.Second)
	w.pass()
	if got := w.leaving(); got != nil {
		t.Fatalf("back after an hour without an answer: leaving %v", got)
	}
	w.look(2 * time.Minute)
	w.pass()
	if got := w.leaving(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("watched for more than 5 minutes in all: leaving %v", got)
	}
}

// A storm is reported once, also across processes, with its consequence.
func TestStormIsToldOnce(t *testing.T) {
	for mode, means := range map[string]string{"report": "stops no remedy", "enforce": "left alone"} {
		w := newWorld(t, append(pairs("a", "b", "c", "d"), checkOf(func(c *lenient.MachineHealthCheck) {
			c.Annotations = map[string]string{dialect.BreakerAnnotation: mode}
		}))...)
		w.pass()
		for _, name := range []string{"a", "b", "c", "d"} {
			w.turns(name, "Unknown")
			w.pass()
		}
		w.r.forget(request("check").NamespacedName)
		w.pass()
		got := w.heard()
		if strings.Count(got, "RemediationStorm") != 1 || !strings.Contains(got, "Warning RemediationStorm/Remediate check: 3 of 4 machines of the fleet are sick") || !strings.Contains(got, means) {
			t.Errorf("%s: told %q", mode, got)
		}
	}
}

func TestPausedDoesNothing(t *testing.T) {
	m, _ := pair("a")
	_, n := pair("b")
	c := checkOf(func(c *lenient.MachineHealthCheck) { c.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""} })
	w := newWorld(t, m, n, c)
	w.pass()
	if got := append(w.wrote(), w.told...); got != nil {
		t.Errorf("4.2.2: did %v", got)
	}
}

func TestNobodysMachineIsToldOfOnce(t *testing.T) {
	m, _ := pair("a")
	m.OwnerReferences = nil
	_, n := pair("b")
	w := newWorld(t, m, n, checkOf())
	w.pass()
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(m), m))
	m.Labels["machine.openshift.io/zone"] = "a" // a plan is made again
	w.must(w.Update(t.Context(), m))
	w.r.MachineChanged(m)
	w.pass()
	if got := w.heard(); strings.Count(got, "SkippedNoController/Remediate a: Machine openshift-machine-api/check/a/node-a has no controller owner, skipping remediation") != 1 {
		t.Errorf("4.5.2: told %q", got)
	}
}

func TestMarked(t *testing.T) {
	m, _ := pair("a")
	_, n := pair("b")
	w := newWorld(t, m, n, checkOf(func(c *lenient.MachineHealthCheck) {
		c.Annotations = map[string]string{"machine.openshift.io/remediation-strategy": "external-baremetal"}
	}))
	w.pass()
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(m), m))
	if _, ok := m.Annotations["host.metal3.io/external-remediation"]; !ok || !strings.Contains(w.heard(), "ExternalAnnotationAdded") {
		t.Errorf("4.5.1: %v", m.Annotations)
	}
}

func TestRequests(t *testing.T) {
	template := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "infra.example.com/v1", "kind": "RepairTemplate", "metadata": map[string]any{"name": "repair", "namespace": ns},
		"spec": map[string]any{"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"a": "b"}, "finalizers": []any{"x/y"}, "uid": "z"}, "spec": map[string]any{"strategy": "kick"},
		}},
	}}
	m, _ := pair("a")
	_, other := pair("b")
	w := newWorld(t, m, other, checkOf(func(c *lenient.MachineHealthCheck) {
		c.Spec.RemediationTemplate = &corev1.ObjectReference{APIVersion: "infra.example.com/v1", Kind: "RepairTemplate", Name: "repair"}
	}))
	gvk := template.GroupVersionKind()
	w.Scheme().AddKnownTypeWithName(gvk, &unstructured.Unstructured{})
	gvk.Kind = "Repair"
	w.Scheme().AddKnownTypeWithName(gvk, &unstructured.Unstructured{})
	w.Scheme().AddKnownTypeWithName(gvk.GroupVersion().WithKind("RepairList"), &unstructured.UnstructuredList{})
	if _, err := w.r.Reconcile(t.Context(), request("check")); err == nil {
		t.Error("4.6: a template that is not there is no error")
	}
	if c := w.condition("ExternalRemediationTemplateAvailable"); c.Reason != "ExternalRemediationTemplateNotFound" || c.Severity != "Error" {
		t.Errorf("C11: %+v", c)
	}
	w.must(w.Create(t.Context(), template))
	w.pass()
	got := &unstructured.Unstructured{}
	got.SetGroupVersionKind(gvk)
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(m), got))
	want := map[string]any{
		"apiVersion": "infra.example.com/v1", "kind": "Repair",
		"metadata": map[string]any{
			"name": "a", "namespace": ns, "labels": map[string]any{"a": "b"}, "resourceVersion": "1",
			"annotations":     map[string]any{"machine.openshift.io/cloned-from-name": "repair", "machine.openshift.io/cloned-from-groupkind": "RepairTemplate.infra.example.com"},
			"ownerReferences": []any{map[string]any{"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "name": "a", "uid": "a"}},
		},
		"spec": map[string]any{"strategy": "kick"},
	}
	if d := cmp.Diff(want, got.Object); d != "" {
		t.Errorf("4.6: the request differs:\n%s", d)
	}
	if c := w.condition("ExternalRemediationTemplateAvailable"); c.Status != "True" {
		t.Errorf("C11: %+v", c)
	}
	_, n := pair("a")
	w.must(w.Create(t.Context(), n))
	w.r.NodeChanged(nil, n)
	w.pass()
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(m), got); !apierrors.IsNotFound(err) {
		t.Errorf("4.6: healthy again, and the request is still there: %v", err)
	}
	if w.leaving() != nil {
		t.Error("4.6: was deleted")
	}
}

// C22: an unreadable condition is reported on the check, and causes no remedy.
func TestGarbage(t *testing.T) {
	m, n := pair("a")
	m.Status.NodeRef = nil
	w := newWorld(t, m, n, checkOf(func(c *lenient.MachineHealthCheck) {
		c.Spec.NodeStartupTimeout = ptr.To("0abc")
		c.Annotations = map[string]string{dialect.MachineAPIAnnotation: "machine.example.com"}
	}))
	w.pass()
	if c := w.condition("Valid"); w.leaving() != nil || c.Status != "False" || !strings.Contains(c.Message, "spec.nodeStartupTimeout") || !strings.Contains(c.Message, dialect.MachineAPIAnnotation) {
		t.Errorf("leaving %v, %+v", w.leaving(), c)
	}
}

// The old API: conditions from the ConfigMap, and restarts by annotation.
func TestOldCheck(t *testing.T) {
	c := &v1alpha1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "check", UID: "old"}}
	c.Spec.Selector.MatchLabels = map[string]string{"role": "worker"}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "node-unhealthy-conditions"},
		Data:       map[string]string{"conditions": "items:\n- name: NetworkUnavailable \n  timeout: 5m\n  status: True\n"},
	}
	w := newWorld(t, append(pairs("a", "b"), c)...)
	pass := func() {
		t.Helper()
		_, err := w.old.Reconcile(t.Context(), request("check"))
		w.must(err)
	}
	pass()
	w.turns("a", "Unknown")
	w.must(w.Create(t.Context(), cm))
	if woken := w.old.CommonChanged(cm); len(woken) != 1 {
		t.Errorf("1.7: the ConfigMap woke %v", woken)
	}
	w.step(10 * time.Minute)
	pass()
	if got := w.leaving(); got != nil {
		t.Fatalf("1.7: Ready does not count here: %v", got)
	}
	w.must(w.Delete(t.Context(), cm))
	pass()
	if got := w.leaving(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("1.7: by default it does: %v", got)
	}
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(c), c))
	c.Spec.RemediationStrategy = ptr.To("reboot")
	w.must(w.Update(t.Context(), c))
	w.turns("b", "Unknown")
	w.step(10 * time.Minute)
	pass()
	var n corev1.Node
	w.must(w.Get(t.Context(), client.ObjectKey{Name: "node-b"}, &n))
	if _, ok := n.Annotations[health.RebootAnnotation]; !ok || len(w.leaving()) != 1 {
		t.Errorf("1.7: %v, leaving %v", n.Annotations, w.leaving())
	}
}
