package machine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/runtime/leading"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const ns = "machines"

// recording is a fake API server that notes each write, and whatever the test
// wants to happen before it.
type recording struct {
	client.WithWatch
	writes []string
	// refuse may fail a write, given its note.
	refuse func(write string) error
	// stale, when set, is what Get answers for machines.
	stale client.Object
	// listed, when set, is what List answers for machines of Gardener.
	listed *v1alpha1.MachineList
	// unread is what a read of the server itself fails with, unlisted what a list
	// of machines does.
	unread, unlisted error
	// secret is what reads of secrets fail with, secrets is how many there were.
	secret  error
	secrets int
	// selections is how many lists there were by labels.
	selections int
}

func newRecording(t *testing.T, objects ...client.Object) *recording {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{machinev1.AddToScheme, v1beta1.AddToScheme, v1alpha1.AddToScheme, corev1.AddToScheme, policyv1.AddToScheme, storagev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	r := &recording{}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(r.funcs()).
		WithStatusSubresource(&machinev1.Machine{}, &v1alpha1.Machine{}, &corev1.Node{})
	for _, i := range node.Indexes() {
		b = b.WithIndex(i.Object, i.Name, i.Extract)
	}
	b = b.WithIndex(&machinev1.Machine{}, index.Node, index.NodeKeys[*machinev1.Machine](openshift.Machines{}))
	b = b.WithIndex(&machinev1.Machine{}, machine.SiblingIndex, index.OwnerKeys).WithIndex(&v1alpha1.Machine{}, machine.SiblingIndex, index.OwnerKeys)
	b = b.WithIndex(&v1alpha1.Machine{}, index.Node, index.NodeKeys[*v1alpha1.Machine](gardener.Machines{}))
	r.WithWatch = b.Build()
	r.identifies(t)
	return r
}

// clusters counts the clusters that tests made.
var clusters atomic.Int64

// identifies gives the cluster the namespace that tells it from all others.
func (r *recording) identifies(t *testing.T) {
	t.Helper()
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID(fmt.Sprintf("cluster-%d", clusters.Add(1)))}}
	if err := r.WithWatch.Create(t.Context(), system); err != nil {
		t.Fatal(err)
	}
	r.writes = nil
}

// note is "verb Kind" or "verb Kind/sub", with the resource version that a
// patch carries, if any, marked by "!".
func (r *recording) note(verb string, o client.Object, sub string, p client.Patch) (string, error) {
	w := verb + " " + strings.TrimPrefix(fmt.Sprintf("%T", o), "*")
	w = verb + " " + w[strings.LastIndex(w, ".")+1:]
	if sub != "" {
		w += "/" + sub
	}
	if p != nil {
		raw, err := p.Data(o)
		if err != nil {
			return "", err
		}
		if strings.Contains(string(raw), `"resourceVersion"`) {
			w += "!"
		}
	}
	if r.refuse != nil {
		if err := r.refuse(w); err != nil {
			return "", err
		}
	}
	r.writes = append(r.writes, w)
	return w, nil
}

func (r *recording) funcs() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if _, err := r.note("create", o, "", nil); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if _, err := r.note("delete", o, "", nil); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if _, err := r.note("patch", o, "", p); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, o, s client.Object, opts ...client.SubResourceCreateOption) error {
			if _, err := r.note("create", o, sub, nil); err != nil {
				return err
			}
			return c.SubResource(sub).Create(ctx, o, s, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if _, err := r.note("patch", o, sub, p); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return fmt.Errorf("the shell has no business with updates")
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if o := new(client.ListOptions).ApplyOptions(opts); o.LabelSelector != nil {
				r.selections++
			}
			switch list.(type) {
			case *machinev1.MachineList, *v1alpha1.MachineList:
				if r.unlisted != nil {
					return r.unlisted
				}
			}
			if l, ok := list.(*v1alpha1.MachineList); ok && r.listed != nil {
				r.listed.DeepCopyInto(l)
				return nil
			}
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			switch m := o.(type) {
			case *corev1.Secret:
				if r.secrets++; r.secret != nil {
					return r.secret
				}
			case *machinev1.Machine:
				if s, ok := r.stale.(*machinev1.Machine); ok {
					s.DeepCopyInto(m)
					return nil
				}
			case *v1alpha1.Machine:
				if s, ok := r.stale.(*v1alpha1.Machine); ok {
					s.DeepCopyInto(m)
					return nil
				}
			}
			return c.Get(ctx, key, o, opts...)
		},
	}
}

// rig is a reconciler with everything around it in memory.
type rig[M client.Object] struct {
	*testing.T
	lens    dialect.Machines[M]
	control *recording
	target  *recording
	cloud   *cloud
	clock   *clocktesting.FakeClock
	events  *events.FakeRecorder
	sight   connectivity.Source
	// cache shows the cluster that machines join; nil: it is never behind.
	cache client.Client
	// handover is how long what another process asked for may take to arrive.
	handover time.Duration
	tenure   *leading.Tenure
	nodes    *node.Cluster
	r        *machine.Reconciler[M]
}

func newRig[M client.Object](t *testing.T, lens dialect.Machines[M], objects ...client.Object) *rig[M] {
	g := &rig[M]{
		T: t, lens: lens, control: newRecording(t, objects...), target: newRecording(t),
		cloud: &cloud{next: provider.Instance{
			ID: "i-1", ProviderID: "memory:///i-1", NodeName: "node-1", State: provider.Running, RawState: "running", Created: start,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}, Type: "large",
		}},
		clock: clocktesting.NewFakeClock(start), events: events.NewFakeRecorder(100),
	}
	g.restart()
	return g
}

// restart is a new process: what was only remembered is lost.
func (g *rig[M]) restart() {
	var cache client.Client = g.target
	if g.cache != nil {
		cache = g.cache
	}
	g.nodes, g.tenure = node.New(cache, g.target, g.clock), leading.NewTenure(g.clock, g.handover)
	g.r = machine.New(machine.Options[M]{
		Client: g.control, Live: fresh{g.control}, Clock: g.clock, Dialect: g.lens, Resolver: resolver(g.lens, g.control), Provider: g.cloud, Recorder: g.events,
		Nodes: g.nodes, Connectivity: g.sight, Settled: g.tenure.Settled,
	})
}

func (g *rig[M]) try(name string) (reconcile.Result, error) {
	return g.r.Reconcile(g.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: ns, Name: name}})
}

// pass reconciles m-1, which must go well.
func (g *rig[M]) pass() reconcile.Result {
	g.Helper()
	res, err := g.try("m-1")
	if err != nil {
		g.Fatal(err)
	}
	return res
}

func (g *rig[M]) read() M {
	g.Helper()
	m := g.lens.New()
	if err := g.control.Get(g.Context(), client.ObjectKey{Namespace: ns, Name: "m-1"}, m); err != nil {
		g.Fatal(err)
	}
	return m
}

func (g *rig[M]) delete() {
	g.Helper()
	if err := g.control.Delete(g.Context(), g.read()); err != nil {
		g.Fatal(err)
	}
}

// joins lets a healthy node appear; its joining is no write of ours.
func (g *rig[M]) joins() {
	g.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node-uid"}}
	n.Spec.ProviderID = "memory:///i-1"
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := g.target.WithWatch.Create(g.Context(), n); err != nil {
		g.Fatal(err)
	}
	g.target.writes = slices.DeleteFunc(g.target.writes, func(w string) bool { return w == "create Node" })
}

// written are all writes so far to both clusters, and forgets them.
func (g *rig[M]) written() []string {
	out := append(slices.Clone(g.control.writes), g.target.writes...)
	g.control.writes, g.target.writes = nil, nil
	return out
}

func (g *rig[M]) told() (out []string) {
	for {
		select {
		case e := <-g.events.Events:
			out = append(out, e)
		default:
			return out
		}
	}
}

// The objects of the tests, in both APIs.

func openshiftMachine(edits ...func(*machinev1.Machine)) *machinev1.Machine {
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: "m-1", UID: "uid-1", CreationTimestamp: metav1.NewTime(start), Generation: 1,
		Labels: map[string]string{"machine.openshift.io/cluster-api-cluster": "blue"},
	}}
	m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"userDataSecret":{"name":"user"}}`)}
	m.Spec.ObjectMeta.Labels = map[string]string{"tier": "a"}
	for _, e := range edits {
		e(m)
	}
	return m
}

func gardenerMachine(edits ...func(*v1alpha1.Machine)) *v1alpha1.Machine {
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: "m-1", UID: "uid-1", CreationTimestamp: metav1.NewTime(start), Generation: 1,
		Labels: map[string]string{"name": "pool"},
	}}
	m.Spec.Class = v1alpha1.ClassSpec{Kind: "MachineClass", Name: "pool-a"}
	m.Spec.NodeTemplateSpec.Labels = map[string]string{"tier": "a"}
	for _, e := range edits {
		e(m)
	}
	return m
}

func held[M client.Object](finalizer string) func(M) {
	return func(m M) { m.SetFinalizers([]string{finalizer}) }
}

// bySet is what a set puts into a machine that it creates.
func bySet[M client.Object](finalizer string) func(M) {
	return func(m M) {
		m.SetFinalizers([]string{finalizer})
		dialect.Unasked(m)
	}
}

const (
	openshiftFinalizer = "machine.machine.openshift.io"
	gardenerFinalizer  = "machine.sapcloud.io/machine-controller-manager"
)

func userData(text string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "user"}, Data: map[string][]byte{"userData": []byte(text)}}
}

func machineClass() *v1alpha1.MachineClass {
	return &v1alpha1.MachineClass{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pool-a"}, ProviderSpec: runtime.RawExtension{Raw: []byte(`{}`)},
		SecretRef: &corev1.SecretReference{Namespace: ns, Name: "user"},
	}
}

// resolver reads what the machines of a lens are made from.
func resolver[M client.Object](lens dialect.Machines[M], r client.Reader) dialect.Resolver[M] {
	var of any = openshift.Resolver{Reader: r, TokenLifetime: time.Hour}
	if lens.API() == provider.Gardener {
		of = gardener.Resolver{Reader: r, Defaults: gardener.StandardDefaults(), Cluster: ns}
	}
	return of.(dialect.Resolver[M])
}

func openshiftRig(t *testing.T, edits ...func(*machinev1.Machine)) *rig[*machinev1.Machine] {
	return newRig[*machinev1.Machine](t, openshift.Machines{}, openshiftMachine(edits...), userData("boot <<MACHINE_NAME>>"))
}

func gardenerRig(t *testing.T, edits ...func(*v1alpha1.Machine)) *rig[*v1alpha1.Machine] {
	lens := gardener.Machines{Defaults: gardener.StandardDefaults()}
	return newRig[*v1alpha1.Machine](t, lens, gardenerMachine(edits...), machineClass(), userData("boot <<MACHINE_NAME>>"))
}
