package machine_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/approval"
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

// TestLatestIsPastTheCache: what a certificate is granted by is the machine itself, also
// where the cache is behind, and no other one of its name.
func TestLatestIsPastTheCache(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { latestIsPastTheCache(openshiftRig(t), gardenerRig(t)) })
	t.Run("gardener", func(t *testing.T) { latestIsPastTheCache(gardenerRig(t), openshiftRig(t)) })
}

func latestIsPastTheCache[M, O client.Object](g *rig[M], other *rig[O]) {
	made := g.read()
	shown := g.approval(made)
	g.settle()
	g.control.stale = made
	latest := func(of approval.Machine) (approval.Machine, bool) {
		m, there, err := g.r.Latest(g.Context(), of)
		if err != nil {
			g.Fatal(err)
		}
		return m, there
	}
	if m, there := latest(shown); !there || shown.Linked || !m.Linked || m.NodeName != "node-1" {
		g.Errorf("there is %v: node %q, linked %v", there, m.NodeName, m.Linked)
	}
	for reason, of := range map[string]approval.Machine{
		"the next of its name":            {UID: "uid-next", Namespace: ns, Name: shown.Name, Ref: shown.Ref},
		"one that is gone":                {UID: shown.UID, Namespace: ns, Name: "m-9", Ref: shown.Ref},
		"one of its name of another API":  other.approval(other.read()),
		"the same UID, but another's API": {UID: shown.UID, Namespace: ns, Name: shown.Name, Ref: other.approval(other.read()).Ref},
	} {
		if m, there := latest(of); there {
			g.Errorf("%s is taken for %+v", reason, m)
		}
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
