package orphan_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	shell "github.com/millwright-dev/millwright/internal/controller/orphan"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/providertest"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const ns = "blue"

// The identities of this control plane and of another one.
const us, them = "5f1c5b5e-5d0f-4b8e-9a60-0d7a3f6f2c11", "c0a8012e-7b1d-4f7e-8c55-9be1f4a2d3e4"

// reader is an API server that may be lost.
type reader struct {
	client.Reader
	// err is what listings of machines come to; before is called ahead of each.
	err    error
	before func()
	// page is how many machines a page has, 0 for all; lost is the page that
	// fails.
	page, lost int
	lists      int
}

func (r *reader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	r.lists++
	if r.before != nil {
		r.before()
	}
	if r.err != nil {
		return r.err
	}
	if r.page == 0 {
		return r.Reader.List(ctx, list, opts...)
	}
	var o client.ListOptions
	o.ApplyOptions(opts)
	n := 0
	if o.Continue != "" {
		if _, err := fmt.Sscan(o.Continue, &n); err != nil {
			return err
		}
	}
	if err := r.Reader.List(ctx, list, client.InNamespace(o.Namespace)); err != nil {
		return err
	}
	if r.lost > 0 && n == r.lost*r.page {
		return errors.New("etcdserver: request timed out")
	}
	all, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	end := min(n+r.page, len(all))
	if end < len(all) {
		list.SetContinue(fmt.Sprint(end))
	}
	return meta.SetList(list, all[min(n, end):end])
}

// referring names the secret of specs that cannot.
type referring struct{ provider.Provider }

func (r referring) Unwrap() any { return r.Provider }

func (referring) ReadSpec(string, []byte) (provider.SpecNames, error) {
	return provider.SpecNames{Credentials: provider.SecretRef{Name: "cloud"}}, nil
}

// world is a collector with everything around it in memory.
type world struct {
	*testing.T
	clock    *clocktesting.FakeClock
	cloud    *providertest.Cloud
	provider provider.Provider
	calls    map[string]int
	// refuse is what calls of a verb come to, hook what happens before them.
	refuse   map[string]error
	hook     func(verb string)
	api      client.Client
	live     *reader
	cache    client.Client
	policy   orphan.Policy
	events   *events.FakeRecorder
	registry *prometheus.Registry
	served   []string
	joined   *node.Cluster
	c        *shell.Collector
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{machinev1.AddToScheme, v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// newWorld has ten machines of each API, all in order, in one scope.
func newWorld(t *testing.T) *world {
	w := &world{
		T: t, clock: clocktesting.NewFakeClock(start), calls: map[string]int{}, refuse: map[string]error{},
		policy: orphan.DefaultPolicy(), events: events.NewFakeRecorder(100), served: []string{provider.OpenShift, provider.Gardener},
	}
	w.policy.Owner, w.policy.Namespace = us, ns
	w.cloud = providertest.NewCloud(w.clock)
	w.provider = referring{decorate.Calls(w.cloud.Provider(), func(ctx context.Context, c decorate.Call, do func(context.Context) error) error {
		w.calls[c.Verb]++
		if w.hook != nil {
			w.hook(c.Verb)
		}
		if err := w.refuse[c.Verb]; err != nil {
			return err
		}
		return do(ctx)
	})}
	w.api = fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(machineClass("pool-a"), machineClass("pool-b"), machineSet("set"), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "cloud"}, Data: map[string][]byte{"password": []byte("sesame")},
	}).Build()
	w.cache, w.live = w.api, &reader{Reader: w.api}
	for n := range 10 {
		w.create(w.openshiftMachine(fmt.Sprintf("o-%d", n), w.make(fmt.Sprintf("uid-o%d", n), fmt.Sprintf("o-%d", n))))
		w.create(w.gardenerMachine(fmt.Sprintf("g-%d", n), w.make(fmt.Sprintf("uid-g%d", n), fmt.Sprintf("g-%d", n))))
	}
	w.clock.Step(time.Minute)
	w.restart()
	return w
}

// restart is a new process: what was only remembered is lost.
func (w *world) restart() {
	w.Helper()
	w.registry = prometheus.NewRegistry()
	m, err := shell.NewMetrics(w.registry)
	if err != nil {
		w.Fatal(err)
	}
	w.c = shell.New(shell.Options{
		Kinds: w.kinds(), Provider: w.provider, Clock: w.clock, Policy: w.policy, Recorder: w.events, Metrics: m,
		Random: func() float64 { return 0.5 }, Nodes: w.joined,
	})
}

func (w *world) kinds() []shell.Kind {
	o := shell.Machines[*machinev1.Machine]{
		Lens: openshift.Machines{}, Resolver: openshift.Resolver{Reader: w.cache, Provider: w.provider},
		GVK: machinev1.GroupVersion.WithKind("Machine"), Live: w.live, Namespace: ns,
	}
	g := shell.Machines[*v1alpha1.Machine]{
		Lens: gardener.Machines{Defaults: gardener.StandardDefaults()}, Resolver: gardener.Resolver{Reader: w.cache, Defaults: gardener.StandardDefaults()},
		GVK: v1alpha1.GroupVersion.WithKind("Machine"), Live: w.live, Namespace: ns, Untagged: true,
	}
	if slices.Contains(w.served, provider.OpenShift) {
		o.Cache = w.cache
	}
	if slices.Contains(w.served, provider.Gardener) {
		g.Cache = w.cache
	}
	return []shell.Kind{o, g}
}

func (w *world) create(o client.Object) {
	w.Helper()
	if err := w.api.Create(w.Context(), o); err != nil {
		w.Fatal(err)
	}
}

func (w *world) delete(o client.Object) {
	w.Helper()
	if err := w.api.Delete(w.Context(), o); err != nil {
		w.Fatal(err)
	}
}

// make buys an instance as a controller does, and returns its ID.
func (w *world) make(uid, name string) string {
	w.Helper()
	return w.makeFor(us, provider.Ref{UID: uid, Namespace: ns, Name: name})
}

// makeFor buys an instance as a controller of the owner does.
func (w *world) makeFor(owner string, ref provider.Ref) string {
	w.Helper()
	class := w.cloud.Class(provider.OpenShift, ns)
	class.Owner = owner
	s, err := w.cloud.Provider().Open(w.Context(), class)
	if err != nil {
		w.Fatal(err)
	}
	i, err := s.Create(w.Context(), ref, provider.Want{})
	if err != nil {
		w.Fatal(err)
	}
	return i.ID
}

// plant makes an instance behind the controllers' back, and returns its ID.
func (w *world) plant(uid, name string) string {
	w.Helper()
	before, class := w.ids(), w.cloud.Class(provider.OpenShift, ns)
	class.Owner = us
	if err := w.cloud.Plant(class, provider.Instance{UID: uid, Namespace: ns, Name: name}); err != nil {
		w.Fatal(err)
	}
	for _, id := range w.ids() {
		if !slices.Contains(before, id) {
			return id
		}
	}
	w.Fatal("nothing was planted")
	return ""
}

// ids are those of the instances that exist, read around the collector.
func (w *world) ids() (out []string) {
	w.Helper()
	s, err := w.cloud.Provider().Open(w.Context(), w.cloud.Class(provider.OpenShift, ns))
	if err != nil {
		w.Fatal(err)
	}
	for i, err := range s.List(w.Context()) {
		if err != nil {
			w.Fatal(err)
		}
		if i.Exists() && i.State != provider.Stopping {
			out = append(out, i.ID)
		}
	}
	return out
}

func (w *world) exists(id string) bool { return slices.Contains(w.ids(), id) }

// pass makes one pass, and lets the time pass that it asks for.
func (w *world) pass() {
	w.Helper()
	wait := w.c.Pass(w.Context())
	if wait <= 0 || wait > 17*time.Minute {
		w.Fatalf("again in %v", wait)
	}
	w.clock.Step(wait)
}

// passes makes them for so long.
func (w *world) passes(d time.Duration) {
	w.Helper()
	for end := w.clock.Now().Add(d); w.clock.Now().Before(end); {
		w.pass()
	}
}

// survives demands that the instance does, long beyond its grace period.
func (w *world) survives(id, reason string) {
	w.Helper()
	w.passes(90 * time.Minute)
	if !w.exists(id) {
		w.Errorf("the instance was removed: %s", reason)
	}
	w.whole()
}

// goes demands that the instance is removed within an hour, and no other one.
func (w *world) goes(id, reason string) {
	w.Helper()
	w.passes(time.Hour)
	if w.exists(id) {
		w.Errorf("the instance is still there: %s", reason)
	}
	w.whole()
}

// whole demands that every machine that has recorded an instance still has it.
func (w *world) whole() {
	w.Helper()
	ids := w.ids()
	var recorded []string
	var o machinev1.MachineList
	var g v1alpha1.MachineList
	if err := errors.Join(w.api.List(w.Context(), &o), w.api.List(w.Context(), &g)); err != nil {
		w.Fatal(err)
	}
	for _, m := range o.Items {
		recorded = append(recorded, ptr.Deref(m.Spec.ProviderID, ""))
	}
	for _, m := range g.Items {
		recorded = append(recorded, m.Spec.ProviderID)
	}
	for _, id := range recorded {
		if id = strings.ToLower(id[strings.LastIndexByte(id, '/')+1:]); id != "" && !slices.Contains(ids, id) {
			w.Errorf("a machine has lost its instance %s", id)
		}
	}
}

// told are the events so far.
func (w *world) told() (out []string) {
	for {
		select {
		case e := <-w.events.Events:
			out = append(out, e)
		default:
			return out
		}
	}
}

// metric is the value of a metric, with the labels as name="value".
func (w *world) metric(name, label string) float64 {
	w.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			l := ""
			for _, p := range m.GetLabel() {
				l += p.GetValue()
			}
			if f.GetName() == name && l == label {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// The objects of the tests.

// uidOf is that of the machine "o-1": "uid-o1".
func uidOf(name string) types.UID { return types.UID("uid-" + strings.ReplaceAll(name, "-", "")) }

func (w *world) openshiftMachine(name, id string) *machinev1.Machine {
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: name, UID: uidOf(name), Labels: map[string]string{openshift.ClusterLabel: ns},
	}}
	m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"size":"small","zone":"a"}`)}
	if id != "" {
		m.Spec.ProviderID, m.Status.Phase = ptr.To("example://"+id), ptr.To("Running")
	}
	return m
}

func (w *world) gardenerMachine(name, id string) *v1alpha1.Machine {
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, UID: uidOf(name)}}
	m.Spec.Class = v1alpha1.ClassSpec{Kind: "MachineClass", Name: "pool-a"}
	if id != "" {
		m.Spec.ProviderID, m.Status.CurrentStatus.Phase = "example:///"+id, v1alpha1.MachineRunning
		m.Labels = map[string]string{v1alpha1.LabelKeyNode: name}
	}
	return m
}

func machineClass(name string) *v1alpha1.MachineClass {
	return &v1alpha1.MachineClass{
		ObjectMeta:   metav1.ObjectMeta{Namespace: ns, Name: name},
		ProviderSpec: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"size":"small","zone":%q}`, name[len(name)-1:])},
		SecretRef:    &corev1.SecretReference{Namespace: ns, Name: "cloud"},
	}
}

func machineSet(name string) *machinev1.MachineSet {
	s := &machinev1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	s.Spec.Template.Labels = map[string]string{openshift.ClusterLabel: ns}
	s.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"size":"large","zone":"b"}`)}
	return s
}

func secretOf(w *world) *corev1.Secret {
	w.Helper()
	var s corev1.Secret
	if err := w.api.Get(w.Context(), client.ObjectKey{Namespace: ns, Name: "cloud"}, &s); err != nil {
		w.Fatal(err)
	}
	s.ResourceVersion = ""
	return &s
}

// blindFinds is a provider whose Find finds nothing.
type blindFinds struct{ provider.Provider }

func (b blindFinds) Unwrap() any { return b.Provider }

func (b blindFinds) Open(ctx context.Context, c provider.Class) (provider.Session, error) {
	s, err := b.Provider.Open(ctx, c)
	return findless{s}, err
}

type findless struct{ provider.Session }

func (f findless) Unwrap() any { return f.Session }

func (findless) Find(context.Context, provider.Ref) ([]provider.Instance, error) { return nil, nil }

// noOpenShift is a cluster without that API.
type noOpenShift struct{ client.Reader }

func (r noOpenShift) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*machinev1.MachineList); ok {
		return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "machine.openshift.io", Kind: "Machine"}}
	}
	return r.Reader.List(ctx, list, opts...)
}
