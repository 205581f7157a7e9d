package judge

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"slices"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// joining is the request of the kubelet on the instance with the ID for a certificate of the node.
func joining(t *testing.T, id, nodeName string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	c := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:" + nodeName, Organization: []string{"system:nodes"}}}
	raw, err := x509.CreateCertificateRequest(nil, c, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "csr", Annotations: map[string]string{Sender: id}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: raw}), Username: tokenUser + "abcdef",
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
		},
	}
}

func phase(p v1alpha1.MachinePhase) func(*v1alpha1.Machine) {
	return func(m *v1alpha1.Machine) { m.Status.CurrentStatus.Phase = p }
}

func deleted(m *v1alpha1.Machine) { m.DeletionTimestamp = &metav1.Time{} }

// TestApproved: the approver and the machine controller run in one process, with separate workers.
func TestApproved(t *testing.T) {
	cases := []struct {
		reason string
		// before are the machine's states when the pass began, meanwhile its later states;
		// the machine controller itself writes the last state of each. stale: the cache
		// shows the first state of before.
		before, meanwhile []*v1alpha1.Machine
		stale             bool
		want              bool
	}{
		{reason: "the machine waits for its node", before: []*v1alpha1.Machine{gardenerMachine("m", phase("Pending"))}, want: true},
		{
			reason: "the machine is deleted while the pass is under way, and another worker goes on with that",
			before: []*v1alpha1.Machine{gardenerMachine("m", phase("Pending"))},
			meanwhile: []*v1alpha1.Machine{
				gardenerMachine("m", phase("Pending"), deleted), gardenerMachine("m", phase("Terminating"), deleted),
			},
			want: true,
		},
		{
			reason: "the machine is deleted before the pass begins",
			before: []*v1alpha1.Machine{gardenerMachine("m", phase("Pending")), gardenerMachine("m", phase("Terminating"), deleted)},
		},
		{
			reason: "what the process wrote itself before the pass began it knows, whatever its cache shows",
			before: []*v1alpha1.Machine{gardenerMachine("m", phase("Pending")), gardenerMachine("m", phase("Terminating"), deleted)},
			stale:  true,
		},
		{reason: "the machine's node has joined", before: []*v1alpha1.Machine{gardenerMachine("m", phase("Running"))}},
		{reason: "the machine's node has joined, and is lost", before: []*v1alpha1.Machine{gardenerMachine("m", phase("Unknown"))}},
		{
			reason: "the machine's node joins while the pass is under way",
			before: []*v1alpha1.Machine{gardenerMachine("m", phase("Pending"))}, meanwhile: []*v1alpha1.Machine{gardenerMachine("m", phase("Running"))}, want: true,
		},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			s := newScene()
			s.instances = []Instance{{ID: "i-1", UID: "m", Name: "m", NodeName: "m"}}
			worker := s.begin(Machines, 1)
			states := func(all []*v1alpha1.Machine) {
				for i, m := range all {
					by := worker
					if i < len(all)-1 {
						by = nil
					}
					s.write(by, m)
				}
			}
			states(c.before)
			p := s.begin(Machines, 1)
			if c.stale {
				p.seen["m"] = c.before[0]
			}
			states(c.meanwhile)
			s.judge.Approved(s.judge.Writes(p, false, 0), joining(t, "i-1", "m"))
			if got := !slices.Contains(s.broken, CertOwn); got != c.want {
				t.Errorf("allowed %v, want %v", got, c.want)
			}
		})
	}
}

// TestTokenGone: a token may be deleted after a node has joined that may belong to the token's machine.
func TestTokenGone(t *testing.T) {
	token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: "token", Annotations: map[string]string{tokenUID: "m"}}}
	former := &corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: "node", Name: "m"}}
	own, other := Instance{ID: "i-2", UID: "m", NodeName: "m"}, Instance{ID: "i-1", UID: "before", NodeName: "m", Node: "node"}
	for _, c := range []struct {
		reason string
		order  []client.Object
		other  string
		broken bool
	}{
		{"nothing has joined", []client.Object{token}, "m", true},
		{"an instance of a former machine of the name joined after the token was made", []client.Object{token, former}, "m", false},
		{"it joined before the token was made", []client.Object{former, token}, "m", true},
		{"an instance of another name joined", []client.Object{token, former}, "n", true},
	} {
		s := newScene()
		own.Created, other.NodeName = s.now, c.other
		s.instances = []Instance{other, own}
		s.write(nil, gardenerMachine("m"))
		for _, o := range c.order {
			s.now = s.now.Add(time.Second)
			s.write(nil, o)
		}
		s.judge.TokenGone(own, "abcdef")
		if slices.Contains(s.broken, TokenThere) != c.broken {
			t.Errorf("%s: broken %v, want %v", c.reason, !c.broken, c.broken)
		}
	}
}
