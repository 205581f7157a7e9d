package gardener_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	lens "github.com/millwright-dev/millwright/internal/dialect/dialecttest"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// keepers are a set and its machines, each looked after by its own controller.
type keepers struct {
	*testing.T
	set      *v1alpha1.MachineSet
	machines []*v1alpha1.Machine
	now      time.Time
}

func newKeepers(t *testing.T, failed ...string) *keepers {
	k := &keepers{T: t, set: &v1alpha1.MachineSet{}, now: lens.Now}
	k.set.Spec.Replicas = int32(len(failed))
	k.set.Spec.AutoPreserveFailedMachineMax = 1
	k.set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	k.set.Spec.Template.Labels = map[string]string{"a": "b"}
	k.set.Spec.Template.Spec.Class = v1alpha1.ClassSpec{Kind: "MachineClass", Name: "pool-a"}
	for i, name := range failed {
		m := preservedMachine()
		m.Name, m.UID, m.Annotations = name, types.UID("uid-"+name), nil
		m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(k.set, gardener.Sets{}.Traits().Kind)}
		m.CreationTimestamp = metav1.NewTime(lens.Now.Add(time.Duration(i-10) * time.Hour))
		m.Status.CurrentStatus = v1alpha1.CurrentStatus{Phase: v1alpha1.MachineFailed, LastUpdateTime: metav1.NewTime(lens.Now)}
		k.machines = append(k.machines, m)
	}
	return k
}

// setPass is one pass of the set: it chooses whom to keep, and names those that
// it deletes for having failed.
func (k *keepers) setPass() (deleted []string) {
	view := func() (out []replicas.Member) {
		for _, m := range k.machines {
			out = append(out, gardener.Sets{}.Member(k.set, m, nil))
		}
		return out
	}
	set := gardener.Sets{}.View(k.set).Set
	for _, c := range replicas.AutoKeep(set, view()) {
		i := slices.IndexFunc(k.machines, func(m *v1alpha1.Machine) bool { return m.Name == c.Name })
		gardener.Sets{}.PreserveMachine(k.machines[i], c.Keep)
	}
	for _, v := range replicas.Decide(k.now, set, view(), gardener.Sets{}.View(k.set).Policy).Delete {
		deleted = append(deleted, v.Name)
		k.machines = slices.DeleteFunc(k.machines, func(m *v1alpha1.Machine) bool { return m.Name == v.Name })
		k.set.Spec.Replicas-- // the test is not about replacements
	}
	return deleted
}

// machinesPass is one pass of each machine, whose node is silent.
func (k *keepers) machinesPass() {
	for _, m := range k.machines {
		w := lens.World(lens.Instance("Running"), lens.Node("Unknown"))
		o := lifecycle.Outcome{World: w, At: k.now}
		o.Decision = lifecycle.DecideLife(k.now, machines.View(m), w, machines.Policy(m))
		o.Preserve = lifecycle.Preserve(k.now, machines.View(m), w, machines.Policy(m))
		machines.Record(m, o)
	}
}

func (k *keepers) want(when string, got []string, want ...string) {
	k.Helper()
	if !slices.Equal(got, want) {
		k.Fatalf("%s: deleted %q, want %q", when, got, want)
	}
}

// TestAutoPreserve: T34. Of two that failed one is kept, the newer; lowering the
// bound lets it go; and so does the end of its time, for good.
func TestAutoPreserve(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(*keepers)
	}{
		{"lowered", func(k *keepers) {
			k.set.Spec.AutoPreserveFailedMachineMax = 0
			k.want("the bound is lowered, the machine has not heard of it", k.setPass())
			k.machinesPass()
		}},
		{"expired", func(k *keepers) {
			k.now = k.now.Add(96 * time.Hour)
			k.machinesPass()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := newKeepers(t, "older", "newer")
			k.want("both failed", k.setPass(), "older")
			for range 3 {
				k.machinesPass()
				k.want("kept", k.setPass())
				k.now = k.now.Add(time.Hour)
			}
			if m := k.machines[0]; m.Annotations[preserve] != "auto-preserved" || m.Status.CurrentStatus.PreserveExpiryTime == nil {
				t.Fatalf("annotations %v, until %v", m.Annotations, m.Status.CurrentStatus.PreserveExpiryTime)
			}
			tc.end(k)
			k.want("let go", k.setPass(), "newer")
		})
	}
}

// TestExplicitWishNeedsNoBound: what a person asks for does not count against
// the set's own choice.
func TestExplicitWishNeedsNoBound(t *testing.T) {
	k := newKeepers(t, "a", "b", "c")
	k.machines[0].Annotations = map[string]string{preserve: "when-failed"}
	k.machines[1].Annotations = map[string]string{preserve: "false"}
	k.want("one is asked for, one is not to be kept, one is chosen", k.setPass(), "b")
	k.machinesPass()
	k.want("and both stay", k.setPass())
}
