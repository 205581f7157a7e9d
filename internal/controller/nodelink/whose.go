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

// Scene is what is known when somebody asks whose a node is.
type Scene struct {
	// Node is the node in question.
	Node *corev1.Node
	// Machines have something on record that ties them to the node, or to one of Nodes.
	Machines []lifecycle.Machine
	// Nodes are others that one of the machines has on record, or that show its provider ID
	// or one of its internal IPs. The node in question may be among them.
	Nodes []*corev1.Node
	// Mark is the key under which nodes name machines of this API.
	Mark string
}

// Reason says by what a node is a machine's, or why it is nobody's.
type Reason string

// The reasons.
const (
	// OnRecord: the machine has this very node on record, by its UID.
	OnRecord Reason = "OnRecord"
	// ByProviderID and ByAddress: the node shows what the machine has on record.
	ByProviderID Reason = "ByProviderID"
	ByAddress    Reason = "ByAddress"
	// NoMachine: no machine has on record what the node shows.
	NoMachine Reason = "NoMachine"
	// HasNode: the machine has another node, which is there.
	HasNode Reason = "HasNode"
	// NameTaken: another machine has the node's name on record.
	NameTaken Reason = "NameTaken"
	// Ambiguous: several machines, or several nodes, have as good a claim.
	Ambiguous Reason = "Ambiguous"
)

// Verdict is whose a node is.
type Verdict struct {
	// Machine is nil where the node is nobody's.
	Machine *lifecycle.Machine
	Reason  Reason
	// Refused are the machines that the node looks like and does not become the node of, Message
	// says why, for people.
	Refused []lifecycle.Machine
	Message string
}

// strength is how well what a node shows agrees with what a machine has on record.
type strength int

const (
	none strength = iota
	byAddress
	byProviderID
)

// Decide says whose the node is.
//
// A machine that has the node on record keeps it, whatever the node says of itself by now.
// Otherwise the node is that of the machine whose provider ID it shows, else of the one whose
// internal IP it shows (section 5 of the notes on the original). A kubelet writes both about
// itself, and its marks, but not its name. So the node of a machine that has one which is there
// stays its node, a name that another machine has on record is not believed in a third place,
// and of several nodes that show the same none is believed.
//
// Of several machines with one provider ID the oldest is meant: the others are made from copies
// of its manifest. Several with one address are an ambiguity.
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

// byAddress chooses among machines that have an address of the node on record. One that has
// another node had the address before, or will have it no more.
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

// holder is the machine that has this very node on record; nil where none has. A record that
// the node's provider ID speaks against is an old one, or was made before the node showed it.
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

// claim is how well the node agrees with what the machine has on record. Two provider IDs that
// merely may name one instance, since only their scheme and end agree, need an address besides.
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

// query is what is known about the node of the machine. Marks of other machines of this API do
// not count: the node writes them itself.
func (s Scene) query(m lifecycle.Machine) node.Query {
	return node.Query{
		Name: m.Recorded.NodeName, ProviderID: m.Recorded.ProviderID, InternalIPs: internalIPs(m.Recorded.Addresses),
		Mark: s.Mark, Created: m.Created, Instance: m.Recorded.Provisioned || m.Recorded.NodeName != "",
		Same: func(a, b string) bool { return strings.EqualFold(a, b) || provider.SameInstance(nil, a, b) },
	}
}

// objection says why the node is not the machine's although it shows what the machine has on
// record; nil where nothing speaks against it.
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

// nodeOf is the node that the machine has on record, if it is there and nothing on it speaks
// against that; nil where it is not.
func (s Scene) nodeOf(m lifecycle.Machine) *corev1.Node {
	for _, n := range append(slices.Clone(s.Nodes), s.Node) {
		if n.Name == m.Recorded.NodeName && !s.query(m).Anothers(n) {
			return n
		}
	}
	return nil
}

// named is another machine that has the name of the node on record, where m has not. One that
// took this very node for its own before the node showed another's provider ID has the name from
// that alone, and does not count.
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

// rivals are the nodes that have as good a claim to be the machine's as c, the one in question
// included; those alone that have a better one, if any has. Nodes of other machines, and those
// that are being deleted, are none.
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

// names are those that the machine has on record for its node: of its host, and of the node
// that it had.
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
