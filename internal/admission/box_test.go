package admission_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/internal/admission"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/provider/admit"
)

func TestMain(m *testing.M) {
	logf.SetLogger(logr.Discard())
	os.Exit(devplanetest.Main(m, devplanetest.Options{}))
}

// heard are the warnings that an API server sent.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) HandleWarningHeader(_ int, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, text)
}

func (h *heard) take() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := strings.Join(h.lines, "\n")
	h.lines = nil
	return out
}

// box is a namespace of a real API server that calls webhooks of this process.
type box struct {
	client.Client
	config    *rest.Config
	namespace string
	port      int
	warnings  *heard
}

// startBox installs the webhook configurations as they are, but for where the webhooks are.
func startBox(t *testing.T) *box {
	t.Helper()
	b := &box{config: rest.CopyConfig(devplanetest.Start(t).Config), namespace: devplanetest.Namespace(t), warnings: &heard{}, port: devplanetest.FreePort(t)}
	b.config.WarningHandler = b.warnings
	var err error
	if b.Client, err = client.New(b.config, client.Options{Scheme: run.Scheme()}); err != nil {
		t.Fatal(err)
	}
	call := func(c *admissionregistrationv1.WebhookClientConfig) {
		c.URL = ptr.To(fmt.Sprintf("https://127.0.0.1:%d%s", b.port, *c.Service.Path))
		c.Service = nil
	}
	mutating, validating, err := config.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	var all []client.Object
	for _, c := range mutating {
		for i := range c.Webhooks {
			call(&c.Webhooks[i].ClientConfig)
		}
		all = append(all, c)
	}
	for _, c := range validating {
		for i := range c.Webhooks {
			call(&c.Webhooks[i].ClientConfig)
		}
		all = append(all, c)
	}
	for _, c := range all {
		if err := b.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Delete(context.WithoutCancel(t.Context()), c) })
	}
	return b
}

// serve serves the webhooks until the function that it returns is called.
func (b *box) serve(t *testing.T) (stop func()) {
	t.Helper()
	objects, err := dynamic.NewForConfig(b.config)
	if err != nil {
		t.Fatal(err)
	}
	s := admission.NewServer(admission.ServerOptions{
		Host: "127.0.0.1", Port: b.port, CertDir: t.TempDir(), Secret: client.ObjectKey{Namespace: b.namespace, Name: "cert"}, Period: 100 * time.Millisecond,
		Client: b.Client, Objects: objects, Admitters: map[string]admit.Admitter{"Fake": fakeAdmitter{}},
		Given: admission.Cluster{Type: "Fake", Platform: admit.Platform{ID: "cluster-x", Region: "r"}},
		Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	probe := set("")
	probe.Namespace = b.namespace
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if err := b.Create(t.Context(), probe.DeepCopy(), client.DryRunAll); err != nil && strings.Contains(err.Error(), noValue) {
			b.warnings.take()
			return stop
		}
		if time.Now().After(end) {
			t.Fatal("the API server does not call the webhooks")
		}
	}
}

func (b *box) machine(name, spec string, edits ...func(*machinev1.Machine)) *machinev1.Machine {
	m := machine(spec, edits...)
	m.Namespace, m.Name = b.namespace, name
	return m
}

func (b *box) set(name, spec string) *machinev1.MachineSet {
	s := set(spec)
	s.Namespace, s.Name = b.namespace, name
	return s
}

// patch merges text into o, as kubectl does.
func (b *box) patch(ctx context.Context, o client.Object, text string) error {
	return b.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(text)))
}

// says fails unless err is the refusal, after what the API server writes before every one.
func says(t *testing.T, what string, err error, webhook, refusal string) {
	t.Helper()
	want := fmt.Sprintf("admission webhook %q denied the request: %s", webhook, refusal)
	if err == nil || err.Error() != want {
		t.Errorf("%s:\ngot  %v\nwant %s", what, err, want)
	}
}

// TestWebhooksOfARealServer: the messages that clients read, and the writes that succeed while no webhook
// answers.
func TestWebhooksOfARealServer(t *testing.T) {
	b := startBox(t)
	stop := b.serve(t)
	b.refuses(t)
	b.fillsIn(t)
	b.warns(t)
	stop()
	b.worksWithout(t)
	b.serve(t)
	b.letsGo(t)
}

func (b *box) refuses(t *testing.T) {
	ctx := t.Context()
	says(t, "a set without a spec", b.Create(ctx, b.set("s", "")), "default.machineset.machine.openshift.io", noValue)
	says(t, "a machine without a spec", b.Create(ctx, b.machine("m", "")), "default.machine.machine.openshift.io", noValue)
	says(t, "a machine whose spec is wrong", b.Create(ctx, b.machine("m", sizeless)), "validation.machine.machine.openshift.io", noSize)
	says(t, "a set whose spec is wrong", b.Create(ctx, b.set("s", sizeless)), "validation.machineset.machine.openshift.io", noSize)

	s := b.set("kept", good)
	m := b.machine("kept", good, finalizers("test/x"), preDrain(machinev1.LifecycleHook{Name: "one", Owner: "owner"}))
	for _, o := range []client.Object{s, m} {
		if err := b.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	says(t, "another selector", b.patch(ctx, s, `{"spec":{"selector":{"matchLabels":{"x":"y"}},"template":{"metadata":{"labels":{"x":"y"}}}}}`),
		"validation.machineset.machine.openshift.io", "spec.selector: Forbidden: selector is immutable")
	says(t, "a spec that is broken later", b.patch(ctx, m, `{"spec":{"providerSpec":{"value":{"size":""}}}}`), "validation.machine.machine.openshift.io", noSize)
	if err := b.Delete(ctx, m); err != nil {
		t.Fatal(err)
	}
	says(t, "a hook for a machine that is going", b.patch(ctx, m, `{"spec":{"lifecycleHooks":{"preDrain":[{"name":"one","owner":"owner"},{"name":"two","owner":"owner"}]}}}`),
		"validation.machine.machine.openshift.io", hooksFirst+"[{Name:two Owner:owner}]")
	for _, text := range []string{`{"spec":{"lifecycleHooks":{"preDrain":null}}}`, `{"metadata":{"finalizers":null}}`} {
		if err := b.patch(ctx, m, text); err != nil {
			t.Errorf("%s on a machine that is going: %v", text, err)
		}
	}
}

func (b *box) fillsIn(t *testing.T) {
	m := b.machine("filled", `{"size":"small"}`)
	if err := b.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if got := string(m.Spec.ProviderSpec.Value.Raw); got != `{"region":"r","size":"small"}` || m.Labels["machine.openshift.io/cluster-api-cluster"] != "cluster-x" {
		t.Errorf("stored with the spec %s and the labels %v", got, m.Labels)
	}
	if got := b.warnings.take(); !strings.Contains(got, "incorrect GroupVersionKind for FakeSpec object: /, Kind=") {
		t.Errorf("warned %q", got)
	}
}

func (b *box) warns(t *testing.T) {
	class := &v1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "c"}, NodeTemplate: &v1alpha1.NodeTemplate{Capacity: corev1.ResourceList{}, InstanceType: "t", Zone: "z"}}
	class.ProviderSpec.Raw = []byte(`{}`)
	if err := b.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if got := b.warnings.take(); !strings.Contains(got, "nodeTemplate.region: must be set") {
		t.Errorf("warned %q", got)
	}
}

// worksWithout stores what would have been refused, scales and deletes.
func (b *box) worksWithout(t *testing.T) {
	ctx := t.Context()
	for _, o := range []client.Object{b.set("odd", sizeless), b.set("odder", ""), b.machine("odd", sizeless, finalizers("test/x", "test/y")), b.machine("odder", "")} {
		if err := b.Create(ctx, o); err != nil {
			t.Fatalf("while nobody answers: %v", err)
		}
	}
	b.scales(t, b.set("odd", ""), 2)
	if err := b.Delete(ctx, b.machine("odder", "")); err != nil {
		t.Errorf("deletion while nobody answers: %v", err)
	}
	b.loses(t, "odd", "test/x", "test/y")
}

// letsGo scales and deletes what is broken, under the eyes of the webhooks.
func (b *box) letsGo(t *testing.T) {
	ctx := t.Context()
	for _, name := range []string{"odd", "odder"} {
		b.scales(t, b.set(name, ""), 3)
		if err := b.patch(ctx, b.set(name, ""), `{"spec":{"replicas":4}}`); err != nil {
			t.Errorf("a set that was broken before is edited to another size: %v", err)
		}
		if err := b.Delete(ctx, b.set(name, "")); err != nil {
			t.Errorf("deletion of a set: %v", err)
		}
	}
	b.loses(t, "odd", "test/y", "")
}

func (b *box) scales(t *testing.T, s *machinev1.MachineSet, replicas int32) {
	t.Helper()
	scale := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := b.SubResource("scale").Patch(t.Context(), s, scale, client.WithSubResourceBody(&autoscalingv1.Scale{})); err != nil {
		t.Errorf("scaling %s to %d: %v", s.Name, replicas, err)
	}
}

// loses deletes a machine, and takes a finalizer off it; left is the one that stays, empty where it was the last.
func (b *box) loses(t *testing.T, name, finalizer, left string) {
	t.Helper()
	ctx := t.Context()
	m := b.machine(name, "")
	if err := b.Delete(ctx, m); err != nil {
		t.Errorf("deletion: %v", err)
	}
	finalizers := "null"
	if left != "" {
		finalizers = fmt.Sprintf("[%q]", left)
	}
	if err := b.patch(ctx, m, `{"metadata":{"finalizers":`+finalizers+`}}`); err != nil {
		t.Errorf("taking %s off: %v", finalizer, err)
	}
	err := b.Get(ctx, client.ObjectKeyFromObject(m), m)
	if gone := client.IgnoreNotFound(err) == nil && err != nil; gone != (left == "") {
		t.Errorf("after %s is off: %v", finalizer, err)
	}
}
