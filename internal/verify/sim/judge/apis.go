package judge

import (
	"slices"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// API is one of the APIs in this world.
type API struct {
	// Machine, Set and Deployment are empty objects of the API's kinds.
	Machine, Set, Deployment client.Object
	// Finalizer is the finalizer of machines.
	Finalizer string
	Waits
}

// apiOf returns the machine's API; an empty one if this world does not have it.
func (j *Judge) apiOf(m client.Object) API {
	for _, a := range j.APIs {
		if sameKind(m, a.Machine) {
			return a
		}
	}
	return API{}
}

// api is the author's API.
func (j *Judge) api(by Author) API {
	if by.API >= len(j.APIs) {
		return API{}
	}
	return j.APIs[by.API]
}

// machines returns all machines of all APIs.
func (j *Judge) machines() []machine {
	return allOf(j, func(a API) client.Object { return a.Machine }, readMachine)
}

// sets returns all sets, deployments all deployments.
func (j *Judge) sets() []set { return allOf(j, func(a API) client.Object { return a.Set }, readSet) }

func (j *Judge) deployments() []deployment {
	return allOf(j, func(a API) client.Object { return a.Deployment }, readDeployment)
}

func allOf[T any](j *Judge, kind func(API) client.Object, read func(client.Object) T) (out []T) {
	for _, a := range j.APIs {
		out = append(out, each(j.All(kind(a)), read)...)
	}
	return out
}

// of reports whether o is of a kind of one of the APIs.
func (j *Judge) of(o client.Object, kind func(API) client.Object) bool {
	return slices.ContainsFunc(j.APIs, func(a API) bool { return sameKind(o, kind(a)) })
}

func (j *Judge) isMachine(o client.Object) bool {
	return j.of(o, func(a API) client.Object { return a.Machine })
}

func (j *Judge) isSet(o client.Object) bool {
	return j.of(o, func(a API) client.Object { return a.Set })
}

// heals reports whether the sets of the machine's API replace unhealthy machines without health checks.
func heals(m machine) bool {
	_, gardener := m.Object.(*v1alpha1.Machine)
	return gardener
}

// selectable is an empty machine of the API whose machines c selects: machine.openshift.io, the API of health checks,
// unless an annotation names the other API.
func selectable(c *check) client.Object {
	if c.Annotations[machineAPI] == "" {
		return &machinev1.Machine{}
	}
	return &v1alpha1.Machine{}
}

// looksAfter is an empty machine of the API that the pass works on: the API that a health check selects, or the
// controller's own API.
func (j *Judge) looksAfter(p *Pass) client.Object {
	if c := j.seenCheck(p); c != nil {
		return selectable(c)
	}
	return j.api(p.By).Machine
}

// NodeWritten judges a write to a node by the controllers of one API. They must not write to a node whose instance was
// created for a machine of another API, even if the node has the name of their machine. The provider ID identifies the
// instance.
func (j *Judge) NodeWritten(p *Pass, old *corev1.Node) {
	if len(j.APIs) < 2 || p.By.Role == Nodes || old.Spec.ProviderID == "" {
		return
	}
	for _, o := range j.since(old.UID, p, bySight) {
		if n, ok := o.(*corev1.Node); !ok || n.Spec.ProviderID == "" {
			return // the controller may have matched the node by name
		}
	}
	for _, i := range j.Instances() {
		if i.NodeName != old.Name || !sameID(i.ProviderID, old.Spec.ProviderID) {
			continue
		}
		for _, m := range j.machines() {
			if string(m.GetUID()) == i.UID && !sameKind(m.Object, j.looksAfter(p)) {
				j.Broken(NodesApart, "%s-%d writes to node %s, which belongs to %T %s", p.By.Role, p.By.Process, old.Name, m.Object, m.GetName())
			}
		}
	}
}
