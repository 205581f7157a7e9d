package csr

import (
	"fmt"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/approval"
)

// flood are pending requests of one kubelet.
func flood(n int) (out []client.Object) {
	for i := range n {
		r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("flood-%d", i), CreationTimestamp: metav1.NewTime(start)}}
		r.Spec.SignerName = certificatesv1.KubeletServingSignerName
		r.Spec.Username, r.Spec.Groups = "system:node:evil", []string{"system:nodes", "system:authenticated"}
		out = append(out, r)
	}
	return out
}

// One kubelet makes more requests than may wait. Its own are left, and seen in
// the metrics; another node joins.
func TestOneKubeletStopsNobodyElse(t *testing.T) {
	s := newScene(t, append(flood(150), joining(t, "join", "node-a", "abcdef"), tokenOf("abcdef", "ns/a"))...)
	s.machines = append(s.machines, machine("a", "node-a"))
	if approved, _ := s.reconcile(t, "join"); !approved {
		t.Error("a node did not join because another one asks too often")
	}
	if approved, again := s.reconcile(t, "flood-0"); approved || again == 0 {
		t.Errorf("approved %v, again after %v: want the kubelet itself to wait", approved, again)
	}
	if n, limit := s.gauge(t, "mapi_current_pending_csr"), s.gauge(t, "mapi_max_pending_csr"); n != 150 || limit != 101 {
		t.Errorf("the gauges say %v of %v, want all 150 to be counted, of 101", n, limit)
	}
}

// What a request holds is read and verified once, however often it is judged.
func TestReadOnce(t *testing.T) {
	var s readings
	request := func(raw []byte) *certificatesv1.CertificateSigningRequest {
		r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "r"}}
		r.UID, r.Spec.Request = "uid", raw
		return r
	}
	good := request(pemRequest(t, "a", nil))
	for range 2 {
		if c, err := s.read(good); err != nil || c.Subject.CommonName != "system:node:a" {
			t.Fatalf("%v, %v", c, err)
		}
		if c, err := s.verified(good); err != nil || c.Subject.CommonName != "system:node:a" {
			t.Fatalf("%v, %v", c, err)
		}
	}
	// The same request, so nothing of it is looked at again.
	if _, err := s.verified(request([]byte("changed"))); err != nil {
		t.Errorf("read again: %v", err)
	}
	other := request([]byte("another one of the name"))
	other.UID = "other"
	if _, err := s.verified(other); err == nil {
		t.Error("one request is taken for another of its name")
	}
	s.forget("r")
	if len(s.all) != 0 {
		t.Errorf("%d are remembered", len(s.all))
	}
	for i := range 3 * mostReadings {
		r := request(nil)
		r.Name = fmt.Sprint(i)
		_, _ = s.read(r)
	}
	if len(s.all) > mostReadings {
		t.Errorf("%d are remembered", len(s.all))
	}
}

// A signature that is not the sender's is one for ever.
func TestForgedStaysForged(t *testing.T) {
	r := joining(t, "forged", "node-a", "abcdef")
	c, err := approval.Read(r.Spec.Request)
	if err != nil {
		t.Fatal(err)
	}
	c.Signature[len(c.Signature)-1] ^= 1
	var s readings
	s.keep("forged", reading{c: c})
	for range 2 {
		if c, err := s.verified(r); c != nil || err == nil {
			t.Errorf("%v, %v: want it refused", c, err)
		}
	}
}
