package machineset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// hold is an annotation of machines whose deletion does not end.
const hold = "held"

// overshoot makes machines by hand that match s and whose deletion is held.
func overshoot(t *testing.T, c *cluster[*v1alpha1.MachineSet], s *v1alpha1.MachineSet, n int) {
	t.Helper()
	for i := range n {
		m := c.lens.NewMachine(s, fmt.Sprintf("%s-hand-%d", s.Name, i))
		m.SetOwnerReferences(nil)
		m.SetAnnotations(map[string]string{hold: ""})
		if err := c.Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
}

// letGo ends the hold of n machines that are being deleted and held.
func letGo(t *testing.T, c *cluster[*v1alpha1.MachineSet], n int) {
	t.Helper()
	var list v1alpha1.MachineList
	if err := c.List(t.Context(), &list, client.InNamespace(c.namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		m := &list.Items[i]
		if _, held := m.Annotations[hold]; !held || m.DeletionTimestamp == nil || n == 0 {
			continue
		}
		n--
		if err := c.Patch(t.Context(), m, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"held":null}}}`))); err != nil {
			t.Fatal(err)
		}
	}
	if n > 0 {
		t.Fatalf("%d machines too few are being deleted", n)
	}
}

// awaitFreeze waits until label and condition agree about s, and that it has
// alive machines that are not being deleted.
func awaitFreeze(t *testing.T, c *cluster[*v1alpha1.MachineSet], s *v1alpha1.MachineSet, message string, alive int) {
	t.Helper()
	eventually(t, func() string {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			return err.Error()
		}
		i := slices.IndexFunc(s.Status.Conditions, func(k v1alpha1.MachineSetCondition) bool { return k.Type == "Frozen" })
		said := ""
		if i >= 0 && s.Status.Conditions[i].Status == "True" && s.Status.Conditions[i].Reason == "OverShootingReplicaCount" {
			said = s.Status.Conditions[i].Message
		}
		label, labelled := s.Labels["freeze"]
		n := 0
		for _, m := range c.machines(t) {
			if metav1.IsControlledBy(m, s) {
				n++
			}
		}
		if said == message && labelled == (message != "") && (label == "True") == labelled && n == alive && s.Status.ObservedGeneration == s.Generation {
			return ""
		}
		return fmt.Sprintf("%s has label %q, conditions %+v and %d machines alive; want %q and %d", s.Name, label, s.Status.Conditions, n, message, alive)
	})
}

// notes are those of the events of a reason about s.
func notes(t *testing.T, c *cluster[*v1alpha1.MachineSet], s *v1alpha1.MachineSet, reason string) (out []string) {
	t.Helper()
	var list corev1.EventList
	if err := c.List(t.Context(), &list, client.InNamespace(c.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.InvolvedObject.UID == s.UID && e.Reason == reason {
			out = append(out, e.Type+" "+e.Message)
		}
	}
	return out
}

// T30: two machines wanted, ten made by hand. The set freezes before it makes
// any, is scaled down to two all the same, thaws for one pass on request, and
// for good when as few are left as may be.
func TestOvershootByHand(t *testing.T) {
	c := startCluster(t, gardenerAPI)
	s := c.set("set-"+c.namespace, 2)
	s.Namespace = c.namespace
	overshoot(t, c, s, 10)
	s = c.declare(t, 2)
	awaitFreeze(t, c, s, "10 machines, and 6 are too many: no more are created until there are 5", 2)
	c.scale(t, s, 4)
	awaitFreeze(t, c, s, "10 machines, and 10 are too many: no more are created until there are 9", 2)
	if got := notes(t, c, s, "SuccessfulCreate"); len(got) > 0 {
		t.Errorf("a frozen set made machines: %q", got)
	}
	unfreeze := `{"metadata":{"annotations":{"safety.machine.sapcloud.io/unfreeze":"True"}}}`
	if err := c.Patch(t.Context(), s, client.RawPatch("application/merge-patch+json", []byte(unfreeze))); err != nil {
		t.Fatal(err)
	}
	// Of 4 wanted ones 10 are too many. Two were made, and now there are 12.
	awaitFreeze(t, c, s, "12 machines, and 10 are too many: no more are created until there are 9", 4)
	if _, asked := s.Annotations["safety.machine.sapcloud.io/unfreeze"]; asked {
		t.Error("the request is still there after it was granted")
	}
	letGo(t, c, 2)
	awaitFreeze(t, c, s, "12 machines, and 10 are too many: no more are created until there are 9", 4)
	letGo(t, c, 1)
	awaitFreeze(t, c, s, "", 4)
	// Events of one reason are a series, of which the first note is kept.
	eventually(t, func() string {
		froze, thawed := notes(t, c, s, "FrozeMachineSet"), notes(t, c, s, "UnfrozeMachineSet")
		if slices.Contains(froze, "Normal 10 machines, and 6 are too many: no more are created until there are 5") &&
			slices.Contains(thawed, "Normal 10 machines, thawed on request") {
			return ""
		}
		return fmt.Sprintf("told %q and %q", froze, thawed)
	})
}

// Each set is judged by itself (C14): neither a deployment without surge, nor
// one whose surge makes no sense, nor a set at fault keeps others from being
// frozen. A deployment that grows thaws its set.
func TestFreezeEachByItself(t *testing.T) {
	c := startCluster(t, gardenerAPI)
	deployment := func(kind, surge string) *v1alpha1.MachineDeployment {
		d := &v1alpha1.MachineDeployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, GenerateName: "fleet-"},
			Spec: v1alpha1.MachineDeploymentSpec{
				Replicas: 4, Selector: &metav1.LabelSelector{MatchLabels: pool},
				Strategy: v1alpha1.MachineDeploymentStrategy{Type: v1alpha1.MachineDeploymentStrategyType(kind)},
			},
		}
		if surge != "" {
			d.Spec.Strategy.RollingUpdate = &v1alpha1.RollingUpdateMachineDeployment{
				UpdateConfiguration: v1alpha1.UpdateConfiguration{MaxSurge: ptr.To(intstr.Parse(surge))},
			}
		}
		if err := c.Create(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	set := func(name string, parent *v1alpha1.MachineDeployment, machines int) *v1alpha1.MachineSet {
		s := c.set(name, 4)
		s.Namespace = c.namespace
		labels := map[string]string{"pool": name}
		s.Spec.Selector.MatchLabels, s.Spec.Template.Labels = labels, labels
		s.Spec.Selector = s.Spec.Selector.DeepCopy()
		if parent != nil {
			s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(parent, v1alpha1.GroupVersion.WithKind("MachineDeployment"))}
		}
		overshoot(t, c, s, machines)
		if strings.HasPrefix(name, "faulty") {
			s.Spec.Template.Spec.Class.Kind = ""
		}
		if err := c.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	all := deployment("Recreate", "")
	faulty := set("faulty", nil, 12)
	recreate := set("recreate", all, 6)
	nonsense := set("nonsense", deployment("RollingUpdate", "many"), 6)
	rolling := set("rolling", deployment("RollingUpdate", "25%"), 6)
	alone := set("alone", nil, 10)

	const six = "6 machines, and 6 are too many: no more are created until there are 5"
	awaitFreeze(t, c, recreate, six, 4)
	awaitFreeze(t, c, nonsense, six, 4)
	awaitFreeze(t, c, rolling, "", 4) // too many would be 4+1+2
	awaitFreeze(t, c, alone, "10 machines, and 10 are too many: no more are created until there are 9", 4)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(faulty), faulty); err != nil || len(faulty.Labels) != 0 {
		t.Errorf("the set at fault is labelled %v (%v)", faulty.Labels, err)
	}
	all.Spec.Replicas = 10
	if err := c.Update(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	awaitFreeze(t, c, recreate, "", 4)
}
