package capacity_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/controller/capacity"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/provider"
)

func TestMain(m *testing.M) {
	logf.SetLogger(logr.Discard())
	os.Exit(devplanetest.Main(m, devplanetest.Options{}))
}

// byType sizes machines by the instance type of their spec.
type byType struct{ provider.Provider }

func (byType) Open(_ context.Context, c provider.Class) (provider.Session, error) {
	sizes := map[string]provider.Size{
		`{"instanceType":"large"}`:                                     {VCPU: 4, MemoryMiB: 8192, Architecture: "arm64"},
		`{"credentialsSecret":{"name":"keys"},"instanceType":"large"}`: {VCPU: 4, MemoryMiB: 8192, Architecture: "arm64"},
		`{"instanceType":"small"}`:                                     {VCPU: 1, MemoryMiB: 1024, GPU: 1, Architecture: "amd64"},
	}
	return &sized{size: func() (provider.Size, error) {
		size, ok := sizes[string(c.Spec)]
		if !ok {
			return size, provider.InvalidField("instanceType", "unknown: %s", c.Spec)
		}
		return size, nil
	}}, nil
}

// world is a namespace of the real API server with the controllers of both
// kinds.
type world struct {
	client.Client
	*testing.T
	namespace string
	patches   atomic.Int64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, namespace: devplanetest.Namespace(t)}
	mgr, err := ctrl.NewManager(devplanetest.Start(t).Config, ctrl.Options{
		Scheme: run.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)}, // each test has a manager of its own
	})
	w.must(err)
	w.Client, err = client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme()})
	w.must(err)
	cached, err := client.NewWithWatch(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Cache: &client.CacheOptions{Reader: mgr.GetCache()}})
	w.must(err)
	counting := interceptor.NewClient(cached, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			w.patches.Add(1)
			return c.Patch(ctx, o, p, opts...)
		},
	})
	for _, kind := range []dialect.Scaled{openshift.ScaledSets{}, openshift.ScaledDeployments{}} {
		w.must(capacity.New(capacity.Options{
			Kind: kind, Clock: clock.RealClock{}, Client: counting, Resolver: dialect.AnyResolver(openshift.Resolver{Reader: counting}), Provider: byType{}, Recorder: events.NewFakeRecorder(100),
		}).SetupWithManager(mgr))
	}
	devplanetest.Run(t, mgr.Start)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// says waits until the annotations of o are as wanted.
func (w *world) says(o client.Object, reason string, want map[string]string) {
	w.Helper()
	diff := ""
	for range 200 {
		w.must(w.Get(w.Context(), client.ObjectKeyFromObject(o), o))
		if diff = cmp.Diff(want, o.GetAnnotations()); diff == "" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.Fatalf("%s: annotations (-want +got)\n%s", reason, diff)
}

func (w *world) change(o client.Object, edit func()) {
	w.Helper()
	before := o.DeepCopyObject().(client.Object)
	edit()
	w.must(w.Patch(w.Context(), o, client.MergeFrom(before)))
}

func template(instanceType string) (t machinev1.MachineTemplateSpec) {
	t.Labels = map[string]string{openshift.ClusterLabel: "c"}
	t.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"instanceType":"` + instanceType + `"}`)}
	return t
}

func offers(cpu, memory, gpu, arch string, more ...string) map[string]string {
	out := map[string]string{
		capacity.VCPUAnnotation: cpu, capacity.MemoryAnnotation: memory, capacity.GPUAnnotation: gpu,
		capacity.LabelsAnnotation: "kubernetes.io/arch=" + arch, capacity.OwnAnnotation: `{"capacity.cluster-autoscaler.kubernetes.io/labels":"kubernetes.io/arch=` + arch + `"}`,
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

// TestSecretIsCorrected: a set whose credentials do not exist says what its machines offer soon after they do.
func TestSecretIsCorrected(t *testing.T) {
	w := newWorld(t)
	s := &machinev1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "keyless"},
		Spec:       machinev1.MachineSetSpec{Replicas: ptr.To(int32(0)), Selector: metav1.LabelSelector{MatchLabels: template("").Labels}, Template: template("large")},
	}
	s.Spec.Template.Spec.ProviderSpec.Value.Raw = []byte(`{"credentialsSecret":{"name":"keys"},"instanceType":"large"}`)
	w.must(w.Create(t.Context(), s))
	time.Sleep(500 * time.Millisecond)
	w.says(s, "without its secret", nil)
	w.must(w.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "keys"}}))
	w.says(s, "with its secret", offers("4", "8192", "0", "arm64")) // it waits for ten seconds, which is less than SlowRetry
}

// TestOnAServer: what the autoscaler scales says what a machine of it offers,
// from its own template; the sets of a deployment say nothing; and nothing is
// written that is written already.
func TestOnAServer(t *testing.T) {
	w := newWorld(t)
	selector := metav1.LabelSelector{MatchLabels: template("").Labels}
	d := &v1beta1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "workers", Annotations: map[string]string{"own": "x"}},
		Spec:       v1beta1.MachineDeploymentSpec{Replicas: ptr.To(int32(0)), Selector: selector, Template: template("large")},
	}
	w.must(w.Create(t.Context(), d))
	set := func(name string, owners ...metav1.OwnerReference) *machinev1.MachineSet {
		s := &machinev1.MachineSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, OwnerReferences: owners},
			Spec:       machinev1.MachineSetSpec{Replicas: ptr.To(int32(0)), Selector: selector, Template: template("large")},
		}
		w.must(w.Create(t.Context(), s))
		return s
	}
	ours := deployed
	ours.UID = d.UID
	part, single := set("workers-1", ours), set("single")

	w.says(d, "a deployment without machines", offers("4", "8192", "0", "arm64", "own", "x"))
	w.says(single, "a set of its own", offers("4", "8192", "0", "arm64"))
	generation := d.Generation
	w.change(d, func() { d.Spec.Template = template("small") })
	w.says(d, "its template changed", offers("1", "1024", "1", "amd64", "own", "x"))
	w.change(d, func() { d.Annotations[capacity.VCPUAnnotation] = "99" })
	w.says(d, "somebody else wrote", offers("1", "1024", "1", "amd64", "own", "x"))
	if d.Generation != generation+1 {
		t.Errorf("generation %d, want %d: the spec was changed", d.Generation, generation+1)
	}
	w.says(part, "a set of the deployment", nil)
	w.change(part, func() { part.OwnerReferences = nil })
	w.says(part, "a set that was let go of", offers("4", "8192", "0", "arm64"))
	w.change(single, func() { single.Spec.Replicas = ptr.To(int32(3)) })
	time.Sleep(200 * time.Millisecond)
	if n := w.patches.Load(); n != 5 {
		t.Errorf("%d writes, want one for each of the five changes", n)
	}
}
