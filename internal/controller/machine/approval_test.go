package machine_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/approval"
)

// TestApprovalIsOfThisMachine: a machine was made again under its name, and the worker
// that makes its instance has not come to it. What is known is its predecessor's: a
// certificate for that would be good for addresses of which nobody knows whose they
// will be, and a node of that name could join for a machine that has no instance.
func TestApprovalIsOfThisMachine(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { approvalIsOfThisMachine(openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { approvalIsOfThisMachine(gardenerRig(t)) })
}

func approvalIsOfThisMachine[M client.Object](g *rig[M]) {
	made := g.read().DeepCopyObject().(client.Object)
	g.settle()
	if a := g.approval(g.read()); !a.Names("node-1") || !g.knows(a, "10.0.0.1") {
		g.Fatalf("of the machine itself the approver knows node %q and addresses %v", a.NodeName, a.Addresses)
	}
	made.SetUID("uid-next")
	if a := g.approval(made); a.Names("node-1") || g.knows(a, "10.0.0.1") {
		g.Errorf("of the next machine of the name the approver knows node %q and addresses %v", a.NodeName, a.Addresses)
	}
}

func (g *rig[M]) approval(o client.Object) approval.Machine {
	a, ok := g.r.Approval(o)
	if !ok {
		g.Fatalf("%T is no machine", o)
	}
	return a
}

func (g *rig[M]) knows(m approval.Machine, ip string) bool {
	for _, a := range m.Addresses {
		if a.Type == corev1.NodeInternalIP && a.Address == ip {
			return true
		}
	}
	return false
}
