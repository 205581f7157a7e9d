package judge

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Sender is an annotation of certificate requests that no controller reads: the ID of the instance that really sent
	// the request.
	Sender = "sim.millwright.dev/sender"
	// tokenUID is an annotation of bootstrap tokens: the UID of their machine.
	tokenUID = "millwright.dev/machine-uid"
	// tokenUser is the prefix of the user names of requests with a token.
	tokenUser = "system:bootstrap:"
)

// Approved judges the approval of a certificate request. A request without a token states a node name that no
// controller can verify: the name must be the name of one of our instances.
func (j *Judge) Approved(p *Pass, r *certificatesv1.CertificateSigningRequest) {
	block, _ := pem.Decode(r.Spec.Request)
	if block == nil {
		j.Broken(CertOwn, "%s is no request", r.Name)
		return
	}
	c, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		j.Broken(CertOwn, "%s is no request: %v", r.Name, err)
		return
	}
	p = p.withoutOwnWrites()
	name := strings.TrimPrefix(c.Subject.CommonName, "system:node:")
	serving := r.Spec.SignerName == certificatesv1.KubeletServingSignerName
	named := serving || strings.HasPrefix(r.Spec.Username, tokenUser)
	fits := func(i Instance) bool {
		return (i.ID == r.Annotations[Sender] || !named) && i.NodeName == name && (serving || !j.others(i) && j.stays(i, p))
	}
	all := j.Instances()
	at := slices.IndexFunc(all, func(i Instance) bool { return fits(i) && i.Exists(j.Now()) })
	if at < 0 { // it has ended since; another instance may have got its name
		at = slices.IndexFunc(all, fits)
	}
	if at < 0 {
		j.Broken(CertOwn, "%s of instance %s, for node %s", r.Name, r.Annotations[Sender], name)
		return
	}
	i := all[at]
	if !serving {
		if n := j.node(name); n != nil && j.born(n.UID) <= p.began {
			j.Broken(CertOwn, "%s of instance %s, for node %s, which exists", r.Name, i.ID, name)
		}
		if j.always(types.UID(i.UID), p, atBegin, func(m machine) bool { return m.running || m.lost }) {
			j.Broken(CertOwn, "%s of instance %s, for node %s of machine %s, whose node has joined", r.Name, i.ID, name, i.Name)
		}
		return
	}
	for _, dns := range c.DNSNames {
		if dns != i.NodeName {
			j.Broken(CertOwn, "%s of instance %s, with the name %s", r.Name, i.ID, dns)
		}
	}
	for _, ip := range c.IPAddresses {
		if ip.String() != i.IP {
			j.Broken(CertOwn, "%s of instance %s, with the address %s", r.Name, i.ID, ip)
		}
	}
}

// withoutOwnWrites is the pass without the process's own writes after the pass began: certificate requests and machines
// have workers of their own, which run in parallel.
func (p *Pass) withoutOwnWrites() *Pass {
	out := *p
	if out.sent == 0 || out.sent > out.looked() {
		out.sent = out.looked()
	}
	return &out
}

// stays reports whether the machine of i existed and was not being deleted in one of the states since the pass began.
// The approver reads machines live.
func (j *Judge) stays(i Instance, p *Pass) bool {
	return slices.ContainsFunc(j.since(types.UID(i.UID), p, atBegin), func(o client.Object) bool { return o != nil && o.GetDeletionTimestamp() == nil })
}

// judgeTokens judges the release of a machine, whose token must be deleted before. If the target cluster does not
// answer, the token cannot be deleted, and the machine stays until users force its deletion.
func (j *Judge) judgeTokens(m machine) {
	if m.hurried {
		return
	}
	for _, o := range j.All(&corev1.Secret{}) {
		if log := j.log[o.GetUID()]; o.GetAnnotations()[tokenUID] == string(m.GetUID()) && !log[0].by.Late {
			j.Broken(TokenEnds, "%s was released, but its token %s exists", m.GetName(), o.GetName())
		}
	}
}
