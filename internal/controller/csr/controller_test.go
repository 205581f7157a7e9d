package csr

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/bootstrap"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// pemRequest is a certificate request as a kubelet makes it.
func pemRequest(t *testing.T, node string, names []string, ips ...string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return pemRequestFor(t, key, node, names, ips...)
}

func pemRequestFor(t *testing.T, key *ecdsa.PrivateKey, node string, names []string, ips ...string) []byte {
	t.Helper()
	r := &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
		DNSNames: names,
	}
	for _, ip := range ips {
		r.IPAddresses = append(r.IPAddresses, net.ParseIP(ip))
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, r, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// joining is a request of a new node that was given the token with this id.
func joining(t *testing.T, name, node, token string) *certificatesv1.CertificateSigningRequest {
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(start)},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pemRequest(t, node, nil), SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Username: "system:bootstrap:" + token, Groups: []string{"system:bootstrappers", "system:authenticated"},
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}
}

// scene is an approver over a fake API server.
type scene struct {
	*Approver
	clock    *clocktesting.FakePassiveClock
	machines []approval.Machine
	refused  []string
	registry *prometheus.Registry
	events   *events.FakeRecorder
	// onRequests are the events on certificate requests.
	onRequests *events.FakeRecorder
}

func machine(name, node string) approval.Machine {
	return approval.Machine{
		UID: "uid-of-ns/" + name, Namespace: "ns", Name: name, NodeName: node, Created: start.Add(-time.Minute),
		Ref: corev1.ObjectReference{APIVersion: "v1", Kind: "Machine", Namespace: "ns", Name: name},
	}
}

func newScene(t *testing.T, objects ...client.Object) *scene {
	t.Helper()
	c := fake.NewClientBuilder().WithObjects(objects...).
		WithIndex(&certificatesv1.CertificateSigningRequest{}, PendingIndex, Pending).Build()
	s := &scene{clock: clocktesting.NewFakePassiveClock(start), events: events.NewFakeRecorder(10), onRequests: events.NewFakeRecorder(1000)}
	s.registry = prometheus.NewRegistry()
	metrics, err := NewMetrics(s.registry)
	if err != nil {
		t.Fatal(err)
	}
	s.Approver = &Approver{
		Client: c, Live: c, Clock: s.clock, Policy: approval.DefaultPolicy(), Events: s.events, OnRequests: s.onRequests, Metrics: metrics,
		Machines: func(context.Context, approval.Subject) ([]approval.Machine, error) {
			return slices.Clone(s.machines), nil
		},
		Fleet:  func(context.Context) (int, error) { return len(s.machines), nil },
		Latest: s.latest,
		Refused: func(m approval.Machine, reason, _ string) {
			s.refused = append(s.refused, m.Key()+" "+reason)
		},
	}
	return s
}

func (s *scene) latest(_ context.Context, shown approval.Machine) (m approval.Machine, there bool, err error) {
	for _, m := range s.machines {
		if m.UID == shown.UID {
			return m, true, nil
		}
	}
	return m, false, nil
}

func tokenOf(id, machine string) client.Object {
	return bootstrap.Token{ID: id, Secret: "0123456789abcdef", Owner: bootstrap.Owner{Key: machine, UID: "uid-of-" + machine}}.Object()
}

func (s *scene) reconcile(t *testing.T, name string) (approved bool, again time.Duration) {
	t.Helper()
	result, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	var r certificatesv1.CertificateSigningRequest
	if err := s.Client.Get(t.Context(), client.ObjectKey{Name: name}, &r); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Status.Conditions {
		if c.Type != certificatesv1.CertificateApproved || c.Reason != "NodeCSRApprove" || c.Message != approval.ApprovedMessage {
			t.Errorf("condition %+v", c)
		}
		approved = true
	}
	return approved, result.RequeueAfter
}

func TestApprovesOnceTheMachineIsKnown(t *testing.T) {
	s := newScene(t, joining(t, "csr-1", "w1", "abcdef"), tokenOf("abcdef", "ns/m1"))
	s.machines = []approval.Machine{machine("m1", "")}
	if approved, again := s.reconcile(t, "csr-1"); approved || again != againLeast {
		t.Fatalf("approved %v, again in %v", approved, again)
	}
	if len(s.refused) != 0 {
		t.Errorf("a moment's wait is told: %v", s.refused)
	}
	s.machines[0].NodeName = "w1"
	if got := s.Concerned(s.machines[0], true); len(got) != 1 || got[0].Name != "csr-1" {
		t.Errorf("the machine's change wakes %v", got)
	}
	if approved, again := s.reconcile(t, "csr-1"); !approved || again != 0 {
		t.Fatalf("approved %v, again in %v", approved, again)
	}
	if got := s.Concerned(s.machines[0], true); len(got) != 0 {
		t.Errorf("a settled request is remembered: %v", got)
	}
}

// TestTokenOfAnEarlierMachine: names are used again, for example those of machines of a control plane. The
// token of an earlier machine does not admit a node for the next machine of its name.
func TestTokenOfAnEarlierMachine(t *testing.T) {
	s := newScene(t, joining(t, "csr-1", "w1", "abcdef"), tokenOf("abcdef", "ns/m1"))
	s.machines = []approval.Machine{machine("m1", "w1")}
	s.machines[0].UID = "another"
	if approved, again := s.reconcile(t, "csr-1"); approved || again != 0 {
		t.Fatalf("approved %v, again in %v", approved, again)
	}
	if want := []string{"ns/m1 " + string(approval.ReasonOtherToken)}; !slices.Equal(s.refused, want) {
		t.Errorf("refused %v, want %v", s.refused, want)
	}
}

func TestRefusalIsToldOncePerChange(t *testing.T) {
	s := newScene(t, joining(t, "csr-1", "w2", "abcdef"), tokenOf("abcdef", "ns/m1"))
	s.machines = []approval.Machine{machine("m1", "w1"), machine("m2", "w2")}
	for range 3 {
		if approved, again := s.reconcile(t, "csr-1"); approved || again != 0 {
			t.Fatalf("approved %v, again in %v", approved, again)
		}
	}
	if len(s.refused) != 1 || s.refused[0] != "ns/m2 TokenOfOtherMachine" {
		t.Errorf("told %v", s.refused)
	}
	if e := <-s.events.Events; !strings.Contains(e, "TokenOfOtherMachine") || !strings.Contains(e, "csr-1") || len(s.events.Events) != 0 {
		t.Errorf("event %q, and %d more", e, len(s.events.Events))
	}
}

func TestLongWaitIsTold(t *testing.T) {
	s := newScene(t, joining(t, "csr-1", "w9", "abcdef"), tokenOf("abcdef", "ns/m1"))
	s.machines = []approval.Machine{machine("m1", "w1")}
	for _, age := range []time.Duration{0, 5 * time.Second, 12 * time.Second, 40 * time.Second} {
		s.clock.SetTime(start.Add(age))
		if _, again := s.reconcile(t, "csr-1"); again != max(age/4, againLeast) {
			t.Errorf("at %v: again in %v", age, again)
		}
	}
	if len(s.refused) != 1 || s.refused[0] != "ns/m1 NoMachine" {
		t.Errorf("the machine of the token is told %v", s.refused)
	}
}

func TestLeftoverOfAUsedTokenIsNotApproved(t *testing.T) {
	s := newScene(t, joining(t, "csr-1", "w1", "abcdef"))
	s.machines = []approval.Machine{machine("m1", "w1")}
	if approved, _ := s.reconcile(t, "csr-1"); approved {
		t.Error("approved by a token that is gone")
	}
}

func TestExistingNodeIsSeenPastTheCache(t *testing.T) {
	s := newScene(t, joining(t, "csr-1", "w1", "abcdef"), tokenOf("abcdef", "ns/m1"))
	s.machines = []approval.Machine{machine("m1", "w1")}
	s.Live = fake.NewClientBuilder().WithObjects(joining(t, "csr-1", "w1", "abcdef"), tokenOf("abcdef", "ns/m1"),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}).Build()
	if approved, _ := s.reconcile(t, "csr-1"); approved {
		t.Error("approved for a node that exists")
	}
}

// bootstrapping is a request of node-bootstrapper, the account that many nodes share.
func bootstrapping(t *testing.T, name, node string) *certificatesv1.CertificateSigningRequest {
	r := joining(t, name, node, "")
	r.Spec.Username = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
	r.Spec.Groups = []string{"system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts", "system:authenticated"}
	return r
}

func TestMetricsAndLimit(t *testing.T) {
	var objects []client.Object
	for i := range 103 {
		objects = append(objects, bootstrapping(t, fmt.Sprintf("csr-%d", i), fmt.Sprintf("w%d", i)))
	}
	old := bootstrapping(t, "old", "old")
	old.CreationTimestamp = metav1.NewTime(start.Add(-2 * time.Hour))
	s := newScene(t, append(objects, old)...)
	s.machines = []approval.Machine{machine("m1", "w0")}
	if approved, again := s.reconcile(t, "csr-0"); approved || again == 0 {
		t.Errorf("approved %v although too many wait; again in %v", approved, again)
	}
	if c, m := s.gauge(t, "mapi_current_pending_csr"), s.gauge(t, "mapi_max_pending_csr"); c != 103 || m != 101 {
		t.Errorf("metrics say %v of %v", c, m)
	}
}

// TestLimitIsTheOneThatDecides: the gauge of the limit counts nodes as well, however few
// requests wait.
func TestLimitIsTheOneThatDecides(t *testing.T) {
	objects := []client.Object{joining(t, "csr-0", "w0", "abcdef"), tokenOf("abcdef", "ns/m1")}
	for i := range 20 {
		objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i)}})
	}
	s := newScene(t, objects...)
	s.machines = []approval.Machine{machine("m1", "")}
	s.reconcile(t, "csr-0")
	if m := s.gauge(t, "mapi_max_pending_csr"); m != 120 {
		t.Errorf("the limit is said to be %v, and 120 decides", m)
	}
}

// TestOldestPending: the metric also counts requests that are too old to count against the limit, and falls
// to zero once all are decided.
func TestOldestPending(t *testing.T) {
	for _, tt := range []struct {
		reason  string
		waiting []time.Duration // ages of the requests
		want    float64
	}{
		{"nobody waits", nil, 0},
		{"one waits", []time.Duration{time.Minute}, float64(start.Add(-time.Minute).Unix())},
		{"the first of several counts", []time.Duration{time.Minute, time.Hour, 0}, float64(start.Add(-time.Hour).Unix())},
		{"one that no longer counts against the limit waits all the same", []time.Duration{9 * time.Hour, time.Minute}, float64(start.Add(-9 * time.Hour).Unix())},
	} {
		var objects []client.Object
		for i, age := range tt.waiting {
			r := joining(t, fmt.Sprintf("csr-%d", i), "w1", "abcdef")
			r.CreationTimestamp = metav1.NewTime(start.Add(-age))
			objects = append(objects, r)
		}
		s := newScene(t, objects...)
		s.Metrics.oldest.Set(1)
		if _, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "gone"}}); err != nil {
			t.Fatal(err)
		}
		if got := s.gauge(t, "millwright_oldest_pending_csr_timestamp_seconds"); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.reason, got, tt.want)
		}
	}
}

func (s *scene) gauge(t *testing.T, name string) float64 {
	t.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

func TestRelevant(t *testing.T) {
	waiting := joining(t, "csr-1", "w1", "abcdef")
	settled := waiting.DeepCopy()
	settled.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved}}
	foreign := waiting.DeepCopy()
	foreign.Spec.SignerName = "example.com/x"
	p := Relevant()
	tests := []struct {
		reason string
		got    bool
		want   bool
	}{
		{"a new request", p.Create(event.CreateEvent{Object: waiting}), true},
		{"one that was settled before we came", p.Create(event.CreateEvent{Object: settled}), false},
		{"the moment it is settled", p.Update(event.UpdateEvent{ObjectOld: waiting, ObjectNew: settled}), true},
		{"what happens to it later", p.Update(event.UpdateEvent{ObjectOld: settled, ObjectNew: settled}), false},
		{"another signer's", p.Create(event.CreateEvent{Object: foreign}), false},
		{"a waiting one that is deleted", p.Delete(event.DeleteEvent{Object: waiting}), true},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s passes: %v", tt.reason, tt.got)
		}
	}
}

// TestUnreadNodeIsNotAbsent: as long as it is unknown whether the node exists, it gets no certificate.
func TestUnreadNodeIsNotAbsent(t *testing.T) {
	s := newScene(t, joining(t, "csr-1", "node-1", "abcdef"), tokenOf("abcdef", "ns/m-1"))
	s.machines = []approval.Machine{machine("m-1", "node-1")}
	s.Live = interceptor.NewClient(s.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*corev1.Node); ok {
				return errors.New("etcd is away")
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	request := ctrl.Request{NamespacedName: client.ObjectKey{Name: "csr-1"}}
	if _, err := s.Reconcile(t.Context(), request); err == nil || !strings.Contains(err.Error(), "etcd is away") {
		t.Errorf("got error %v", err)
	}
	var r certificatesv1.CertificateSigningRequest
	if err := s.Client.Get(t.Context(), request.NamespacedName, &r); err != nil || len(r.Status.Conditions) > 0 {
		t.Errorf("conditions %v, %v", r.Status.Conditions, err)
	}
}
