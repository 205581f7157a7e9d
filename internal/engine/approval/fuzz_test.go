package approval

import (
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

func FuzzDecide(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"), "system:node:w1", "system:nodes,system:authenticated", true)
	f.Add([]byte(""), "system:bootstrap:abcdef", "system:bootstrappers", false)
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\nMIIBADCBqQIBADA=\n-----END CERTIFICATE REQUEST-----\n"), bootstrapperUser, strings.Join(bootstrapperGroups, ","), false)
	f.Fuzz(func(t *testing.T, raw []byte, user, groups string, serving bool) {
		s := byAccount()
		if serving {
			s = byNode()
		}
		s.csr.Spec.Request, s.csr.Spec.Username, s.csr.Spec.Groups = raw, user, strings.Split(groups, ",")
		at := time.Now()
		s.facts.Request = s.csr
		s.facts.Certificate, s.facts.ParseErr = Parse(raw)
		d := Decide(now, s.facts, s.policy)
		if took := time.Since(at); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
		if d.Verdict == Approve && (s.facts.Certificate == nil || d.Machine == nil || !d.Machine.Names(d.NodeName) && d.Machine.NodeName != d.NodeName) {
			t.Errorf("approved for %v: %+v", d.Machine, d)
		}
		if d.Verdict == Approve && s.csr.Spec.SignerName == certificatesv1.KubeletServingSignerName && user != "system:node:"+d.NodeName {
			t.Errorf("approved for %s, asked for by %s", d.NodeName, user)
		}
		if len(d.Message) > 1024 {
			t.Errorf("says %d bytes", len(d.Message))
		}
		if (s.facts.Certificate == nil) == (s.facts.ParseErr == nil) {
			t.Errorf("read as %v, %v", s.facts.Certificate, s.facts.ParseErr)
		}
		if !WorthReading(now, s.facts, s.policy) && d.Verdict == Approve {
			t.Error("approved without being heard")
		}
	})
}
