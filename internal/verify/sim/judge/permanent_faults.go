package judge

import (
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// hopeless reports whether o cannot reach the desired state.
func (j *Judge) hopeless(o client.Object) bool { return j.Hopeless != nil && j.Hopeless(o) }

// removing is OpenShift's condition for the removal of the machine's instance.
const removing = "InstanceDeletionStarted"

// Silent reports whether an unhealthy machine does not report the reason. The phase Provisioned says that its node did not
// join. The condition for the removal of an instance has a message only on failure. An object that only foreign
// finalizers hold names the finalizers. A machine that lists further instances beside its recorded one reports the
// reason, too.
func (j *Judge) Silent(o client.Object) bool {
	if j.onlyForeignFinalizersLeft(readMachine(o)) || o.GetAnnotations()[unrecorded] != "" {
		return false
	}
	switch m := o.(type) {
	case *v1alpha1.Machine:
		return m.Status.LastOperation.Description == ""
	case *machinev1.Machine:
		if m.Status.ErrorMessage != nil || readMachine(m).joining {
			return false
		}
		for _, c := range m.Status.Conditions {
			if c.Message != "" && (c.Status != corev1.ConditionTrue || c.Type == removing) {
				return false
			}
		}
	}
	return true
}

// ofHopeless reports whether the instance that registered the node belongs to a machine that cannot reach the desired
// state. A machine that was deleted before its node joined never learns the node's name. Neither does a machine that
// failed before it could see its instance, which may have died since.
func (j *Judge) ofHopeless(n client.Object) bool {
	i, made := j.instanceOfNode(n.(*corev1.Node))
	if !made {
		return false
	}
	m, there := find(j.machines(), types.UID(i.UID))
	return there && (i.Exists(j.Now()) && j.hopeless(m.Object) || m.provider == "" && m.node == "" && j.GivenUp(m.Object))
}
