package capacity_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/controller/capacity"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/provider"
)

// sized is a provider that knows one thing.
type sized struct {
	provider.Provider
	provider.Session
	size func() (provider.Size, error)
}

func (p *sized) Open(context.Context, provider.Class) (provider.Session, error) { return p, nil }
func (p *sized) Size(context.Context) (provider.Size, error)                    { return p.size() }

// plain is a provider that knows nothing of sizes.
type plain struct{ provider.Provider }

func (plain) Open(context.Context, provider.Class) (provider.Session, error) {
	return struct{ provider.Session }{}, nil
}

// deployed is how a set says that it belongs to a deployment.
var deployed = metav1.OwnerReference{
	APIVersion: "machine.openshift.io/v1beta1", Kind: "MachineDeployment", Name: "workers", UID: "deployment-uid", Controller: ptr.To(true),
}

type fixture struct {
	client.Client
	reconciler *capacity.Reconciler
	events     *events.FakeRecorder
	patches    int
}

func newFixture(t *testing.T, p provider.Provider, changes ...func(*machinev1.MachineSet)) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{machinev1.AddToScheme, v1beta1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &machinev1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "workers"}}
	s.Spec.Template.Labels = map[string]string{openshift.ClusterLabel: "c"}
	s.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"instanceType":"large"}`)}
	for _, c := range changes {
		c(s)
	}
	f := &fixture{events: events.NewFakeRecorder(10)}
	f.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(s).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			f.patches++
			return c.Patch(ctx, o, p, opts...)
		},
	}).Build()
	f.reconciler = capacity.New(capacity.Options{Kind: openshift.ScaledSets{}, Client: f, Resolver: dialect.AnyResolver(openshift.Resolver{Reader: f}), Provider: p, Recorder: f.events})
	return f
}

func (f *fixture) reconcile(t *testing.T) (ctrl.Result, error) {
	t.Helper()
	return f.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "workers"}})
}

func (f *fixture) annotations(t *testing.T) map[string]string {
	t.Helper()
	var s machinev1.MachineSet
	if err := f.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "workers"}, &s); err != nil {
		t.Fatal(err)
	}
	return s.Annotations
}

func TestWritesOnce(t *testing.T) {
	vcpu := int64(4)
	f := newFixture(t, &sized{size: func() (provider.Size, error) { return provider.Size{VCPU: vcpu, MemoryMiB: 8192}, nil }})
	for range 3 {
		if _, err := f.reconcile(t); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.annotations(t); got[capacity.VCPUAnnotation] != "4" || got[capacity.MemoryAnnotation] != "8192" || f.patches != 1 {
		t.Errorf("%v after %d patches, want one", got, f.patches)
	}
	vcpu = 8
	if _, err := f.reconcile(t); err != nil {
		t.Fatal(err)
	}
	if got := f.annotations(t); got[capacity.VCPUAnnotation] != "8" || f.patches != 2 {
		t.Errorf("%v after %d patches, want two", got, f.patches)
	}
}

// TestSomebodyElseWrites: an object that changes between the read and the write is reconciled again,
// although the watch may filter out that change.
func TestSomebodyElseWrites(t *testing.T) {
	var f *fixture
	meddling := true
	f = newFixture(t, &sized{size: func() (provider.Size, error) {
		var s machinev1.MachineSet
		if err := f.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "workers"}, &s); err != nil {
			return provider.Size{}, err
		}
		if s.Status.Replicas++; meddling {
			return provider.Size{VCPU: 4}, f.Update(t.Context(), &s)
		}
		return provider.Size{VCPU: 4}, nil
	}})
	res, err := f.reconcile(t)
	if err != nil || res.RequeueAfter != capacity.ConflictRetry || f.annotations(t)[capacity.VCPUAnnotation] != "" {
		t.Fatalf("%v, %v and annotations %v after a conflict", res, err, f.annotations(t))
	}
	meddling = false
	if res, err = f.reconcile(t); err != nil || !res.IsZero() || f.annotations(t)[capacity.VCPUAnnotation] != "4" {
		t.Errorf("%v, %v and annotations %v after it", res, err, f.annotations(t))
	}
}

func TestFaults(t *testing.T) {
	fail := func(err error) provider.Provider {
		return &sized{size: func() (provider.Size, error) { return provider.Size{}, err }}
	}
	tests := map[string]struct {
		reason   string
		provider provider.Provider
		change   func(*machinev1.MachineSet)
		told     string
		slow     bool
		failed   bool
	}{
		"unknown type": {
			reason: "told once with the field, tried again slowly", slow: true,
			provider: fail(provider.InvalidField("instanceType", "unknown type")), told: "spec.template.spec.providerSpec.value.instanceType: unknown type",
		},
		"denied": {
			reason: "only new credentials help", slow: true,
			provider: fail(provider.Errorf(provider.Denied, "no access")), told: "no access",
		},
		"call failed": {
			reason: "tried again soon, nobody is bothered", failed: true,
			provider: fail(errors.New("connection reset")),
		},
		"no spec": {
			reason: "names the field", slow: true,
			provider: fail(nil), change: func(s *machinev1.MachineSet) { s.Spec.Template.Spec.ProviderSpec.Value = nil },
			told: "spec.template.spec.providerSpec.value: value field must be set",
		},
		"provider without sizes": {
			reason: "left alone", provider: plain{},
		},
		"another API in charge": {
			reason: "left alone", provider: fail(errors.New("not to be asked")),
			change: func(s *machinev1.MachineSet) { s.Status.AuthoritativeAPI = machinev1.MachineAuthorityClusterAPI },
		},
		"of a deployment": {
			reason: "the autoscaler scales the deployment", provider: fail(errors.New("not to be asked")),
			change: func(s *machinev1.MachineSet) { s.OwnerReferences = []metav1.OwnerReference{deployed} },
		},
		"being deleted": {
			reason: "left alone", provider: fail(errors.New("not to be asked")),
			change: func(s *machinev1.MachineSet) {
				s.DeletionTimestamp, s.Finalizers = ptr.To(metav1.Now()), []string{"example.com/hold"}
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.change == nil {
				tc.change = func(*machinev1.MachineSet) {}
			}
			f := newFixture(t, tc.provider, tc.change)
			for range 2 {
				res, err := f.reconcile(t)
				if (err != nil) != tc.failed || (res.RequeueAfter == capacity.SlowRetry) != tc.slow {
					t.Errorf("%s: got %v, %v", tc.reason, res, err)
				}
			}
			if n := len(f.events.Events); (tc.told != "" && n != 1) || (tc.told == "" && n != 0) {
				t.Fatalf("%s: %d events", tc.reason, n)
			}
			if tc.told != "" {
				if got := <-f.events.Events; !strings.HasPrefix(got, "Warning FailedUpdate ") || !strings.HasSuffix(got, tc.told) {
					t.Errorf("%s: told %q, want %q", tc.reason, got, tc.told)
				}
			}
			if f.patches != 0 {
				t.Errorf("%s: %d patches", tc.reason, f.patches)
			}
		})
	}
}

// TestDeployment: the autoscaler reads the annotations of what it scales.
func TestDeployment(t *testing.T) {
	f := newFixture(t, &sized{size: func() (provider.Size, error) {
		return provider.Size{VCPU: 4, MemoryMiB: 8192, Architecture: "arm64"}, nil
	}})
	d := &v1beta1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "workers", Annotations: map[string]string{"own": "x"}}}
	d.Spec.Template.Labels = map[string]string{openshift.ClusterLabel: "c"}
	d.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"instanceType":"large"}`)}
	if err := f.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	f.reconciler.Kind = openshift.ScaledDeployments{}
	for range 2 {
		if _, err := f.reconcile(t); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"own": "x", capacity.VCPUAnnotation: "4", capacity.MemoryAnnotation: "8192", capacity.GPUAnnotation: "0",
		capacity.LabelsAnnotation: "kubernetes.io/arch=arm64", capacity.OwnAnnotation: `{"capacity.cluster-autoscaler.kubernetes.io/labels":"kubernetes.io/arch=arm64"}`,
	}
	if !maps.Equal(d.Annotations, want) || f.patches != 1 {
		t.Errorf("%v after %d patches, want %v after one", d.Annotations, f.patches, want)
	}
	if got := f.annotations(t); len(got) > 0 {
		t.Errorf("the set of the same name has %v", got)
	}
}
