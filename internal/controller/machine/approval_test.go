package machine_test

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/approval"
)

// TestApprovalIsOfThisMachine: a machine was created again under its name, and no worker has created its
// instance yet. The known state is its predecessor's: a certificate for that would be valid for addresses
// of an unknown later owner, and a node of that name could join for a machine that has no instance.
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

// TestApprovalsAreOfTheSubject: a request is judged by the machines that it may be about, also by what was only seen of an
// instance, and by no others of the fleet.
func TestApprovalsAreOfTheSubject(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { approvalsAreOfTheSubject(openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { approvalsAreOfTheSubject(gardenerRig(t)) })
}

func approvalsAreOfTheSubject[M client.Object](g *rig[M]) {
	first := g.read()
	g.settle()
	other := first.DeepCopyObject().(M)
	other.SetName("m-2")
	other.SetUID("uid-2")
	other.SetResourceVersion("")
	if err := g.control.Create(g.Context(), other); err != nil {
		g.Fatal(err)
	}
	for reason, tt := range map[string]struct {
		subject approval.Subject
		want    []string
	}{
		"the node's name":                     {approval.Subject{Node: "node-1"}, []string{"m-1"}},
		"the name as DNS compares it":         {approval.Subject{Node: "NODE-1."}, []string{"m-1"}},
		"a name that no machine has":          {approval.Subject{Node: "node-2"}, nil},
		"the owner of the token":              {approval.Subject{Node: "node-2", Owner: ns + "/m-2"}, []string{"m-2"}},
		"the node's machine, and the token's": {approval.Subject{Node: "node-1", Owner: ns + "/m-2"}, []string{"m-1", "m-2"}},
		"nothing":                             {approval.Subject{}, nil},
	} {
		g.approvals(reason, tt.subject, tt.want...)
	}
	if n, err := g.r.Fleet(g.Context()); n != 2 || err != nil {
		g.Errorf("the fleet has %d machines (%v), want 2", n, err)
	}
	first.SetResourceVersion(g.read().GetResourceVersion())
	seen := client.MergeFrom(g.read()) // from here on the object shows no node, and only the process saw the instance
	if err := errors.Join(g.control.Patch(g.Context(), first.DeepCopyObject().(M), seen), g.control.Status().Patch(g.Context(), first, seen)); err != nil {
		g.Fatal(err)
	}
	g.approvals("what was only seen", approval.Subject{Node: "node-1"}, "m-1")
	g.restart()
	g.approvals("nothing was seen", approval.Subject{Node: "node-1"})
}

func (g *rig[M]) approvals(reason string, s approval.Subject, want ...string) {
	g.Helper()
	all, err := g.r.Approvals(g.Context(), s)
	if err != nil {
		g.Fatal(err)
	}
	var names []string
	for _, m := range all {
		names = append(names, m.Name)
	}
	if !slices.Equal(names, want) {
		g.Errorf("%s: %v, want %v", reason, names, want)
	}
}
