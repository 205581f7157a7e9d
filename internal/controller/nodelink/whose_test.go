package nodelink

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// an returns a machine of the name, made at the start, with more on record.
func an(name string, more ...func(*lifecycle.Machine)) lifecycle.Machine {
	m := lifecycle.Machine{UID: "uid-" + name, Namespace: "ns", Name: name, Created: start}
	for _, add := range more {
		add(&m)
	}
	m.Recorded.Provisioned = m.Recorded.ProviderID != "" || len(m.Recorded.Addresses) > 0
	return m
}

func id(id string) func(*lifecycle.Machine) {
	return func(m *lifecycle.Machine) { m.Recorded.ProviderID = id }
}

func at(kind corev1.NodeAddressType, addresses ...string) func(*lifecycle.Machine) {
	return func(m *lifecycle.Machine) {
		for _, a := range addresses {
			m.Recorded.Addresses = append(m.Recorded.Addresses, corev1.NodeAddress{Type: kind, Address: a})
		}
	}
}

func ip(addresses ...string) func(*lifecycle.Machine) { return at(corev1.NodeInternalIP, addresses...) }

// has has the node of the name on record, as it is made by nodeNamed, or with another UID.
func has(name string, uid ...types.UID) func(*lifecycle.Machine) {
	return func(m *lifecycle.Machine) {
		m.Recorded.NodeName, m.Recorded.NodeUID = name, types.UID("uid-"+name)
		if len(uid) > 0 {
			m.Recorded.NodeUID = uid[0]
		}
	}
}

func made(after time.Duration) func(*lifecycle.Machine) {
	return func(m *lifecycle.Machine) { m.Created = start.Add(after) }
}

// nodeNamed joined a minute after the start.
func nodeNamed(name, providerID string, ips ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(start.Add(time.Minute))}}
	n.Spec.ProviderID = providerID
	for _, a := range ips {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return n
}

func changed(n *corev1.Node, change func(*corev1.Node)) *corev1.Node {
	change(n)
	return n
}

type machines = []lifecycle.Machine

type nodes = []*corev1.Node

func TestDecide(t *testing.T) {
	const one, two = "sim:///a/1", "sim:///a/2"
	for _, c := range []struct {
		reason   string
		node     *corev1.Node
		machines machines
		nodes    nodes
		want     string // the machine
		why      Reason
		says     string
	}{
		{"step 2: the provider ID finds the machine", nodeNamed("w", one), machines{an("a", id(one)), an("b", id(two))}, nil, "a", ByProviderID, ""},
		{"step 2: no machine has it, so the internal IP does", nodeNamed("w", "", "10.0.0.1"), machines{an("a", ip("10.0.0.1"))}, nil, "a", ByAddress, ""},
		{"step 2: any internal IP does", nodeNamed("w", "", "10.0.0.9", "10.0.0.2"), machines{an("a", ip("10.0.0.1", "10.0.0.2"))}, nil, "a", ByAddress, ""},
		{"step 2: also of a machine whose actuator records no provider ID", nodeNamed("w", one, "10.0.0.1"), machines{an("a", ip("10.0.0.1"))}, nil, "a", ByAddress, ""},
		{"step 2: and of one whose node does not show it yet", nodeNamed("w", "", "10.0.0.1"), machines{an("a", id(one), ip("10.0.0.1"))}, nil, "a", ByAddress, ""},
		{
			"step 2: the provider ID comes before the address", nodeNamed("w", one, "10.0.0.1"),
			machines{an("a", id(one)), an("b", ip("10.0.0.1"))},
			nil, "a", ByProviderID, "",
		},
		{
			"step 2: several machines with one address are an ambiguity", nodeNamed("w", "", "10.0.0.1"),
			machines{an("b", ip("10.0.0.1")), an("a", ip("10.0.0.1"))},
			nil, "", Ambiguous,
			"expected 1 machine with an internal IP of node w, found 2: ns/a, ns/b",
		},
		{
			"of several with one provider ID the others are copies of the oldest one's manifest", nodeNamed("w", one),
			machines{an("copy", id(one), made(time.Hour)), an("a", id(one))},
			nil, "a", ByProviderID, "",
		},
		{
			"and none of them gets what the oldest has reasons not to be", nodeNamed("w", one),
			machines{an("copy", id(one), made(time.Hour)), an("a", id(one), has("w2"))},
			nodes{nodeNamed("w2", one)},
			"", HasNode, "machine ns/a has node w2",
		},
		{"step 3: nothing is known of the node", nodeNamed("w", one, "10.0.0.1"), machines{an("a", id(two), ip("10.0.0.2"))}, nil, "", NoMachine, "no machine has on record what node w shows"},
		{"step 3: an external address does not count", changed(nodeNamed("w", "", "1.2.3.4"), func(n *corev1.Node) {
			n.Status.Addresses[0].Type = corev1.NodeExternalIP
		}), machines{an("a", at(corev1.NodeExternalIP, "1.2.3.4"))}, nil, "", NoMachine, ""},
		{"an empty address is none", nodeNamed("w", "", ""), machines{an("a", ip(""))}, nil, "", NoMachine, ""},
		{"case is no difference", nodeNamed("w", "SIM:///a/VM-1"), machines{an("a", id("sim:///A/vm-1"))}, nil, "a", ByProviderID, ""},
		{"what may be another spelling needs an address besides", nodeNamed("w", "sim:///zone-b/1"), machines{an("a", id(one))}, nil, "", NoMachine, ""},
		{"and has it", nodeNamed("w", "sim:///zone-b/1", "10.0.0.1"), machines{an("a", id(one), ip("10.0.0.1"))}, nil, "a", ByAddress, ""},
		{
			"an address that another instance had before is not believed", nodeNamed("w", two, "10.0.0.1"),
			machines{an("a", id(one), ip("10.0.0.1"))},
			nil, "", NoMachine, "",
		},
		{
			"a machine without an instance has no node with a provider ID", nodeNamed("w", one),
			machines{an("a", at(corev1.NodeHostName))},
			nil, "", NoMachine, "",
		},
		{"a node that is marked as the other API's is not taken by its address", changed(nodeNamed("w", "", "10.0.0.1"), func(n *corev1.Node) {
			n.Labels = map[string]string{node.MachineNameLabel: "x"}
		}), machines{an("a", ip("10.0.0.1"))}, nil, "", NoMachine, ""},
		{"a mark as another machine's is written over: nodes write it themselves", changed(nodeNamed("w", one), func(n *corev1.Node) {
			n.Annotations = map[string]string{node.MachineAnnotation: "ns/b"}
		}), machines{an("a", id(one)), an("b", id(two))}, nil, "a", ByProviderID, ""},
		{"what is on record stays, though the addresses changed", nodeNamed("w", "", "10.0.0.9"), machines{an("a", ip("10.0.0.1"), has("w"))}, nil, "a", OnRecord, ""},
		{"also by its name alone", nodeNamed("w", ""), machines{an("a", has("w", ""))}, nil, "a", OnRecord, ""},
		{"and where the machine has nothing else on record", nodeNamed("w", one), machines{an("a", has("w"))}, nil, "a", OnRecord, ""},
		{
			"a forged address does not get a linked node to another machine", nodeNamed("w", "", "10.0.0.2"),
			machines{an("a", ip("10.0.0.1"), has("w")), an("b", ip("10.0.0.2"))},
			nil, "a", OnRecord, "",
		},
		{
			"nor does a provider ID, where the node's own machine has none on record", nodeNamed("w", two),
			machines{an("a", ip("10.0.0.1"), has("w")), an("b", id(two))},
			nil, "a", OnRecord, "",
		},
		{
			"a record that the provider ID speaks against was made by an address", nodeNamed("w", two, "10.0.0.1"),
			machines{an("a", id(one), ip("10.0.0.1"), has("w")), an("b", id(two), made(time.Hour))},
			nil, "b", ByProviderID, "",
		},
		{
			"unless the machine knows the host by that name", nodeNamed("w", two, "10.0.0.1"),
			machines{an("a", id(one), ip("10.0.0.1"), at(corev1.NodeHostName, "w"), has("w")), an("b", id(two))},
			nil, "", NameTaken, "machine ns/a has this name on record",
		},
		{
			"of two that have it on record the older has it", nodeNamed("w", one),
			machines{an("b", id(one), has("w"), made(time.Hour)), an("a", id(one), has("w"))},
			nil, "a", OnRecord, "",
		},
		{
			"a forged provider ID does not take the machine from its node", nodeNamed("forger", one),
			machines{an("a", id(one), has("w"))},
			nodes{nodeNamed("w", one)},
			"", HasNode, "machine ns/a has node w, which is there",
		},
		{
			"nor does a forged address", nodeNamed("forger", "", "10.0.0.1"),
			machines{an("a", ip("10.0.0.1"), has("w"))},
			nodes{nodeNamed("w", "", "10.0.0.1")},
			"", HasNode, "machine ns/a has node w",
		},
		{
			"nor while the machine's node is there under a new UID", nodeNamed("forger", one),
			machines{an("a", id(one), has("w", "old"))},
			nodes{nodeNamed("w", one)},
			"", HasNode, "",
		},
		{
			"C12: a node that came back under its name is linked anew", nodeNamed("w", one),
			machines{an("a", id(one), has("w", "old"))},
			nil, "a", ByProviderID, "",
		},
		{
			"a node that came back under another name, too, once the old one is gone", nodeNamed("w2", one),
			machines{an("a", id(one), has("w"))},
			nil, "a", ByProviderID, "",
		},
		{
			"or shows that it is another instance's", nodeNamed("w2", one),
			machines{an("a", id(one), has("w"))},
			nodes{nodeNamed("w", two)},
			"a", ByProviderID, "",
		},
		{
			"of an address that was used before, the machine without a node has it now", nodeNamed("w2", "", "10.0.0.1"),
			machines{an("old", ip("10.0.0.1"), has("w")), an("new", ip("10.0.0.1"))},
			nodes{nodeNamed("w", "", "10.0.0.1")},
			"new", ByAddress, "",
		},
		{
			"a node with the name of another machine's is not believed: its name is in its certificate", nodeNamed("w2", one),
			machines{an("a", id(one)), an("b", id(two), at(corev1.NodeInternalDNS, "w2"))},
			nil, "", NameTaken, "machine ns/b has this name on record",
		},
		{
			"nor one with the name of a node that another machine had", nodeNamed("w2", "", "10.0.0.1"),
			machines{an("a", ip("10.0.0.1")), an("b", ip("10.0.0.2"), has("w2", "old"))},
			nil, "", NameTaken, "",
		},
		{
			"but one whose name the machine has as well", nodeNamed("w2", one),
			machines{an("a", id(one), at(corev1.NodeHostName, "w2")), an("b", id(two), has("w2", "old"))},
			nil, "a", ByProviderID, "",
		},
		{
			"of two nodes that show the same none is believed", nodeNamed("w", one),
			machines{an("a", id(one))},
			nodes{nodeNamed("w2", one)},
			"", Ambiguous, "expected 1 node with provider ID sim:///a/1, found 2: w, w2",
		},
		{
			"except that one was there before the machine", nodeNamed("w", one),
			machines{an("a", id(one))},
			nodes{changed(nodeNamed("w2", one), func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(start.Add(-time.Hour)) })},
			"a", ByProviderID, "",
		},
		{
			"and that one is refused", changed(nodeNamed("w2", one), func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(start.Add(-time.Hour)) }),
			machines{an("a", id(one))},
			nodes{nodeNamed("w", one)},
			"", HasNode, "node w is that of machine ns/a",
		},
		{
			"or that one is being deleted", nodeNamed("w", one),
			machines{an("a", id(one))},
			nodes{changed(nodeNamed("w2", one), func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: start} })},
			"a", ByProviderID, "",
		},
		{
			"or that one is another machine's", nodeNamed("w", "", "10.0.0.1"),
			machines{an("a", ip("10.0.0.1")), an("b", ip("10.0.0.2"), has("w2"))},
			nodes{nodeNamed("w2", "", "10.0.0.1")},
			"a", ByAddress, "",
		},
		{
			"or has the name of another machine's", nodeNamed("w", "", "10.0.0.1"),
			machines{an("a", ip("10.0.0.1")), an("b", at(corev1.NodeHostName, "w2"))},
			nodes{nodeNamed("w2", "", "10.0.0.1")},
			"a", ByAddress, "",
		},
		{
			"a node that shows the provider ID comes before one that shows the address", nodeNamed("w", "", "10.0.0.1"),
			machines{an("a", id(one), ip("10.0.0.1"))},
			nodes{nodeNamed("w2", one)},
			"", HasNode, "node w2 is that of machine ns/a",
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := Scene{Node: c.node, Machines: c.machines, Nodes: append(c.nodes, c.node), Mark: node.MachineAnnotation}
			v := Decide(s)
			got := ""
			if v.Machine != nil {
				got = v.Machine.Name
			}
			if got != c.want || v.Reason != c.why || !strings.Contains(v.Message, c.says) {
				t.Errorf("%q, %s: %s\nwant %q, %s: %s", got, v.Reason, v.Message, c.want, c.why, c.says)
			}
			if (v.Machine == nil) != (v.Message != "") {
				t.Errorf("machine %v, message %q", v.Machine, v.Message)
			}
		})
	}
}

// TestProperties: no node is given to a machine that has another one, whatever all of them show; one
// that is on record stays; and the order in which things are listed decides nothing.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SampledFrom([]string{"", "sim:///a/1", "sim:///a/2", "SIM:///b/1"})
		ips := rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3"})
		var s Scene
		s.Mark = node.MachineAnnotation
		for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
			s.Nodes = append(s.Nodes, nodeNamed(fmt.Sprintf("w%d", i), ids.Draw(t, "id"), ips.Draw(t, "ip")))
		}
		s.Node = s.Nodes[0]
		for i := range rapid.IntRange(0, 4).Draw(t, "machines") {
			m := an(fmt.Sprintf("m%d", i), id(ids.Draw(t, "id")), ip(ips.Draw(t, "ip")), made(time.Duration(rapid.IntRange(0, 1).Draw(t, "age"))*time.Hour))
			if rapid.Bool().Draw(t, "linked") {
				has(fmt.Sprintf("w%d", rapid.IntRange(0, 3).Draw(t, "node")))(&m)
			}
			s.Machines = append(s.Machines, m)
		}
		v := Decide(s)
		if v.Machine != nil {
			if has := s.nodeOf(*v.Machine); has != nil && has.Name != s.Node.Name {
				t.Fatalf("%s has node %s and gets %s", v.Machine.Name, has.Name, s.Node.Name)
			}
			if o := s.holder(s.Node); o != nil && o.UID != v.Machine.UID {
				t.Fatalf("%s is on record of %s and goes to %s", s.Node.Name, o.Name, v.Machine.Name)
			}
		}
		other := Scene{Node: s.Node, Mark: s.Mark, Nodes: slices.Clone(s.Nodes), Machines: slices.Clone(s.Machines)}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		r.Shuffle(len(other.Nodes), func(i, j int) { other.Nodes[i], other.Nodes[j] = other.Nodes[j], other.Nodes[i] })
		r.Shuffle(len(other.Machines), func(i, j int) { other.Machines[i], other.Machines[j] = other.Machines[j], other.Machines[i] })
		w := Decide(other)
		if (w.Machine == nil) != (v.Machine == nil) || w.Machine != nil && w.Machine.UID != v.Machine.UID {
			t.Fatalf("%+v in one order, %+v in another", v, w)
		}
	})
}
