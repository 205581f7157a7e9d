package nodelink

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// Scene has the facts for a decision about which machine a node belongs to.
type Scene struct {
	// Node is the node in question.
	Node *corev1.Node
	// Machines have recorded something that links them to the node, or to one of Nodes.
	Machines []lifecycle.Machine
	// Nodes are others that one of the machines has recorded, or that show its provider ID or one of its
	// internal IPs. The node in question may be among them.
	Nodes []*corev1.Node
	// Mark is the key under which nodes name machines of this API.
	Mark string
}

// Reason says by which field a node is a machine's, or why it belongs to no machine.
type Reason string

// The reasons.
const (
	// OnRecord: the machine has recorded this very node, by its UID.
	OnRecord Reason = "OnRecord"
	// ByProviderID and ByAddress: the node shows the provider ID or address that the machine has recorded.
	ByProviderID Reason = "ByProviderID"
	ByAddress    Reason = "ByAddress"
	// NoMachine: no machine has recorded the provider ID or an address of the node.
	NoMachine Reason = "NoMachine"
	// HasNode: the machine has another node, which exists.
	HasNode Reason = "HasNode"
	// NameTaken: another machine has recorded the node's name.
	NameTaken Reason = "NameTaken"
	// Ambiguous: several machines, or several nodes, have an equal claim.
	Ambiguous Reason = "Ambiguous"
)

// Verdict says which machine a node belongs to.
type Verdict struct {
	// Machine is nil if the node belongs to no machine.
	Machine *lifecycle.Machine
	Reason  Reason
	// Refused are the machines that the node looks like and is not linked to. Message says why, for people.
	Refused []lifecycle.Machine
	Message string
}

// strength is how well the fields of a node agree with a machine's record.
type strength int

const (
	none strength = iota
	byAddress
	byProviderID
)

// Decide decides which machine the node belongs to.
//
// A machine that has recorded the node keeps it, whatever the node says of itself later. Otherwise the node
// belongs to the machine whose provider ID it shows, else to the one whose internal IP it shows (section 5
// of the notes on the original). A kubelet writes both about itself, and its marks, but not its name. So if
// a machine's node exists, it stays the machine's node; a node whose name another machine has recorded is
// refused; and if several nodes show the same provider ID or address, all are refused.
//
// If several machines have the same provider ID, the oldest gets the node: the others are created from
// copies of its manifest. Several machines with the same address are ambiguous.
func Decide(s Scene) Verdict {
	if m := s.holder(s.Node); m != nil {
		return Verdict{Machine: m, Reason: OnRecord}
	}
	claimants, best := s.claimants()
	switch best {
	case none:
		return Verdict{Reason: NoMachine, Message: fmt.Sprintf("no machine has on record what node %s shows", s.Node.Name)}
	case byProviderID:
		first := slices.MinFunc(claimants, older)
		if v := s.objection(first, best); v != nil {
			return *v
		}
		return Verdict{Machine: &first, Reason: ByProviderID}
	}
	return s.byAddress(claimants)
}

// byAddress chooses among machines that have recorded an address of the node. A machine that has another
// node had the address before, or will not have it any more.
func (s Scene) byAddress(claimants []lifecycle.Machine) Verdict {
	var refusal *Verdict
	var able []lifecycle.Machine
	for _, m := range claimants {
		if v := s.objection(m, byAddress); v != nil {
			refusal = v
			continue
		}
		able = append(able, m)
	}
	switch len(able) {
	case 0:
		return *refusal
	case 1:
		return Verdict{Machine: &able[0], Reason: ByAddress}
	}
	keys := make([]string, len(able))
	for i, m := range able {
		keys[i] = key(m)
	}
	slices.Sort(keys)
	return Verdict{Reason: Ambiguous, Refused: able, Message: fmt.Sprintf(
		"expected 1 machine with an internal IP of node %s, found %d: %s", s.Node.Name, len(able), strings.Join(keys, ", "))}
}

// holder is the machine that has recorded this very node; nil if no machine has. A record that contradicts
// the node's provider ID is out of date, or was written before the node showed the ID.
func (s Scene) holder(n *corev1.Node) *lifecycle.Machine {
	var held []lifecycle.Machine
	for _, m := range s.Machines {
		r := m.Recorded
		if r.NodeName == n.Name && (r.NodeUID == n.UID || r.NodeUID == "") && !s.query(m).Anothers(n) {
			held = append(held, m)
		}
	}
	if len(held) == 0 {
		return nil
	}
	first := slices.MinFunc(held, older)
	return &first
}

// claimants are the machines with the best claim to the node.
func (s Scene) claimants() (out []lifecycle.Machine, best strength) {
	for _, m := range s.Machines {
		switch got := s.claim(m, s.Node); {
		case got == none || got < best:
		case got > best:
			best, out = got, []lifecycle.Machine{m}
		default:
			out = append(out, m)
		}
	}
	return out, best
}

// claim is how well the node agrees with the machine's record. If only the scheme and the end of two
// provider IDs agree, they may name one instance; such a pair needs an address as well.
func (s Scene) claim(m lifecycle.Machine, n *corev1.Node) strength {
	switch id := m.Recorded.ProviderID; {
	case s.query(m).Anothers(n):
		return none
	case id != "" && strings.EqualFold(id, n.Spec.ProviderID):
		return byProviderID
	case slices.ContainsFunc(addressesOf(n), func(ip string) bool { return slices.Contains(internalIPs(m.Recorded.Addresses), ip) }):
		return byAddress
	}
	return none
}

// query has the known facts about the node of the machine. Marks of other machines of this API do not
// count: the node writes them itself.
func (s Scene) query(m lifecycle.Machine) node.Query {
	return node.Query{
		Name: m.Recorded.NodeName, ProviderID: m.Recorded.ProviderID, InternalIPs: internalIPs(m.Recorded.Addresses),
		Mark: s.Mark, Created: m.Created, Instance: m.Recorded.Provisioned || m.Recorded.NodeName != "",
		Same: func(a, b string) bool { return strings.EqualFold(a, b) || provider.SameInstance(nil, a, b) },
	}
}

// objection says why the node is not the machine's although it shows the machine's recorded provider ID or
// address; nil if there is no objection.
func (s Scene) objection(m lifecycle.Machine, c strength) *Verdict {
	refuse := func(why Reason, message string, args ...any) *Verdict {
		return &Verdict{Reason: why, Refused: []lifecycle.Machine{m}, Message: fmt.Sprintf("node %s is not linked: ", s.Node.Name) + fmt.Sprintf(message, args...)}
	}
	if has := s.nodeOf(m); has != nil && has.Name != s.Node.Name {
		return refuse(HasNode, "machine %s has node %s, which is there", key(m), has.Name)
	}
	if o := s.named(m, s.Node); o != nil {
		return refuse(NameTaken, "machine %s has this name on record", key(*o))
	}
	what := "internal IP " + strings.Join(internalIPs(m.Recorded.Addresses), " or ")
	if c == byProviderID {
		what = "provider ID " + m.Recorded.ProviderID
	}
	switch one, err := s.query(m).Only(s.rivals(m, c), what); {
	case err != nil:
		return refuse(Ambiguous, "%s", err)
	case one.Name != s.Node.Name:
		return refuse(HasNode, "node %s is that of machine %s", one.Name, key(m))
	}
	return nil
}

// nodeOf is the node that the machine has recorded, if that node exists and does not contradict the record;
// else nil.
func (s Scene) nodeOf(m lifecycle.Machine) *corev1.Node {
	for _, n := range append(slices.Clone(s.Nodes), s.Node) {
		if n.Name == m.Recorded.NodeName && !s.query(m).Anothers(n) {
			return n
		}
	}
	return nil
}

// named is another machine that has recorded the name of the node, while m has not. A machine that recorded
// this very node before the node showed another machine's provider ID has the name only from that record,
// and does not count.
func (s Scene) named(m lifecycle.Machine, n *corev1.Node) *lifecycle.Machine {
	if slices.Contains(names(m), n.Name) {
		return nil
	}
	for _, o := range s.Machines {
		has := slices.Contains(hostNames(o), n.Name) || o.Recorded.NodeName == n.Name && (o.Recorded.NodeUID != n.UID || !s.query(o).Anothers(n))
		if has && o.UID != m.UID {
			return &o
		}
	}
	return nil
}

// rivals are the nodes whose claim to the machine equals c, the node in question included; if some have a
// better claim, only those. Nodes of other machines and nodes under deletion are left out.
func (s Scene) rivals(m lifecycle.Machine, c strength) (out []corev1.Node) {
	out = []corev1.Node{*s.Node}
	for _, n := range s.Nodes {
		if n.Name == s.Node.Name || n.DeletionTimestamp != nil || s.named(m, n) != nil {
			continue
		}
		if o := s.holder(n); o != nil && o.UID != m.UID {
			continue
		}
		switch got := s.claim(m, n); {
		case got > c:
			c, out = got, []corev1.Node{*n}
		case got == c:
			out = append(out, *n)
		}
	}
	return out
}

// older orders machines by their age; of two of the same age the one with the lower UID comes
// first, as with [lifecycle.ClaimantOf].
func older(a, b lifecycle.Machine) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID))
}

func key(m lifecycle.Machine) string { return m.Namespace + "/" + m.Name }

// names are the recorded names of the machine's node: those of its host, and that of its former node.
func names(m lifecycle.Machine) []string {
	if m.Recorded.NodeName == "" {
		return hostNames(m)
	}
	return append(hostNames(m), m.Recorded.NodeName)
}

func hostNames(m lifecycle.Machine) (out []string) {
	for _, a := range m.Recorded.Addresses {
		if a.Type == corev1.NodeInternalDNS || a.Type == corev1.NodeHostName {
			out = append(out, a.Address)
		}
	}
	return out
}

func addressesOf(n *corev1.Node) []string { return internalIPs(n.Status.Addresses) }

func internalIPs(addresses []corev1.NodeAddress) (out []string) {
	for _, a := range addresses {
		if a.Type == corev1.NodeInternalIP && a.Address != "" {
			out = append(out, a.Address)
		}
	}
	return out
}
