package csr

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

func TestMain(m *testing.M) {
	os.Exit(devplanetest.Main(m, devplanetest.Options{Components: []string{devplane.ControllerManager}, NoCRDs: true}))
}

// fleet stands in for the machines of both APIs. A ConfigMap is the API object
// whose changes wake the approver.
type fleet struct {
	mu       sync.Mutex
	machines []approval.Machine
	refused  []string
}

func (f *fleet) list(context.Context, approval.Subject) ([]approval.Machine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]approval.Machine(nil), f.machines...), nil
}

func (f *fleet) count(context.Context) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.machines), nil
}

func (f *fleet) latest(_ context.Context, shown approval.Machine) (approval.Machine, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.machines {
		if m.UID == shown.UID {
			return m, true, nil
		}
	}
	return approval.Machine{}, false, nil
}

func (f *fleet) edit(edit func(f *fleet)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	edit(f)
}

func (f *fleet) ofConfigMap(o client.Object) (approval.Machine, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.machines {
		if m.Namespace == o.GetNamespace() && m.Name == o.GetName() {
			return m, true
		}
	}
	return approval.Machine{}, false
}

func startApprover(t *testing.T, env *devplanetest.Env, f *fleet) {
	t.Helper()
	mgr, err := ctrl.NewManager(env.Config, manager.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := SetupIndexes(t.Context(), mgr.GetFieldIndexer()); err != nil {
		t.Fatal(err)
	}
	a := &Approver{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}, Policy: approval.DefaultPolicy(),
		Machines: f.list, Fleet: f.count, Latest: f.latest,
		Refused: func(m approval.Machine, reason, _ string) {
			f.edit(func(f *fleet) { f.refused = append(f.refused, m.Key()+" "+reason) })
		},
		Events: mgr.GetEventRecorder("certificate-approver"), OnRequests: mgr.GetEventRecorder("certificate-approver"),
	}
	o := Options{Cache: mgr.GetCache(), Machines: []MachineSource{{Cache: mgr.GetCache(), Object: &corev1.ConfigMap{}, Machine: f.ofConfigMap}}}
	if err := a.Setup(mgr, o); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error("the manager ended:", err)
		}
	})
}

// identity is a kubelet's key and what it may show for itself.
type identity struct {
	key    *ecdsa.PrivateKey
	client kubernetes.Interface
}

func withToken(t *testing.T, env *devplanetest.Env, token string) identity {
	t.Helper()
	config := rest.AnonymousClientConfig(env.Config)
	config.BearerToken = token
	return identity{newKey(t), kubernetes.NewForConfigOrDie(config)}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// ask files a request as the identity and returns its name.
func (i identity) ask(t *testing.T, r *certificatesv1.CertificateSigningRequest) string {
	t.Helper()
	var name string
	eventually(t, "filing a request", func(ctx context.Context) (bool, error) {
		made, err := i.client.CertificatesV1().CertificateSigningRequests().Create(ctx, r, metav1.CreateOptions{})
		if apierrors.IsUnauthorized(err) {
			return false, nil // the authenticator has not seen the token yet
		}
		if err == nil {
			name = made.Name
		}
		return err == nil, err
	})
	return name
}

func (i identity) askClient(t *testing.T, node string) string {
	return i.ask(t, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "client-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, Request: pemRequestFor(t, i.key, node, nil),
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	})
}

func (i identity) askServing(t *testing.T, node string, names []string, ips ...string) string {
	return i.ask(t, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "serving-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName, Request: pemRequestFor(t, newKey(t), node, names, ips...),
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
		},
	})
}

// signed waits for the certificate that kube-controller-manager issues once the
// request is approved.
func signed(t *testing.T, env *devplanetest.Env, name string) []byte {
	t.Helper()
	var cert []byte
	eventually(t, "certificate of "+name, func(ctx context.Context) (bool, error) {
		r, err := env.Client.CertificatesV1().CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			cert = r.Status.Certificate
		}
		return len(cert) > 0, err
	})
	return cert
}

func eventually(t *testing.T, what string, done func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 20*time.Second, true, done); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// A node's whole way in: its token, its client certificate, its node object,
// its serving certificate; and what it may not have on that way.
func TestNodeJoinsRealServer(t *testing.T) {
	env := devplanetest.Start(t)
	ns := devplanetest.Namespace(t)
	f := &fleet{machines: []approval.Machine{
		{UID: ns + "/m1", Namespace: ns, Name: "m1", Created: time.Now()},
		{UID: ns + "/m2", Namespace: ns, Name: "m2", Created: time.Now(), NodeName: "w2"},
	}}
	startApprover(t, env, f)
	kubelet := withToken(t, env, tokenFor(t, env, ns+"/m1"))

	first := kubelet.askClient(t, "w1")
	stolen := kubelet.askClient(t, "w2")
	eventually(t, "refusing another machine's name", func(context.Context) (bool, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.refused) == 1 && f.refused[0] == ns+"/m2 TokenOfOtherMachine", nil
	})
	eventually(t, "an event on the request that is refused", func(ctx context.Context) (bool, error) {
		all, err := env.Client.EventsV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(all.Items, func(e eventsv1.Event) bool {
			return e.Regarding.Kind == "CertificateSigningRequest" && e.Regarding.Name == stolen && e.Reason == "TokenOfOtherMachine"
		}), nil
	})
	// The infrastructure reports the name only now; the machine's change wakes the request.
	f.edit(func(f *fleet) {
		f.machines[0].NodeName = "w1"
		f.machines[0].Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "w1"}, {Type: corev1.NodeInternalIP, Address: "198.51.100.1"}}
	})
	touch(t, env, ns, "m1")
	kubelet.client = certified(t, env, kubelet.key, signed(t, env, first))

	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}
	if _, err := kubelet.client.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal("registering with the certificate:", err)
	}
	extra := kubelet.askServing(t, "w1", []string{"w1", "kubernetes.default.svc"}, "198.51.100.1")
	good := kubelet.askServing(t, "w1", []string{"w1"}, "198.51.100.1")
	block, _ := pem.Decode(signed(t, env, good))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil || cert.VerifyHostname("w1") != nil || cert.VerifyHostname("198.51.100.1") != nil {
		t.Errorf("certificate %+v, %v", cert, err)
	}
	again := withToken(t, env, tokenFor(t, env, ns+"/m1")).askClient(t, "w1")
	time.Sleep(2 * time.Second) // several looks at what must not be approved
	for what, name := range map[string]string{"another machine's name": stolen, "a foreign name": extra, "a node that joined": again} {
		r, err := env.Client.CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || len(r.Status.Conditions) > 0 {
			t.Errorf("%s: conditions %v, %v", what, r.Status.Conditions, err)
		}
	}
}

func tokenFor(t *testing.T, env *devplanetest.Env, machine string) string {
	t.Helper()
	namespace, name, _ := strings.Cut(machine, "/")
	c, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	token, err := node.New(c, c, clock.RealClock{}).Token(t.Context(), node.TokenRequest{
		Machine: provider.Ref{UID: machine, Namespace: namespace, Name: name}, Lifetime: time.Hour, Groups: devplane.BootstrapGroup,
	})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func touch(t *testing.T, env *devplanetest.Env, namespace, name string) {
	t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := env.Client.CoreV1().ConfigMaps(namespace).Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// certified is a client that shows the certificate.
func certified(t *testing.T, env *devplanetest.Env, key *ecdsa.PrivateKey, cert []byte) kubernetes.Interface {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(env.Config)
	config.CertData, config.KeyData = cert, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return kubernetes.NewForConfigOrDie(config)
}
