package approval

import (
	"net"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

// servingSender and servingRequest are the checks of a request for a serving certificate, which a node sends
// in its own name.
var servingSender = []check{settled, requestorIsNode, crowded}

var servingRequest = []check{
	servingUsages,
	servingSubject,
	servingNames,
	machineByNode,
	machineLinked,
	addressesKnown,
	addressesOfMachine,
}

func requestorIsNode(q *input) *Decision {
	if why := notANode(q.f.Request); why != "" {
		return refuse(ReasonUntrusted, "user %q %s", q.f.Request.Spec.Username, why)
	}
	return nil
}

// servingUsages requires the two usages that a server needs, and allows key encipherment, which RSA keys
// request. The original allows any third usage.
func servingUsages(q *input) *Decision {
	usages := without(q.f.Request.Spec.Usages, certificatesv1.UsageKeyEncipherment)
	if sameSet(usages, []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}) {
		return nil
	}
	return refuse(ReasonUsages, "usages %q are not those of a serving certificate", q.f.Request.Spec.Usages)
}

func servingSubject(q *input) *Decision {
	s := q.f.Certificate.Subject
	if s.CommonName != q.f.Request.Spec.Username {
		return refuse(ReasonSubject, "common name %q is not that of the requestor, %q", s.CommonName, q.f.Request.Spec.Username)
	}
	if !slices.Contains(s.Organization, nodesGroup) {
		return refuse(ReasonSubject, "organization %q lacks %q", s.Organization, nodesGroup)
	}
	return nil
}

func servingNames(q *input) *Decision {
	c := q.f.Certificate
	if len(c.EmailAddresses)+len(c.URIs) > 0 {
		return refuse(ReasonNames, "a serving certificate must not have e-mail addresses or URIs")
	}
	if len(c.DNSNames)+len(c.IPAddresses) == 0 {
		return refuse(ReasonNames, "a serving certificate must have at least one name or address")
	}
	return nil
}

func machineByNode(q *input) *Decision {
	found := q.machines(func(m *Machine) bool { return m.NodeName == q.nodeName })
	switch len(found) {
	case 1:
		q.machine = found[0]
		return nil
	case 0:
		return wait(ReasonNoMachine, "no machine has node %s", q.nodeName)
	}
	return wait(ReasonAmbiguous, "%d machines have node %s: %s", len(found), q.nodeName, keys(found))
}

// machineLinked requires that the node has joined. An API that does not record the node predicts its name,
// and then a node of that name exists.
func machineLinked(q *input) *Decision {
	if q.machine.Linked || q.f.NodeExists {
		return nil
	}
	return wait(ReasonNotLinked, "the node of machine %s has not joined yet", q.machine.Key())
}

func addressesKnown(q *input) *Decision {
	if len(q.machine.Addresses) > 0 {
		return nil
	}
	return wait(ReasonNoAddresses, "machine %s has no known addresses", q.machine.Key())
}

// addressesOfMachine waits for requested addresses that are unknown: the infrastructure may report them
// later.
func addressesOfMachine(q *input) *Decision {
	for _, name := range q.f.Certificate.DNSNames {
		if !q.machine.has(name, sameName, corev1.NodeInternalDNS, corev1.NodeExternalDNS, corev1.NodeHostName) {
			return wait(ReasonAddress, "name %q does not belong to machine %s", name, q.machine.Key())
		}
	}
	for _, ip := range q.f.Certificate.IPAddresses {
		if !q.machine.has(ip.String(), sameIP, corev1.NodeInternalIP, corev1.NodeExternalIP) {
			return wait(ReasonAddress, "address %s does not belong to machine %s", ip, q.machine.Key())
		}
	}
	return nil
}

func (m Machine) has(wanted string, same func(a, b string) bool, types ...corev1.NodeAddressType) bool {
	return slices.ContainsFunc(m.Addresses, func(a corev1.NodeAddress) bool {
		return slices.Contains(types, a.Type) && same(a.Address, wanted)
	})
}

func sameIP(a, b string) bool {
	x, y := net.ParseIP(a), net.ParseIP(b)
	return x != nil && x.Equal(y)
}

func sameName(a, b string) bool {
	a = FoldName(a)
	return a != "" && a == FoldName(b)
}

// sameSet reports whether both have the same elements, each once.
func sameSet[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	return !slices.ContainsFunc(b, func(x T) bool { return !slices.Contains(a, x) })
}

// without leaves out at most one occurrence of x.
func without[T comparable](list []T, x T) []T {
	i := slices.Index(list, x)
	if i < 0 {
		return list
	}
	return slices.Delete(slices.Clone(list), i, i+1)
}

func keys(machines []*Machine) string {
	out := make([]string, len(machines))
	for i, m := range machines {
		out[i] = m.Key()
	}
	return strings.Join(out, ", ")
}
