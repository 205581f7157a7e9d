package local

import (
	"context"
	"encoding/json"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gardener/gardener/pkg/provider-local/machine-provider/local"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/adapters/gardener"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// beyond are the checks that this driver cannot pass; the suite runs them nevertheless, and they must fail.
var beyond = map[string]string{
	"owner":               "a driver writes no owner on an instance",
	"owner unknown":       "a driver writes no namespace on an instance",
	"another owner":       "a driver writes no owner on an instance",
	"class gone":          "a driver can do nothing without the spec",
	"foreign namesake":    "its clusters are namespaces, and the suite has one",
	"foreign provider ID": "its clusters are namespaces, and the suite has one",
	"listing complete":    "its clusters are namespaces, and the suite has one",
}

// fresh are the checks that restart the process.
var fresh = map[string]bool{"crash after create": true, "delete repeated": true}

const (
	namespace = "machines"
	// starts is the time until a pod runs.
	starts = 40 * time.Second
)

// cluster is a cluster whose pods are machines.
type cluster struct{ client client.Client }

func newCluster(t *testing.T) cluster {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, machinev1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return cluster{fake.NewClientBuilder().WithScheme(s).WithStatusSubresource(&corev1.Pod{}).Build()}
}

// kubelet starts pods that are old enough, until ctx ends.
func (c cluster) kubelet(ctx context.Context) {
	seen := map[string]time.Time{}
	for ctx.Err() == nil {
		for _, p := range c.pods() {
			if _, ok := seen[p.Name]; !ok {
				seen[p.Name] = time.Now()
			}
			if p.Status.Phase == "" && time.Since(seen[p.Name]) >= starts {
				p.Status.Phase, p.Status.PodIPs = corev1.PodRunning, []corev1.PodIP{{IP: "10.0.0.1"}}
				_ = c.client.Status().Update(ctx, &p)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (c cluster) pods() []corev1.Pod {
	var all corev1.PodList
	if err := c.client.List(context.Background(), &all); err != nil {
		panic(err)
	}
	return all.Items
}

// Object implements [provider.Objects]: the class, which says which driver it is for.
func (cluster) Object(_ context.Context, ref provider.ObjectRef) ([]byte, error) {
	if ref.Kind != "MachineClass" {
		return nil, provider.ErrNoObject
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"name": ref.Name, "namespace": ref.Namespace, "uid": "c"}, "provider": "local"})
}

func class(api, name string) provider.Class {
	return provider.Class{
		API: api, Cluster: name, Spec: []byte(`{"image":"example.com/node:1"}`),
		Object: provider.ObjectRef{APIVersion: "machine.sapcloud.io/v1alpha1", Kind: "MachineClass", Namespace: namespace, Name: "small"},
	}
}

// pod is the driver's pod for a machine, with the relevant fields.
func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "machine-" + name, Labels: map[string]string{"machine-provider": "local", "app": "machine", "machine": name},
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "node", Image: "example.com/node:1"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// TestADriverOfOthersConforms: the published driver, in a synctest bubble.
func TestADriverOfOthersConforms(t *testing.T) {
	for _, c := range providertest.Checks() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				defer end()
				in := newCluster(t)
				go in.kubelet(ctx)
				err := c.Run(ctx, in.harness(ctx, fresh[c.Name]), provider.Gardener)
				why, excused := beyond[c.Name]
				switch {
				case providertest.Skipped(err):
					t.Skip(err)
				case excused && err == nil:
					t.Errorf("it is met, and said to be beyond the driver: %s", why)
				case excused:
					t.Skipf("%s: %v", why, err)
				case err != nil:
					t.Errorf("%s: %v", c.Reason, err)
				}
			})
		})
	}
}

func (c cluster) harness(all context.Context, fresh bool) providertest.Harness {
	life, end := all, context.CancelFunc(func() {})
	return providertest.Harness{
		Start: func() provider.Provider {
			if end(); fresh {
				life, end = context.WithCancel(all)
			}
			p := gardener.New(life, gardener.Config{
				Name: "local", Driver: local.NewDriver(c.client), Clock: clock.RealClock{}, Objects: c, Settings: gardener.Settings{ReadLag: time.Second},
			})
			if s, err := p.Open(all, class(provider.Gardener, "any")); err == nil { // it has worked for longer than its reads run behind
				_, _ = s.Find(all, provider.Ref{UID: "u", Namespace: namespace, Name: "none"})
				time.Sleep(time.Second)
			}
			return p
		},
		Class:      class,
		APIs:       []string{provider.Gardener},
		ProviderID: map[string]*regexp.Regexp{provider.Gardener: regexp.MustCompile(`^machine-[a-z0-9-]+$`)},
		Patience:   time.Hour,
		Knobs: providertest.Knobs{
			Advance: time.Sleep,
			Plant: func(_ provider.Class, i provider.Instance) error {
				if i.UID != "" {
					return providertest.Skip("drivers write no UID on instances")
				}
				return c.client.Create(all, pod(i.Name))
			},
			Remove: func(_ provider.Class, id string) error { return c.client.Delete(all, pod(id)) },
			Count:  func(provider.Class) (int, int, error) { return len(c.pods()), 0, nil },
		},
	}
}
