package project

import (
	"slices"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// mostCreated is how many new machines of one object are simulated one by one. A mistyped number gets an
// answer at once, which is the same for each of them.
const mostCreated = 200

// sized is the path of the number of machines that an object wants; nil if it has none.
func sized(o client.Object) *int32 {
	switch o := o.(type) {
	case *machinev1.MachineSet:
		return given(&o.Spec.Replicas)
	case *v1beta1.MachineDeployment:
		return given(&o.Spec.Replicas)
	case *v1alpha1.MachineSet:
		return &o.Spec.Replicas
	case *v1alpha1.MachineDeployment:
		return &o.Spec.Replicas
	}
	return nil
}

func given(n **int32) *int32 {
	if *n == nil {
		*n = ptr.To[int32](1)
	}
	return *n
}

// Replicas are how many machines o wants; false if it has no number.
func Replicas(o client.Object) (int, bool) {
	if o == nil {
		return 0, false
	}
	n := sized(o.DeepCopyObject().(client.Object))
	if n == nil {
		return 0, false
	}
	return int(*n), true
}

// bound limits the root to the number of machines that are simulated, and keeps how many it leaves out.
func bound[D, S client.Object](g *group[D, S], root client.Object) {
	if g.has {
		g.root = smaller(g, g.root)
		return
	}
	if i := slices.IndexFunc(g.sets, func(s S) bool { return s.GetUID() == root.GetUID() }); i >= 0 {
		g.sets[i] = smaller(g, g.sets[i])
	}
}

// smaller is a copy of o with at most that number.
func smaller[D, S, O client.Object](g *group[D, S], o O) O {
	after := o.DeepCopyObject().(O)
	n := sized(after)
	if n == nil || int(*n) <= len(g.machines)+mostCreated {
		return o
	}
	if _, held := dialect.ReadGrowthGuard(o).Hold(int(*n), len(g.machines)); held != "" {
		return o // none of them is created
	}
	beyond := int(*n) - len(g.machines) - mostCreated
	*n -= int32(beyond)
	g.w.beyond[o.GetUID()] = beyond
	return after
}
