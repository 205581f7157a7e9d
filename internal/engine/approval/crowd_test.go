package approval

import (
	"fmt"
	"slices"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// crowd returns pending requests; each has the name of its node.
type crowd []certificatesv1.CertificateSigningRequest

func (c crowd) with(n int, node string, spec certificatesv1.CertificateSigningRequestSpec, age time.Duration) crowd {
	for i := range n {
		r := certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-age))}, Spec: spec}
		if r.Name = node; node == "#" {
			r.Name = fmt.Sprint("node-", i)
		}
		c = append(c, r)
	}
	return c
}

func serving(user string) certificatesv1.CertificateSigningRequestSpec {
	return certificatesv1.CertificateSigningRequestSpec{SignerName: certificatesv1.KubeletServingSignerName, Username: user, Groups: nodeGroups}
}

func clientOf(user string, groups ...string) certificatesv1.CertificateSigningRequestSpec {
	return certificatesv1.CertificateSigningRequestSpec{SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, Username: user, Groups: groups}
}

func token(id string) certificatesv1.CertificateSigningRequestSpec {
	return clientOf("system:bootstrap:"+id, GroupBootstrappers, "system:authenticated")
}

// TestCountJoiners: the limit counts nodes that may join, each once.
func TestCountJoiners(t *testing.T) {
	shared := clientOf(bootstrapperUser, bootstrapperGroups...)
	account := func(signer string, i int) certificatesv1.CertificateSigningRequestSpec {
		return certificatesv1.CertificateSigningRequestSpec{
			SignerName: signer, Username: fmt.Sprint("system:serviceaccount:app:s", i), Groups: []string{"system:serviceaccounts", "system:authenticated"},
		}
	}
	var accounts, thirty, tokens crowd
	for i := range 11 {
		accounts = accounts.with(10, "#", account(certificatesv1.KubeletServingSignerName, i), 0).with(10, "#", account(certificatesv1.KubeAPIServerClientKubeletSignerName, i), 0)
	}
	for i := range 30 {
		thirty = thirty.with(3, "", serving(fmt.Sprint("system:node:", i)), 0)
		tokens = tokens.with(5, "", token(fmt.Sprint("token", i)), 0)
	}
	grouplessNode := serving("system:node:a")
	grouplessNode.Groups = nodeGroups[1:]
	for _, c := range []struct {
		reason        string
		pending       crowd
		user          string
		against, most int
	}{
		{"no request waits", nil, "a", 0, 0},
		{"service accounts are no joiners, whichever signer they ask", accounts, "system:node:a", 0, 0},
		{"a node that asks again is one", thirty, "system:node:a", 30, 30},
		{"so is a node that asks for ever", crowd{}.with(5000, "#", serving("system:node:evil"), 0), "system:node:evil", 1, 1},
		{"so is a bootstrapper that asks again for the same node", crowd{}.with(130, "a", shared, 0), "system:node:a", 1, 1},
		{"in whatever spelling", crowd{}.with(65, "A.", shared, 0).with(65, "a", shared, 0), "system:node:a", 1, 1},
		{"a bootstrapper that asks for many nodes is many", crowd{}.with(130, "#", shared, 0), "system:node:a", 130, 130},
		{"each of many tokens is one", tokens, "system:node:a", 30, 30},
		{"the holder of one token does not stop others", crowd{}.with(130, "#", token("abcdef"), 0), "system:node:a", PendingShare, 130},
		{"but itself", crowd{}.with(130, "#", token("abcdef"), 0), "system:bootstrap:abcdef", 130, 130},
		{"a token of another group is not trusted", crowd{}.with(130, "#", clientOf("system:bootstrap:abcdef", "system:bootstrappers:other"), 0), "a", 0, 0},
		{"nor is one who only claims the bootstrapper's name", crowd{}.with(130, "#", clientOf(bootstrapperUser, "system:authenticated"), 0), "a", 0, 0},
		{"renewals of client certificates are for kube-controller-manager", crowd{}.with(130, "#", clientOf("system:node:a", nodeGroups...), 0), "a", 0, 0},
		{"a node without a node's groups is none", crowd{}.with(1, "", grouplessNode, 0), "a", 0, 0},
		{"requests of more than an hour ago do not count", crowd{}.with(130, "#", shared, time.Hour), "a", 0, 0},
		{"a joiner counts by its newest request", crowd{}.with(9, "a", shared, 2*time.Hour).with(1, "a", shared, time.Minute), "a", 1, 1},
		{"the numbers add up", slices.Concat(thirty, tokens, accounts, crowd{}.with(50, "#", shared, 0)), "a", 110, 110},
	} {
		t.Run(c.reason, func(t *testing.T) {
			j := CountJoiners(now, c.pending, DefaultPolicy(), func(r *certificatesv1.CertificateSigningRequest) string { return r.Name })
			if against, most := j.Against(c.user), j.Most(); against != c.against || most != c.most {
				t.Errorf("got %d against %s and %d at most, want %d and %d", against, c.user, most, c.against, c.most)
			}
			worst := 0
			for user := range j {
				worst = max(worst, j.Against(user))
			}
			if worst != j.Most() {
				t.Errorf("most is %d, and %d counts against one who waits", j.Most(), worst)
			}
		})
	}
}

// TestWhoIsToldOfRefusals: a refusal names the machine if it is known.
func TestWhoIsToldOfRefusals(t *testing.T) {
	for reason, edit := range map[string]func(*scene){
		"the limit":               func(s *scene) { s.facts.Pending = 1000 },
		"a node that there is":    func(s *scene) { s.facts.NodeExists = true },
		"a machine that has left": func(s *scene) { s.machine().Deleting = true },
	} {
		s := byAccount()
		edit(s)
		if d := s.decide(); d.Verdict == Approve || d.Machine == nil || d.Machine.Name != "m1" {
			t.Errorf("%s: %s (%s) of machine %v", reason, d.Verdict, d.Reason, d.Machine)
		}
	}
	s := byAccount()
	s.csr.Spec.Username, s.facts.Pending = "system:serviceaccount:app:s", 1000
	if d := s.decide(); d.Reason != ReasonUntrusted {
		t.Errorf("one who may never ask is told to wait for others: %s", d.Reason)
	}
}
