package controlplanemachineset

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/engine/controlplane"
)

func (s *stage) want(about, want string) {
	s.Helper()
	if got := s.text(); got != want {
		s.Fatalf("%s: %s\nwant %s", about, got, want)
	}
}

func (s *stage) conditions(about, available, degraded, progressing string) {
	s.Helper()
	for kind, want := range map[string]string{controlplane.Available: available, controlplane.Degraded: degraded, controlplane.Progressing: progressing} {
		if got := s.condition(kind); got != want {
			s.Errorf("%s: %s is %q, want %q", about, kind, got, want)
		}
	}
}

// TestRollingUpdate: the controller replaces one machine after the other, and waits while a hook holds the old one.
func TestRollingUpdate(t *testing.T) {
	s := newStage(t)
	s.masters("a", "b", "c")
	s.set(nil)
	s.settle(nil)
	s.want("at rest", "0 m5 a, 1 m5 b, 2 m5 c")
	s.conditions("at rest", "True AllReplicasAvailable", "False AsExpected", "False AllReplicasUpdated")
	if len(s.created) > 0 {
		t.Fatalf("created %v", s.created)
	}
	for _, m := range s.machines() {
		if owner := metav1.GetControllerOf(&m); owner == nil || owner.UID != s.read().UID {
			t.Errorf("machine %s is not adopted: %v", m.Name, owner)
		}
		before := m.DeepCopy()
		m.Spec.LifecycleHooks.PreDrain = []machinev1beta1.LifecycleHook{{Name: "EtcdQuorumOperator", Owner: "clusteroperator/etcd"}}
		s.must(s.Patch(t.Context(), &m, client.MergeFrom(before)))
	}

	s.edit(instance("m6"))
	s.pass()
	s.want("the replacement exists", "0 m5 a, 0 m6 a, 1 m5 b, 2 m5 c")
	s.pass()
	s.want("the replacement is not ready", "0 m5 a, 0 m6 a, 1 m5 b, 2 m5 c")
	s.settle(nil)
	s.want("etcd holds the old machine", "0 m5 a deleting, 0 m6 a, 1 m5 b, 2 m5 c")
	s.conditions("etcd holds the old machine", "True AllReplicasAvailable", "False AsExpected", "True NeedsUpdateReplicas")
	s.release("old-master-0")
	s.settle(nil)
	s.want("the next one", "0 m6 a, 1 m5 b deleting, 1 m6 b, 2 m5 c")
	s.release("old-master-1", "old-master-2")
	s.settle(nil)
	s.want("done", "0 m6 a, 1 m6 b, 2 m6 c")
	s.conditions("done", "True AllReplicasAvailable", "False AsExpected", "False AllReplicasUpdated")
	if len(s.created) != 3 || len(s.deleted) != 3 {
		t.Errorf("created %v, deleted %v", s.created, s.deleted)
	}
	s.created[0] = strings.Replace(s.created[0], s.created[0][len("c1-master-"):len("c1-master-")+5], "xxxxx", 1)
	if s.created[0] != "c1-master-xxxxx-0" {
		t.Errorf("the name is %s", s.created[0])
	}
	m := s.machines()[0]
	if !strings.Contains(string(m.Spec.ProviderSpec.Value.Raw), `"later":{"kept":true}`) || m.Annotations["note"] != "kept" || m.Labels[machinev1beta1.MachineClusterIDLabel] != cluster {
		t.Errorf("the new machine has %s, %v, %v", m.Spec.ProviderSpec.Value.Raw, m.Annotations, m.Labels)
	}
	if got := len(s.events.Events); got != 6 {
		t.Errorf("%d events", got)
	}
}

// release removes the hooks of machines, as etcd's operator does.
func (s *stage) release(names ...string) {
	s.Helper()
	for _, name := range names {
		m := &machinev1beta1.Machine{}
		s.must(s.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, m))
		before := m.DeepCopy()
		m.Spec.LifecycleHooks.PreDrain = nil
		s.must(s.Patch(s.Context(), m, client.MergeFrom(before)))
	}
}

// TestKilledAtEachWrite: of three attempts of a write, one does not reach the API server, one is carried out without a reply, and one succeeds. After each lost one,
// another process continues. No index gets a second replacement, and no machine is deleted before its replacement is ready.
func TestKilledAtEachWrite(t *testing.T) {
	for offset := range 3 {
		s := newStage(t)
		writes, kills := 0, 0
		s.fate = func() fate {
			writes++
			f := []fate{lostReply, lostRequest, carriedOut}[(writes+offset)%3]
			if f != carriedOut {
				kills++
			}
			return f
		}
		s.masters("a", "b", "c")
		s.set(instance("m6"))
		for range 150 {
			s.pass()
			s.onePerIndex()
			s.live(nil)
		}
		s.want("done", "0 m6 a, 1 m6 b, 2 m6 c")
		if len(s.created) != 3 || len(s.deleted) < 3 || kills < 10 {
			t.Errorf("created %v, deleted %v, killed %d times in %d writes", s.created, s.deleted, kills, writes)
		}
		s.clean()
	}
}

// TestLateCreation: the process is killed while its request is on the way. The request reaches the API server after another process has listed the machines: it creates no second machine.
func TestLateCreation(t *testing.T) {
	s := newStage(t)
	s.masters("a", "b")
	s.set(nil)
	s.delays = true
	s.pass()
	s.want("the request is on the way", "0 m5 a, 1 m5 b")
	s.pass()
	s.want("it has arrived", "0 m5 a, 1 m5 b, 2 m5 c")
	s.settle(nil)
	s.want("no second one", "0 m5 a, 1 m5 b, 2 m5 c")
	if len(s.created) != 1 || s.late != nil {
		t.Errorf("created %v", s.created)
	}

	// A later machine of the index has another name.
	m := s.machines()[2]
	s.must(s.Delete(t.Context(), &m))
	s.settle(nil)
	if len(s.created) != 2 || s.created[0] == s.created[1] {
		t.Errorf("created %v", s.created)
	}
}

// TestNameInUse: if a machine of another owner has the name, the next name is tried.
func TestNameInUse(t *testing.T) {
	s := newStage(t)
	s.masters("a", "b")
	set := s.set(nil)
	s.delays = true // so that the status is stored
	s.pass()
	s.late = nil
	s.must(s.Get(t.Context(), client.ObjectKeyFromObject(set), set))
	for attempt := range 2 {
		other := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "c1-master-" + suffix(set, 2, attempt) + "-2"}}
		s.must(s.Create(t.Context(), other))
	}
	s.pass()
	if want := "c1-master-" + suffix(set, 2, 2) + "-2"; len(s.created) != 1 || s.created[0] != want {
		t.Errorf("created %v, want %s", s.created, want)
	}
}

// TestOnDelete: the controller replaces only what a user deletes, all of it at once.
func TestOnDelete(t *testing.T) {
	s := newStage(t)
	s.masters("a", "b", "c")
	s.set(onDelete)
	s.edit(instance("m6"))
	s.settle(nil)
	s.want("nothing happens", "0 m5 a, 1 m5 b, 2 m5 c")
	s.conditions("nothing happens", "True AllReplicasAvailable", "False AsExpected", "True NeedsUpdateReplicas")
	for _, m := range s.machines()[:2] {
		s.must(s.Delete(t.Context(), &m))
	}
	s.pass()
	s.want("both are replaced", "0 m5 a deleting, 0 m6 a, 1 m5 b deleting, 1 m6 b, 2 m5 c")
	s.settle(nil)
	s.want("both are replaced", "0 m6 a, 1 m6 b, 2 m5 c")
	if len(s.deleted) > 0 {
		t.Errorf("deleted %v", s.deleted)
	}
}

// TestFailureDomains: without one failure domain, only its index moves; with another one, none does.
func TestFailureDomains(t *testing.T) {
	s := newStage(t)
	s.masters("a", "b", "c")
	s.set(nil)
	domains := func(zones ...string) func(*machinev1.ControlPlaneMachineSet) {
		return func(set *machinev1.ControlPlaneMachineSet) {
			list := []machinev1.AWSFailureDomain{}
			for _, zone := range zones {
				list = append(list, machinev1.AWSFailureDomain{Placement: machinev1.AWSFailureDomainPlacement{AvailabilityZone: zone}})
			}
			set.Spec.Template.OpenShiftMachineV1Beta1Machine.FailureDomains.AWS = &list
		}
	}
	s.edit(domains("d", "c", "b", "a"))
	s.settle(nil)
	s.want("one more", "0 m5 a, 1 m5 b, 2 m5 c")
	s.edit(domains("a", "d", "c"))
	s.settle(nil)
	s.want("without b", "0 m5 a, 1 m5 d, 2 m5 c")
	s.edit(func(set *machinev1.ControlPlaneMachineSet) {
		set.Spec.Template.OpenShiftMachineV1Beta1Machine.FailureDomains = nil
	})
	s.pass()
	s.want("without any, the template as it is", "0 m5 a, 0 m5 , 1 m5 d, 2 m5 c")
}

// TestStops: what stops the controller, and what does not.
func TestStops(t *testing.T) {
	s := newStage(t)
	s.masters("a", "b", "c")
	s.set(instance("m6"))
	s.join("stranger", corev1.ConditionTrue)
	s.pass()
	s.want("a node without a machine", "0 m5 a, 1 m5 b, 2 m5 c")
	s.conditions("a node without a machine", "True AllReplicasAvailable", "True UnmanagedNodes", "False OperatorDegraded")
	s.must(s.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.node("stranger")}}))

	// K2: the node of a machine does not exist. The index is unavailable, and the replacement of another one begins.
	s.must(s.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.node("old-master-2")}}))
	s.pass()
	s.want("K2", "0 m5 a, 0 m6 a, 1 m5 b, 2 m5 c")
	s.conditions("K2", "False UnavailableReplicas", "False AsExpected", "True NeedsUpdateReplicas")

	// K4: a machine has another owner.
	m := s.machines()[0]
	before := m.DeepCopy()
	m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "1", Controller: ptr.To(true)}}
	s.must(s.Patch(t.Context(), &m, client.MergeFrom(before)))
	s.live(func(m machinev1beta1.Machine) bool { return m.Status.NodeRef == nil })
	s.pass()
	s.want("K4", "0 m5 a, 0 m6 a, 1 m5 b, 2 m5 c")
	s.conditions("K4", "False UnavailableReplicas", "True MachinesAlreadyOwned", "True NeedsUpdateReplicas")
}

// TestErrors: a pass that fails changes no machine, and the sixteenth of the same error is a condition.
func TestErrors(t *testing.T) {
	s := newStage(t)
	s.masters("a", "b", "c")
	s.set(instance("m6"))
	s.options.Defaults = func(context.Context) (Filler, error) { return nil, errors.New("webhooks are unknown") }
	s.r = New(s.options)
	for i := range mostErrors {
		if i > 0 && s.condition(controlplane.Error) == "True ContinuousErrors" {
			t.Fatalf("reported after %d passes", i)
		}
		if _, err := s.r.Reconcile(t.Context(), s.request()); err == nil {
			t.Fatal("no error")
		}
	}
	if got := s.condition(controlplane.Error); got != "True ContinuousErrors" {
		t.Errorf("Error is %s", got)
	}
	s.want("nothing happens", "0 m5 a, 1 m5 b, 2 m5 c")
	s.options.Defaults = nil
	s.r.Options = s.options.complete()
	s.pass()
	if got := s.condition(controlplane.Error); got != "False AsExpected" {
		t.Errorf("Error is %s", got)
	}
}

func (s *stage) request() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: s.namespace, Name: Name}}
}

// TestDefaultsAreNoDifference: K1. A template without a field that webhooks fill in differs from no machine that has it.
func TestDefaultsAreNoDifference(t *testing.T) {
	s := newStage(t)
	s.options.Defaults = func(context.Context) (Filler, error) {
		return func(_ configv1.PlatformType, m *machinev1beta1.Machine) ([]byte, error) {
			var spec map[string]any
			if err := json.Unmarshal(m.Spec.ProviderSpec.Value.Raw, &spec); err != nil {
				return nil, err
			}
			if spec["instanceType"] == "" {
				spec["instanceType"] = "m5"
			}
			return json.Marshal(spec)
		}, nil
	}
	s.r = New(s.options)
	s.masters("a", "b", "c")
	s.set(instance(""))
	s.settle(nil)
	s.want("nothing happens", "0 m5 a, 1 m5 b, 2 m5 c")
}

// TestDeletionOfTheSet: all machines stay, without the owner reference, and the set disappears.
func TestDeletionOfTheSet(t *testing.T) {
	s := newStage(t)
	s.masters("a", "b", "c")
	set := s.set(nil)
	s.settle(nil)
	s.must(s.Delete(t.Context(), set))
	s.pass()
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(set), set); !apierrors.IsNotFound(err) {
		t.Errorf("the set: %v, finalizers %v", err, set.Finalizers)
	}
	for _, m := range s.machines() {
		if len(m.OwnerReferences) > 0 || m.DeletionTimestamp != nil {
			t.Errorf("machine %s: %v, deleted %v", m.Name, m.OwnerReferences, m.DeletionTimestamp)
		}
	}
	s.pass() // there is nothing to do
}

// TestRestoredSet: K23. A set that was restored under another UID adopts the machines of the earlier one, and releases them when it is deleted.
func TestRestoredSet(t *testing.T) {
	s := newStage(t)
	s.masters("a", "b", "c")
	set := s.set(nil)
	for _, m := range s.machines() {
		before := m.DeepCopy()
		ref := reference(set)
		ref.UID = "earlier"
		m.OwnerReferences = []metav1.OwnerReference{ref}
		s.must(s.Patch(t.Context(), &m, client.MergeFrom(before)))
	}
	s.settle(nil)
	s.conditions("adopted", "True AllReplicasAvailable", "False AsExpected", "False AllReplicasUpdated")
	for _, m := range s.machines() {
		if len(m.OwnerReferences) != 1 || m.OwnerReferences[0].UID != set.UID {
			t.Errorf("machine %s: %v", m.Name, m.OwnerReferences)
		}
	}
}
