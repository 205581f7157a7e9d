package status

import (
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
)

// Counts are the numbers of machines in the status of a set or deployment. A set does not
// tell how many are Updated. Observed is the generation that they are about.
type Counts struct {
	Have, Ready, Available, Updated int
	Observed                        int64
}

// CountsOf are those of o.
func CountsOf(o client.Object) Counts {
	of := func(have, ready, available, updated int32, observed int64) Counts {
		return Counts{int(have), int(ready), int(available), int(updated), observed}
	}
	switch o := o.(type) {
	case *machinev1.MachineSet:
		return of(o.Status.Replicas, o.Status.ReadyReplicas, o.Status.AvailableReplicas, 0, o.Status.ObservedGeneration)
	case *v1alpha1.MachineSet:
		return of(o.Status.Replicas, o.Status.ReadyReplicas, o.Status.AvailableReplicas, 0, o.Status.ObservedGeneration)
	case *v1beta1.MachineDeployment:
		st := o.Status
		return of(st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas, st.ObservedGeneration)
	case *v1alpha1.MachineDeployment:
		st := o.Status
		return of(st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas, st.ObservedGeneration)
	}
	return Counts{}
}
