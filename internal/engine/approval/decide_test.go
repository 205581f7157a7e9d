package approval

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// scene is a valid request, for edits that make it invalid.
type scene struct {
	csr    *certificatesv1.CertificateSigningRequest
	cert   x509.CertificateRequest
	facts  Facts
	policy Policy
}

func (s *scene) machine() *Machine { return &s.facts.Machines[0] }

func (s *scene) decide() Decision {
	s.facts.Request, s.facts.Certificate = s.csr, &s.cert
	return Decide(now, s.facts, s.policy)
}

func newScene() *scene {
	s := &scene{policy: DefaultPolicy()}
	s.csr = &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "csr-x", CreationTimestamp: metav1.NewTime(now)}}
	s.cert.Subject = pkix.Name{CommonName: "system:node:w1", Organization: []string{"system:nodes"}}
	s.facts.Machines = []Machine{{
		Namespace: "ns", Name: "m1", Created: now.Add(-time.Minute),
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalDNS, Address: "w1"},
			{Type: corev1.NodeHostName, Address: "w1.local"},
			{Type: corev1.NodeExternalDNS, Address: "w1.example.com"},
			{Type: corev1.NodeInternalIP, Address: "10.0.0.1"},
			{Type: corev1.NodeExternalIP, Address: "192.0.2.1"},
			{Type: corev1.NodeInternalIP, Address: "fd00::1"},
		},
	}}
	return s
}

// byAccount is a client request of the bootstrapper's service account.
func byAccount() *scene {
	s := newScene()
	s.csr.Spec = certificatesv1.CertificateSigningRequestSpec{
		SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
		Username:   bootstrapperUser, Groups: []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator"},
		Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature},
	}
	return s
}

// byToken is a client request with a bootstrap token that was created for m1.
func byToken() *scene {
	s := byAccount()
	s.csr.Spec.Username = "system:bootstrap:abcdef"
	s.csr.Spec.Groups = []string{"system:bootstrappers", "system:bootstrappers:millwright", "system:authenticated"}
	s.facts.TokenKnown, s.facts.TokenOwner = true, "ns/m1"
	return s
}

// byNode is a request for a serving certificate of w1, which joined as m1.
func byNode() *scene {
	s := newScene()
	s.csr.Spec = certificatesv1.CertificateSigningRequestSpec{
		SignerName: certificatesv1.KubeletServingSignerName,
		Username:   "system:node:w1", Groups: []string{"system:nodes", "system:authenticated"},
		Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
	}
	s.cert.DNSNames = []string{"w1"}
	s.cert.IPAddresses = []net.IP{net.ParseIP("10.0.0.1"), net.ParseIP("fd00::1")}
	s.facts.NodeExists = true
	s.machine().NodeName, s.machine().Linked = "w1", true
	return s
}

type row struct {
	reason string
	edit   func(*scene)
	want   Verdict
	why    Reason
}

func run(t *testing.T, base func() *scene, rows []row) {
	for _, tt := range rows {
		t.Run(tt.reason, func(t *testing.T) {
			s := base()
			tt.edit(s)
			d := s.decide()
			if d.Verdict != tt.want || d.Reason != tt.why {
				t.Errorf("got %s (%s: %s), want %s (%s)", d.Verdict, d.Reason, d.Message, tt.want, tt.why)
			}
			if d.Verdict == Approve && d.Machine == nil {
				t.Error("approved for nobody")
			}
		})
	}
}

func nothing(*scene) {}

func TestClientByServiceAccount(t *testing.T) {
	run(t, byAccount, []row{
		{"a machine's name joins", nothing, Approve, ReasonApproved},
		{"an RSA key adds key encipherment", func(s *scene) {
			s.csr.Spec.Usages = append(s.csr.Spec.Usages, certificatesv1.UsageKeyEncipherment)
		}, Approve, ReasonApproved},
		{"names compare as in DNS", func(s *scene) { s.machine().Addresses[0].Address = "W1." }, Approve, ReasonApproved},
		{"a foretold node name is as good as a DNS name", func(s *scene) {
			s.machine().Addresses, s.machine().NodeName = nil, "w1"
		}, Approve, ReasonApproved},
		{"the account has exactly its own groups", func(s *scene) {
			s.csr.Spec.Groups = append(s.csr.Spec.Groups, "system:masters")
		}, Refuse, ReasonUntrusted},
		{"all of them", func(s *scene) { s.csr.Spec.Groups = s.csr.Spec.Groups[1:] }, Refuse, ReasonUntrusted},
		{"another account is not trusted", func(s *scene) {
			s.csr.Spec.Username = "system:serviceaccount:default:node-bootstrapper"
		}, Refuse, ReasonUntrusted},
		{"an administrator has other ways", func(s *scene) { s.csr.Spec.Username = "admin" }, Refuse, ReasonUntrusted},
		{"approval can be switched off", func(s *scene) { s.policy.ClientDisabled = true }, Refuse, ReasonClientDisabled},
		{"a node's renewal is for the cluster's own approver", func(s *scene) { s.csr.Spec.Username = "system:node:w1" }, Ignore, ReasonRenewal},
		{"client usages are required", func(s *scene) { s.csr.Spec.Usages = s.csr.Spec.Usages[:1] }, Refuse, ReasonUsages},
		{"and no others", func(s *scene) {
			s.csr.Spec.Usages = append(s.csr.Spec.Usages, certificatesv1.UsageServerAuth)
		}, Refuse, ReasonUsages},
		{"server usages under the client signer are a mismatch", func(s *scene) {
			s.csr.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}
		}, Refuse, ReasonUsages},
		{"key encipherment counts once", func(s *scene) {
			s.csr.Spec.Usages = append(s.csr.Spec.Usages, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageKeyEncipherment)
		}, Refuse, ReasonUsages},
		{"the organization is that of nodes", func(s *scene) { s.cert.Subject.Organization = []string{"system:masters"} }, Refuse, ReasonSubject},
		{"and no other besides", func(s *scene) {
			s.cert.Subject.Organization = []string{"system:nodes", "system:masters"}
		}, Refuse, ReasonSubject},
		{"the subject is a node", func(s *scene) { s.cert.Subject.CommonName = "admin" }, Refuse, ReasonSubject},
		{"with a name", func(s *scene) { s.cert.Subject.CommonName = "system:node:" }, Refuse, ReasonSubject},
		{"a DNS name has no place in it", func(s *scene) { s.cert.DNSNames = []string{"w1"} }, Refuse, ReasonNames},
		{"nor an address", func(s *scene) { s.cert.IPAddresses = []net.IP{net.ParseIP("10.0.0.1")} }, Refuse, ReasonNames},
		{"nor e-mail", func(s *scene) { s.cert.EmailAddresses = []string{"a@b"} }, Refuse, ReasonNames},
		{"nor a URI", func(s *scene) { s.cert.URIs = []*url.URL{{Scheme: "spiffe"}} }, Refuse, ReasonNames},
		{"an existing node's name is taken", func(s *scene) { s.facts.NodeExists = true }, Refuse, ReasonNodeExists},
		{"nobody's name is not granted, yet", func(s *scene) { s.cert.Subject.CommonName = "system:node:w2" }, Wait, ReasonNoMachine},
		{"a hostname is not the internal DNS name", func(s *scene) { s.cert.Subject.CommonName = "system:node:w1.local" }, Wait, ReasonNoMachine},
		{"two machines of one name are sorted out by somebody else", func(s *scene) {
			second := *s.machine()
			second.Name = "m2"
			s.facts.Machines = append(s.facts.Machines, second)
		}, Wait, ReasonAmbiguous},
		{"a predecessor on its way out does not count", func(s *scene) {
			old := *s.machine()
			old.Name, old.Deleting, old.Linked = "m0", true, true
			s.facts.Machines = append(s.facts.Machines, old)
		}, Approve, ReasonApproved},
		{"a machine on its way out joins no more", func(s *scene) { s.machine().Deleting = true }, Refuse, ReasonDeleting},
		{"a machine joins once", func(s *scene) { s.machine().Linked = true }, Refuse, ReasonLinked},
		{"not before it was created", func(s *scene) { s.machine().Created = now.Add(11 * time.Second) }, Refuse, ReasonOutsideJoinWindow},
		{"clocks may differ a little", func(s *scene) { s.machine().Created = now.Add(10 * time.Second) }, Approve, ReasonApproved},
		{"two hours is the end of it", func(s *scene) { s.machine().Created = now.Add(-2 * time.Hour) }, Approve, ReasonApproved},
		{"and not a second more", func(s *scene) { s.machine().Created = now.Add(-2*time.Hour - time.Second) }, Refuse, ReasonOutsideJoinWindow},
		{"what is approved stays so", func(s *scene) { s.settle(certificatesv1.CertificateApproved) }, Ignore, ReasonSettled},
		{"what is denied, too", func(s *scene) { s.settle(certificatesv1.CertificateDenied) }, Ignore, ReasonSettled},
		{"too many pending requests stop it all", func(s *scene) { s.facts.Pending = 102 }, Wait, ReasonTooMany},
		{"one for each machine and a hundred are fine", func(s *scene) { s.facts.Pending, s.facts.Fleet = 101, 1 }, Approve, ReasonApproved},
		{"nodes count where they are more", func(s *scene) { s.facts.Pending, s.facts.Nodes = 102, 2 }, Approve, ReasonApproved},
		{"other signers are not ours", func(s *scene) { s.csr.Spec.SignerName = "example.com/x" }, Ignore, ReasonForeign},
	})
}

func (s *scene) settle(c certificatesv1.RequestConditionType) {
	s.csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: c, Status: corev1.ConditionTrue}}
}

func TestClientByToken(t *testing.T) {
	run(t, byToken, []row{
		{"the machine of the token joins", nothing, Approve, ReasonApproved},
		{"a token that is nobody's in particular is as good", func(s *scene) { s.facts.TokenOwner = "" }, Approve, ReasonApproved},
		{"a token of another machine is not", func(s *scene) { s.facts.TokenOwner = "ns/m2" }, Refuse, ReasonOtherToken},
		{"not even for a machine of that name elsewhere", func(s *scene) { s.facts.TokenOwner = "other/m1" }, Refuse, ReasonOtherToken},
		{"the token of the machine itself", func(s *scene) { s.machine().UID, s.facts.TokenUID = "uid-2", "uid-2" }, Approve, ReasonApproved},
		{"a token of the machine that had the name before", func(s *scene) { s.machine().UID, s.facts.TokenUID = "uid-2", "uid-1" }, Refuse, ReasonOtherToken},
		{"a machine of which the UID is not known is not the one", func(s *scene) { s.facts.TokenUID = "uid-1" }, Refuse, ReasonOtherToken},
		{"the UID alone is enough", func(s *scene) { s.facts.TokenOwner, s.facts.TokenUID = "", "uid-1" }, Refuse, ReasonOtherToken},
		{"a token that is gone proves nothing", func(s *scene) { s.facts.TokenKnown, s.facts.TokenOwner = false, "" }, Refuse, ReasonTokenGone},
		{"a token of an untrusted group is not trusted", func(s *scene) {
			s.csr.Spec.Groups = []string{"system:bootstrappers:other", "system:authenticated"}
		}, Refuse, ReasonUntrusted},
		{"which groups are trusted is policy", func(s *scene) { s.policy.Bootstrappers = []string{"system:bootstrappers:x"} }, Refuse, ReasonUntrusted},
		{"a token without an id is none", func(s *scene) { s.csr.Spec.Username = "system:bootstrap:" }, Refuse, ReasonUntrusted},
		{"the name is that of a machine all the same", func(s *scene) { s.cert.Subject.CommonName = "system:node:w2" }, Wait, ReasonNoMachine},
	})
	s := byToken()
	s.cert.Subject.CommonName = "system:node:w2"
	if d := s.decide(); d.Machine == nil || d.Machine.Name != "m1" {
		t.Errorf("whose token it was is not told: %+v", d)
	}
}

func TestServing(t *testing.T) {
	run(t, byNode, []row{
		{"a node's own names and addresses", nothing, Approve, ReasonApproved},
		{"an RSA key adds key encipherment", func(s *scene) {
			s.csr.Spec.Usages = append(s.csr.Spec.Usages, certificatesv1.UsageKeyEncipherment)
		}, Approve, ReasonApproved},
		{"all kinds of names", func(s *scene) { s.cert.DNSNames = []string{"w1", "W1.local", "w1.example.com."} }, Approve, ReasonApproved},
		{"and of addresses", func(s *scene) { s.cert.IPAddresses = []net.IP{net.ParseIP("192.0.2.1")} }, Approve, ReasonApproved},
		{"an extra name", func(s *scene) { s.cert.DNSNames = append(s.cert.DNSNames, "kubernetes.default.svc") }, Wait, ReasonAddress},
		{"an extra address", func(s *scene) {
			s.cert.IPAddresses = append(s.cert.IPAddresses, net.ParseIP("10.96.0.1"))
		}, Wait, ReasonAddress},
		{"an address is no name", func(s *scene) { s.cert.DNSNames = []string{"10.0.0.1"} }, Wait, ReasonAddress},
		{"an e-mail address", func(s *scene) { s.cert.EmailAddresses = []string{"a@b"} }, Refuse, ReasonNames},
		{"a URI", func(s *scene) { s.cert.URIs = []*url.URL{{Scheme: "spiffe"}} }, Refuse, ReasonNames},
		{"no name at all", func(s *scene) { s.cert.DNSNames, s.cert.IPAddresses = nil, nil }, Refuse, ReasonNames},
		{"another node's name", func(s *scene) { s.cert.Subject.CommonName = "system:node:w2" }, Refuse, ReasonSubject},
		{"another organization besides is the signer's business", func(s *scene) {
			s.cert.Subject.Organization = append(s.cert.Subject.Organization, "x")
		}, Approve, ReasonApproved},
		{"without that of nodes it is none", func(s *scene) { s.cert.Subject.Organization = []string{"x"} }, Refuse, ReasonSubject},
		{"a sender who is no node", func(s *scene) { s.csr.Spec.Username = "w1" }, Refuse, ReasonUntrusted},
		{"a node by name only", func(s *scene) { s.csr.Spec.Groups = []string{"system:authenticated"} }, Refuse, ReasonUntrusted},
		{"an unauthenticated node", func(s *scene) { s.csr.Spec.Groups = []string{"system:nodes"} }, Refuse, ReasonUntrusted},
		{"client usages under the serving signer", func(s *scene) {
			s.csr.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
		}, Refuse, ReasonUsages},
		{"a third usage that servers do not need", func(s *scene) {
			s.csr.Spec.Usages = append(s.csr.Spec.Usages, certificatesv1.UsageClientAuth)
		}, Refuse, ReasonUsages},
		{"one usage too few", func(s *scene) { s.csr.Spec.Usages = s.csr.Spec.Usages[:1] }, Refuse, ReasonUsages},
		{"a node of no machine", func(s *scene) { s.machine().NodeName = "w9" }, Wait, ReasonNoMachine},
		{"a node that is there, where its machine does not record it", func(s *scene) { s.machine().Linked = false }, Approve, ReasonApproved},
		{"a node that is recorded, and not in the cache yet", func(s *scene) { s.facts.NodeExists = false }, Approve, ReasonApproved},
		{"a node that nobody has seen", func(s *scene) { s.machine().Linked, s.facts.NodeExists = false, false }, Wait, ReasonNotLinked},
		{"a machine of unknown addresses", func(s *scene) { s.machine().Addresses = nil }, Wait, ReasonNoAddresses},
		{"two machines with one node", func(s *scene) { s.facts.Machines = append(s.facts.Machines, *s.machine()) }, Wait, ReasonAmbiguous},
		{"what is issued stays so", func(s *scene) { s.csr.Status.Certificate = []byte("x") }, Ignore, ReasonSettled},
		{"too many pending requests stop it all", func(s *scene) { s.facts.Pending = 102 }, Wait, ReasonTooMany},
	})
}

// For any value of one attribute, a request is never approved for a name or an address that does not belong
// to the machine.
func TestApprovedNamesAreTheMachines(t *testing.T) {
	words := rapid.SampledFrom([]string{"w1", "w2", "W1.", "w1.local", "admin", "", "10.0.0.1", "kubernetes"})
	ips := rapid.SampledFrom([]string{"10.0.0.1", "10.96.0.1", "fd00::1", "192.0.2.1", "::1"})
	bases := []func() *scene{byAccount, byToken, byNode}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(bases).Draw(t, "base")()
		s.cert.Subject.CommonName = "system:node:" + words.Draw(t, "name")
		s.cert.DNSNames = rapid.SliceOfN(words, 0, 2).Draw(t, "dns")
		for _, ip := range rapid.SliceOfN(ips, 0, 2).Draw(t, "ips") {
			s.cert.IPAddresses = append(s.cert.IPAddresses, net.ParseIP(ip))
		}
		s.csr.Spec.Username = rapid.SampledFrom([]string{s.csr.Spec.Username, "system:node:w2", "system:node:w1", "x"}).Draw(t, "user")
		d := s.decide()
		if d.Verdict != Approve {
			return
		}
		allowed := map[string]bool{"w1": true, "w1.local": true, "10.0.0.1": true, "fd00::1": true, "192.0.2.1": true}
		names := append([]string{strings.TrimPrefix(s.cert.Subject.CommonName, "system:node:")}, s.cert.DNSNames...)
		for _, ip := range s.cert.IPAddresses {
			names = append(names, ip.String())
		}
		for _, n := range names {
			if !allowed[strings.ToLower(strings.TrimSuffix(n, "."))] {
				t.Fatalf("approved for %q: %+v", n, s.cert)
			}
		}
		if slices.Contains(s.cert.DNSNames, "10.0.0.1") {
			t.Fatalf("approved an address as a name")
		}
	})
}

func TestParse(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:w1"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}) }
	forged := append([]byte(nil), der...)
	forged[len(forged)-1] ^= 1
	good := block("CERTIFICATE REQUEST", der)
	tests := []struct {
		reason string
		in     []byte
		err    string
	}{
		{"a well-formed request", good, ""},
		{"blank lines after the request", append(append([]byte(nil), good...), "\n \n"...), ""},
		{"not PEM", der, "not PEM"},
		{"another kind of block", block("CERTIFICATE", der), "PEM type"},
		{"two requests in one", append(append([]byte(nil), good...), good...), "data after the PEM block"},
		{"rubbish", block("CERTIFICATE REQUEST", []byte("x")), "asn1"},
		{"a request for somebody else's key", block("CERTIFICATE REQUEST", forged), "signature"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			c, err := Parse(tt.in)
			if tt.err == "" {
				if err != nil || c.Subject.CommonName != "system:node:w1" {
					t.Fatalf("got %v, %v", c, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("got %v, want an error about %q", err, tt.err)
			}
			s := byNode()
			s.facts.ParseErr = err
			s.facts.Request = s.csr
			if d := Decide(now, s.facts, s.policy); d.Verdict != Refuse || d.Reason != ReasonMalformed {
				t.Errorf("judged %s (%s)", d.Verdict, d.Reason)
			}
		})
	}
}
