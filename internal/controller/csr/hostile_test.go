package csr

import (
	"fmt"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
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

// strangers are pending requests of service accounts under a kubelet's signer.
func strangers(accounts, each int) (out []client.Object) {
	for i := range accounts * each {
		r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("stranger-%d", i), CreationTimestamp: metav1.NewTime(start)}}
		r.Spec.SignerName = certificatesv1.KubeletServingSignerName
		r.Spec.Username, r.Spec.Groups = fmt.Sprintf("system:serviceaccount:app:s%d", i%accounts), []string{"system:serviceaccounts", "system:authenticated"}
		out = append(out, r)
	}
	return out
}

// TestWhoDoesNotStopJoining: requests that come again, and those of users who cannot join,
// neither keep a node from joining nor raise the alert.
func TestWhoDoesNotStopJoining(t *testing.T) {
	var again []client.Object
	for i := range 130 {
		again = append(again, bootstrapping(t, fmt.Sprintf("again-%d", i), "node-b"))
	}
	for reason, others := range map[string][]client.Object{
		"one kubelet asks again and again":                      flood(150),
		"11 service accounts with 10 requests each":             strangers(11, 10),
		"one service account with 130":                          strangers(1, 130),
		"the bootstrapper asks for one node again and again":    again,
		"200 service accounts, each of which is another joiner": strangers(200, 1),
	} {
		t.Run(reason, func(t *testing.T) {
			s := newScene(t, append(others, joining(t, "join", "node-a", "abcdef"), tokenOf("abcdef", "ns/a"))...)
			s.machines = append(s.machines, machine("a", "node-a"))
			if approved, _ := s.reconcile(t, "join"); !approved {
				t.Error("the node did not join")
			}
			s.reconcile(t, others[0].GetName())
			if n, limit := s.gauge(t, "mapi_current_pending_csr"), s.gauge(t, "mapi_max_pending_csr"); n > limit || n > 2 {
				t.Errorf("the gauges say %v of %v, and nothing is stopped", n, limit)
			}
		})
	}
}

// TestStoppedByTheLimit: real joiners beyond the limit are stopped, and each request says
// so once, with a machine or without; the machine says it too.
func TestStoppedByTheLimit(t *testing.T) {
	var objects []client.Object
	for i := range 60 {
		objects = append(objects, bootstrapping(t, fmt.Sprintf("csr-%d", i), fmt.Sprintf("w%d", i)))
		r := flood(1)[0].(*certificatesv1.CertificateSigningRequest)
		r.Name, r.Spec.Username = fmt.Sprintf("serving-%d", i), fmt.Sprintf("system:node:n%d", i)
		objects = append(objects, r)
	}
	s := newScene(t, objects...)
	s.machines = []approval.Machine{machine("m0", "w0")}
	for n := range 4 {
		s.clock.SetTime(start.Add(quiet + time.Duration(n)*time.Minute))
		for _, name := range []string{"csr-0", "csr-1", "serving-0"} {
			if approved, again := s.reconcile(t, name); approved || again == 0 {
				t.Errorf("%s: approved %v, again after %v", name, approved, again)
			}
		}
		s.machines = append(s.machines, machine(fmt.Sprintf("other-%d", n), "")) // the limit is another one
	}
	if n, limit := s.gauge(t, "mapi_current_pending_csr"), s.gauge(t, "mapi_max_pending_csr"); n != 120 || n <= limit {
		t.Errorf("the gauges say %v of %v, and everything is stopped", n, limit)
	}
	close(s.onRequests.Events)
	told := 0
	for e := range s.onRequests.Events {
		if told++; !strings.Contains(e, "TooManyPending") || !strings.Contains(e, "120 nodes wait for certificates; the limit is 101") {
			t.Errorf("told %q", e)
		}
	}
	if told != 3 || len(s.refused) != 1 || s.refused[0] != "ns/m0 TooManyPending" {
		t.Errorf("%d events on three requests; machines told: %v", told, s.refused)
	}
}

// TestToldWithoutAMachine: a refusal of which no machine is known stands on the request,
// once, and a flood of one requestor does not become one of events.
func TestToldWithoutAMachine(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}
	s := newScene(t, append(strangers(1, 50), node, joining(t, "exists", "w1", "abcdef"), joining(t, "unknown", "w2", "abcdef"), tokenOf("abcdef", ""))...)
	told := func() (out []string) {
		for len(s.onRequests.Events) > 0 {
			out = append(out, <-s.onRequests.Events)
		}
		return out
	}
	s.clock.SetTime(start.Add(quiet))
	for range 3 {
		s.reconcile(t, "exists")
		s.reconcile(t, "unknown")
	}
	if got := told(); len(got) != 2 || !strings.Contains(got[0], "NodeExists") || !strings.Contains(got[1], "NoMachine") {
		t.Errorf("told %q", got)
	}
	for range 2 {
		for i := range 50 {
			s.reconcile(t, fmt.Sprintf("stranger-%d", i))
		}
	}
	if got := told(); len(got) != mostTold || !strings.Contains(got[0], "UntrustedRequestor") {
		t.Errorf("%d events of one requestor: %q", len(got), got)
	}
}

// TestOthersMayApprove: a request that another approver handles is reported only after that approver had
// its time.
func TestOthersMayApprove(t *testing.T) {
	s := newScene(t, strangers(1, 1)...)
	if _, again := s.reconcile(t, "stranger-0"); again != quiet || len(s.onRequests.Events) > 0 {
		t.Errorf("again after %v, %d events", again, len(s.onRequests.Events))
	}
	s.clock.SetTime(start.Add(quiet))
	if _, again := s.reconcile(t, "stranger-0"); again != 0 || len(s.onRequests.Events) != 1 {
		t.Errorf("again after %v, %d events", again, len(s.onRequests.Events))
	}
	if s.gauge(t, "millwright_oldest_pending_csr_timestamp_seconds") != 0 {
		t.Error("a service account counts as a kubelet that waits")
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
