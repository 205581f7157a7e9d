package judge

import (
	"fmt"
	"slices"
	"strconv"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
)

// ClassWritten judges the removal of the finalizer from a class. The pass must know each machine that existed before the
// pass began.
func (j *Judge) ClassWritten(p *Pass, old, now client.Object) {
	held := func(o client.Object) bool {
		return o != nil && slices.Contains(o.GetFinalizers(), j.api(p.By).Finalizer)
	}
	if !held(old) || held(now) {
		return
	}
	for _, o := range j.machines() {
		m, is := o.Object.(*v1alpha1.Machine)
		if is && m.Spec.Class.Name == old.GetName() && j.born(m.UID) <= p.began && !p.By.Late {
			j.Broken(ClassHeld, "class %s, which machine %s uses", old.GetName(), m.Name)
		}
	}
}

// The annotations that an autoscaler reads.
const (
	offeredCPU    = "machine.openshift.io/vCPU"
	offeredMemory = "machine.openshift.io/memoryMb"
)

// withoutSize names a set or deployment without a controller that does not publish the capacity of its machines; empty
// if all publish it. In this world a machine has as many CPUs and MiB as its spec has bytes.
func (j *Judge) withoutSize() string {
	if !j.Sized {
		return ""
	}
	same := func(o client.Object) client.Object { return o }
	sets := allOf(j, func(a API) client.Object { return a.Set }, same)
	for _, o := range append(sets, allOf(j, func(a API) client.Object { return a.Deployment }, same)...) {
		var spec machinev1.MachineSpec
		switch o := o.(type) {
		case *machinev1.MachineSet:
			spec = o.Spec.Template.Spec
		case *v1beta1.MachineDeployment:
			spec = o.Spec.Template.Spec
		default:
			continue
		}
		want, a := strconv.Itoa(len(spec.ProviderSpec.Value.Raw)), o.GetAnnotations()
		if controller(o) == "" && o.GetDeletionTimestamp() == nil && (a[offeredCPU] != want || a[offeredMemory] != want) {
			return fmt.Sprintf("%s says that its machines have %q CPUs and %q MiB, and not %s", o.GetName(), a[offeredCPU], a[offeredMemory], want)
		}
	}
	return ""
}
