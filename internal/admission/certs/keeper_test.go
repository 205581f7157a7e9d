package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var secretKey = client.ObjectKey{Namespace: "ns", Name: "cert"}

// world is a keeper, the cluster that it looks at, and what it logged.
type world struct {
	*Keeper
	clock *clocktesting.FakeClock
	dir   string
	// denied says that secrets may not be read, blind that configurations may not.
	denied, blind bool
	lines         []string
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{clock: clocktesting.NewFakeClock(epoch), dir: t.TempDir()}
	c := fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, secret := o.(*corev1.Secret); secret && w.denied || !secret && w.blind {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, errors.New("no"))
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	w.Keeper = New(Options{
		Dir: w.dir, Client: c, Secret: secretKey, Configurations: []string{"machine-api", "other"}, Period: time.Minute, Clock: w.clock,
		Log: funcr.New(func(_, args string) { w.lines = append(w.lines, args) }, funcr.Options{}),
	})
	return w
}

// look is a pass, told about as in Run.
func (w *world) look(t *testing.T) error {
	t.Helper()
	err := w.pass(t.Context())
	w.tell(err)
	return err
}

func (w *world) isReady() bool {
	select {
	case <-w.Ready():
		return true
	default:
		return false
	}
}

// served is the certificate that a client is shown.
func (w *world) served(t *testing.T) []byte {
	t.Helper()
	c, err := w.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Certificate[0]
}

func validating(name string, annotations map[string]string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	c.Name, c.Annotations = name, annotations
	c.Webhooks = []admissionregistrationv1.ValidatingWebhook{
		{Name: "a.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "ns", Name: "w"}}},
		{Name: "b.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/b")}},
	}
	return c
}

// bundles are the CAs in the webhooks of a configuration.
func (w *world) bundles(t *testing.T, name string) (out [][]byte) {
	t.Helper()
	c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: name}, c); err != nil {
		t.Fatal(err)
	}
	for _, h := range c.Webhooks {
		out = append(out, h.ClientConfig.CABundle)
	}
	return out
}

func TestMakesItsOwn(t *testing.T) {
	w := newWorld(t, validating("machine-api", nil), validating("other", map[string]string{"cert-manager.io/inject-ca-from": "ns/x"}))
	if err := w.look(t); err != nil || !w.isReady() {
		t.Fatal(err)
	}
	s := &corev1.Secret{}
	if err := w.Client.Get(t.Context(), secretKey, s); err != nil {
		t.Fatal(err)
	}
	m := Material{Bundle: s.Data["ca.crt"], Cert: s.Data["tls.crt"], Key: s.Data["tls.key"]}
	for _, name := range []string{"w.ns.svc", "127.0.0.1"} {
		if err := trusted(m.Bundle, m, w.clock.Now(), name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, b := range w.bundles(t, "machine-api") {
		if !bytes.Equal(b, m.Bundle) {
			t.Errorf("a webhook is told the CA %q", b)
		}
	}
	for _, b := range w.bundles(t, "other") {
		if b != nil {
			t.Errorf("a webhook of somebody else's care is told the CA %q", b)
		}
	}
	replica := New(w.Options)
	if err := replica.pass(t.Context()); err != nil || !bytes.Equal(must(replica.GetCertificate(nil)).Certificate[0], w.served(t)) {
		t.Errorf("another replica serves something else: %v", err)
	}
}

func must(c *tls.Certificate, err error) *tls.Certificate {
	if err != nil {
		panic(err)
	}
	return c
}

// TestRotatesWithoutRestart: the certificate changes while it is served, and configurations that were applied anew get the CA again.
func TestRotatesWithoutRestart(t *testing.T) {
	w := newWorld(t, validating("machine-api", nil))
	if err := w.look(t); err != nil {
		t.Fatal(err)
	}
	first, ca := w.served(t), w.bundles(t, "machine-api")[0]
	w.clock.Step(61 * 24 * time.Hour)
	if err := w.look(t); err != nil || bytes.Equal(first, w.served(t)) || !bytes.Equal(ca, w.bundles(t, "machine-api")[0]) {
		t.Errorf("after two months: %v", err)
	}
	w.clock.Step(430 * 24 * time.Hour)
	if err := w.look(t); err != nil || bytes.Equal(ca, w.bundles(t, "machine-api")[0]) || !bytes.Contains(w.bundles(t, "machine-api")[0], ca) {
		t.Errorf("after 16 months the CA is not followed by another: %v", err)
	}
	c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "machine-api"}, c); err != nil {
		t.Fatal(err)
	}
	c.Webhooks = validating("machine-api", nil).Webhooks
	if err := w.Client.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := w.look(t); err != nil || w.bundles(t, "machine-api")[0] == nil {
		t.Errorf("a configuration that was applied anew has no CA: %v", err)
	}
}

// TestWhatStandsInTheWayIsToldOnce: and the keeper continues once the cause is removed.
func TestWhatStandsInTheWayIsToldOnce(t *testing.T) {
	w := newWorld(t, validating("machine-api", nil))
	w.denied = true
	for range 3 {
		if err := w.look(t); err == nil || w.isReady() {
			t.Fatal("there is a certificate, although secrets may not be read")
		}
	}
	w.denied = false
	for range 2 {
		if err := w.look(t); err != nil || !w.isReady() {
			t.Fatal(err)
		}
	}
	if len(w.lines) != 2 {
		t.Errorf("logged:\n%q", w.lines)
	}
	blind := newWorld(t, validating("machine-api", nil))
	blind.blind = true
	for range 3 {
		if err := blind.look(t); err == nil || blind.isReady() {
			t.Fatal("there is a certificate, although nobody may be told the CA")
		}
	}
	if len(blind.lines) != 1 || strings.Contains(blind.lines[0], `"error"`) {
		t.Errorf("with the original's roles: logged %q", blind.lines)
	}
	none := newWorld(t)
	for range 3 {
		if err := none.look(t); err == nil || none.isReady() {
			t.Fatal("there is a certificate, although nobody would be told the CA")
		}
	}
	if err := none.Client.Get(t.Context(), secretKey, &corev1.Secret{}); !apierrors.IsNotFound(err) || len(none.lines) != 1 {
		t.Errorf("without a configuration: %v, logged %q", err, none.lines)
	}
}

// TestReadsTheFolder: a certificate in the folder counts, also when it comes later, and is read again when it changes.
func TestReadsTheFolder(t *testing.T) {
	w := newWorld(t, validating("machine-api", nil))
	if err := w.look(t); err != nil {
		t.Fatal(err)
	}
	own, ca := w.served(t), w.bundles(t, "machine-api")[0]
	write := func() []byte {
		t.Helper()
		m := renewed(t, Material{}, epoch, service)
		for file, content := range map[string][]byte{"tls.key": m.Key, "tls.crt": m.Cert} {
			if err := os.WriteFile(filepath.Join(w.dir, file), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return must(pairOf(m)).Certificate[0]
	}
	mounted := write()
	if err := w.look(t); err != nil || bytes.Equal(own, w.served(t)) || !bytes.Equal(mounted, w.served(t)) {
		t.Errorf("what was mounted later is not served: %v", err)
	}
	if err := w.look(t); err != nil || !bytes.Equal(ca, w.bundles(t, "machine-api")[0]) {
		t.Errorf("the CA of somebody else is written over: %v", err)
	}
	changed := write()
	for end := time.Now().Add(30 * time.Second); !bytes.Equal(changed, w.served(t)); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what changed in the folder is not served")
		}
	}
}

func pairOf(m Material) (*tls.Certificate, error) {
	c, err := tls.X509KeyPair(m.Cert, m.Key)
	return &c, err
}
