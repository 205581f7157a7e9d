// Package live runs the machine controllers of both APIs against a real API
// server, with an infrastructure in memory.
package live

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/controller/machineclass"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(devplanetest.Main(m, devplanetest.Options{}))
}

// within is how long the API server and the controllers are given for one step.
const within = 30 * time.Second

// stage is everything around the machines of one test.
type stage struct {
	*testing.T
	ns    string
	cloud *providertest.Cloud
	// api reads past caches.
	api client.Client
	// around is what the controllers' provider is put into.
	around []func(provider.Provider) provider.Provider
}

// open starts the controllers of both APIs for one namespace.
func open(t *testing.T, around ...func(provider.Provider) provider.Provider) *stage {
	env := devplanetest.Start(t)
	s := &stage{T: t, ns: devplanetest.Namespace(t), around: around, cloud: providertest.NewCloud(clock.RealClock{})}
	s.cloud.Boot, s.cloud.Shutdown = 300*time.Millisecond, 300*time.Millisecond
	mgr, err := ctrl.NewManager(env.Config, ctrl.Options{
		Scheme: run.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(),
		Controller: config.Controller{SkipNameValidation: ptr.To(true)}, // each test has a manager of its own
	})
	s.must("make a manager", err)
	s.api, err = client.New(env.Config, client.Options{Scheme: run.Scheme()})
	s.must("make a client", err)

	s.must("index nodes", node.SetupIndexes(t.Context(), mgr.GetFieldIndexer()))
	serve(s, mgr, openshift.Machines{}, openshift.Resolver{Reader: mgr.GetClient(), Provider: referring{s.cloud.Provider()}})
	defaults := gardener.StandardDefaults()
	serve(s, mgr, gardener.Machines{Defaults: defaults}, gardener.Resolver{Reader: mgr.GetClient(), Defaults: defaults, Cluster: s.ns})
	s.must("set up classes", machineclass.SetupWithManager(t.Context(), mgr, machineclass.Setup{Namespace: s.ns}))

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error("the manager:", err)
		}
	})
	return s
}

// referring lets every spec name the secret of the tests.
type referring struct{ provider.Provider }

// ReadSpec implements [provider.SpecReader].
func (referring) ReadSpec(string, []byte) (provider.SpecNames, error) {
	return provider.SpecNames{UserData: provider.SecretRef{Name: "cloud"}, Credentials: provider.SecretRef{Name: "cloud"}}, nil
}

func serve[M client.Object](s *stage, mgr ctrl.Manager, lens dialect.Machines[M], classes dialect.Resolver[M]) {
	s.Helper()
	infrastructure := s.cloud.Provider()
	for _, around := range s.around {
		infrastructure = around(infrastructure)
	}
	r := machine.New(machine.Options[M]{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}, Dialect: lens, Resolver: classes, Provider: infrastructure,
		Nodes: node.New(mgr.GetClient(), mgr.GetAPIReader(), clock.RealClock{}), Recorder: mgr.GetEventRecorder("machine"),
	})
	setup := machine.Setup{Name: "machine." + lens.API(), Workers: 2, Target: mgr.GetCache()}
	s.must("set up "+lens.API(), r.SetupWithManager(s.Context(), mgr, setup))
}

func (s *stage) must(doing string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", doing, err)
	}
}

// until waits for a condition, which reports what is missing.
func (s *stage) until(what string, missing func() string) {
	s.Helper()
	deadline := time.Now().Add(within)
	last := ""
	for time.Now().Before(deadline) {
		if last = missing(); last == "" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.Fatalf("%s: not within %v: %s", what, within, last)
}

// read refreshes an object and reports why it cannot.
func (s *stage) read(o client.Object) string {
	if err := s.api.Get(s.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		return err.Error()
	}
	return ""
}

func (s *stage) gone(o client.Object) string {
	err := s.api.Get(s.Context(), client.ObjectKeyFromObject(o), o)
	switch {
	case apierrors.IsNotFound(err):
		return ""
	case err != nil:
		return err.Error()
	}
	return "it is there, with the finalizers " + joined(o.GetFinalizers())
}

func joined(list []string) (out string) {
	for _, e := range list {
		out += e + " "
	}
	return out
}

// join is what the kubelet of an instance does, as far as machines care.
func (s *stage) join(name, providerID string) *corev1.Node {
	s.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
	s.must("create node", s.api.Create(s.Context(), n))
	before := n.DeepCopy()
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
	s.must("report node Ready", s.api.Status().Patch(s.Context(), n, client.MergeFrom(before)))
	return n
}

func (s *stage) empty(api, cluster string) {
	s.Helper()
	instances, disks, err := s.cloud.Count(s.cloud.Class(api, cluster))
	if err != nil || instances+disks > 0 {
		s.Errorf("the cloud is left with %d instances and %d disks (%v)", instances, disks, err)
	}
}

func (s *stage) secret() *corev1.Secret {
	s.Helper()
	o := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "cloud"},
		Data:       map[string][]byte{"userData": []byte("boot <<MACHINE_NAME>>"), "password": []byte("sesame")},
	}
	s.must("create secret", s.api.Create(s.Context(), o))
	return o
}

var spec = runtime.RawExtension{Raw: []byte(`{"size":"small","zone":"a"}`)}

func TestOpenShift(t *testing.T) {
	s := open(t)
	s.secret()
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.ns, Name: "m-" + s.ns, Labels: map[string]string{"machine.openshift.io/cluster-api-cluster": s.ns},
	}}
	m.Spec.ProviderSpec.Value = &spec
	m.Spec.ObjectMeta.Labels = map[string]string{"tier": "a"}
	s.must("create machine", s.api.Create(t.Context(), m))
	s.until("Provisioned", func() string {
		if why := s.read(m); why != "" || m.Status.Phase == nil || *m.Status.Phase != "Provisioned" {
			return why + " it is not Provisioned"
		}
		return ""
	})
	n := s.join(m.Name, *m.Spec.ProviderID)
	s.until("Running", func() string {
		if why := s.read(m); why != "" || *m.Status.Phase != "Running" || m.Status.NodeRef == nil {
			return why + " it is " + *m.Status.Phase
		}
		return ""
	})
	s.must("read node", s.api.Get(t.Context(), client.ObjectKeyFromObject(n), n))
	if m.Status.NodeRef.UID != n.UID || n.Annotations["machine.openshift.io/machine"] != s.ns+"/"+m.Name || n.Labels["tier"] != "a" {
		t.Errorf("machine and node are not linked: %+v, %v, %v", m.Status.NodeRef, n.Annotations, n.Labels)
	}
	if m.Labels["machine.openshift.io/instance-type"] != "small" || m.Labels["machine.openshift.io/zone"] != "a" {
		t.Errorf("the printed columns are not fed: %v", m.Labels)
	}
	s.must("delete machine", s.api.Delete(t.Context(), m))
	s.until("machine gone", func() string { return s.gone(m) })
	s.until("node gone", func() string { return s.gone(n) })
	s.empty(provider.OpenShift, s.ns)
}

func TestGardener(t *testing.T) {
	s := open(t)
	secret := s.secret()
	class := &v1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "pool"}, ProviderSpec: spec}
	class.SecretRef = &corev1.SecretReference{Namespace: s.ns, Name: secret.Name}
	s.must("create class", s.api.Create(t.Context(), class))
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "m-" + s.ns}}
	m.Spec.Class = v1alpha1.ClassSpec{Kind: "MachineClass", Name: "pool"}
	m.Spec.NodeTemplateSpec.Labels = map[string]string{"tier": "a"}
	s.must("create machine", s.api.Create(t.Context(), m))
	s.until("Pending with an instance", func() string {
		if why := s.read(m); why != "" || m.Status.CurrentStatus.Phase != "Pending" || m.Spec.ProviderID == "" {
			return why + " it is " + string(m.Status.CurrentStatus.Phase) + " " + m.Status.LastOperation.Description
		}
		return ""
	})
	n := s.join(m.Labels["node"], m.Spec.ProviderID)
	s.until("Running", func() string {
		if why := s.read(m); why != "" || m.Status.CurrentStatus.Phase != "Running" {
			return why + " it is " + string(m.Status.CurrentStatus.Phase)
		}
		return ""
	})
	s.must("read node", s.api.Get(t.Context(), client.ObjectKeyFromObject(n), n))
	if n.Labels["tier"] != "a" || n.Labels["node.gardener.cloud/machine-name"] != m.Name || len(n.Finalizers) != 1 {
		t.Errorf("the node template is not on the node: %v, %v", n.Labels, n.Finalizers)
	}
	for _, o := range []client.Object{class, secret} {
		s.until("held", func() string {
			if why := s.read(o); why != "" || len(o.GetFinalizers()) != 1 {
				return why + " it has not got its finalizer"
			}
			return ""
		})
		s.must("delete what is still needed", s.api.Delete(t.Context(), o))
	}
	// Deleting the node is deleting its machine, and class and secret go after it.
	s.must("delete node", s.api.Delete(t.Context(), n))
	for _, o := range []client.Object{m, n, class, secret} {
		s.until("gone", func() string { return s.gone(o) })
	}
	s.empty(provider.Gardener, s.ns)
}
