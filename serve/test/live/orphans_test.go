// Package live runs a provider's whole program against a real API server.
package live

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
	"github.com/millwright-dev/millwright/serve"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	os.Exit(devplanetest.Main(m, devplanetest.Options{}))
}

// within limits the time of the API server and the program for one step.
const within = 30 * time.Second

// stage is a program that serves both APIs in one namespace.
type stage struct {
	*testing.T
	ns    string
	api   client.Client
	cloud kubemark.Console
	class provider.Class
}

// open starts the program with the flags.
func open(t *testing.T, flags ...string) *stage {
	env := devplanetest.Start(t)
	s := &stage{T: t, ns: devplanetest.Namespace(t)}
	var err error
	s.api, err = client.New(env.Config, client.Options{Scheme: run.Scheme()})
	s.must("make a client", err)
	kubeconfig, err := env.Kubeconfig("program", "system:masters")
	s.must("make a kubeconfig", err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	s.must("write it", os.WriteFile(path, kubeconfig, 0o600))
	p, err := kubemark.New(kubemark.Config{Backend: kubemark.Memory})
	s.must("make a provider", err)
	system := &corev1.Namespace{}
	s.must("read the control plane's identity", s.api.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, system))
	s.cloud, s.class = p.Console(), provider.Class{API: provider.Gardener, Cluster: s.ns, Owner: string(system.UID), Spec: []byte("{}")}

	c := serve.Command(serve.Plugin{Name: "kubemark", New: func(context.Context, serve.Env) (provider.Provider, error) { return p, nil }})
	c.SetArgs(append([]string{
		"--namespace=" + s.ns, "--target-kubeconfig=" + path, "--leader-elect=false", "--metrics-bind-address=0", "--approve-csrs=false",
	}, flags...))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error("the program:", err)
		}
	})
	return s
}

func (s *stage) must(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// eventually repeats a check until it returns an empty string.
func (s *stage) eventually(what string, missing func() string) {
	s.Helper()
	last := ""
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if last = missing(); last == "" {
			return
		}
	}
	s.Fatalf("not within %v: %s: %s", within, what, last)
}

// instances returns the IDs of the existing instances.
func (s *stage) instances() (ids []string) {
	s.Helper()
	all, err := s.cloud.Instances(s.Context(), s.ns)
	s.must("list instances", err)
	for _, i := range provider.Existing(all) {
		ids = append(ids, i.ID)
	}
	slices.Sort(ids)
	return ids
}

// left waits until exactly these instances and their resources exist.
func (s *stage) left(want []string) {
	s.Helper()
	s.eventually("only what machines have is left", func() string {
		dependants, err := s.cloud.Dependants(s.ns)
		s.must("count dependants", err)
		if have := s.instances(); !slices.Equal(have, want) || dependants != 2*len(want) {
			return fmt.Sprintf("instances %v and %d dependants, want %v", have, dependants, want)
		}
		return ""
	})
}

// told waits for a warning event with this reason and note. It returns the kind and name of the object of the event.
func (s *stage) told(reason, note string) (about string) {
	s.Helper()
	s.eventually("an event", func() string {
		var list corev1.EventList
		s.must("list events", s.api.List(s.Context(), &list, client.InNamespace(s.ns)))
		var others []string
		for _, e := range list.Items {
			if e.Reason == reason && e.Type == corev1.EventTypeWarning && strings.Contains(e.Message, note) {
				about = e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name
				return ""
			}
			others = append(others, e.Reason+": "+e.Message)
		}
		return reason + " " + note + " is not among " + strings.Join(others, "\n")
	})
	return about
}

// machines creates one machine of each API, and waits until both have recorded their instances.
func (s *stage) machines() (*machinev1.Machine, *v1alpha1.Machine) {
	s.Helper()
	s.must("make a secret", s.api.Create(s.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "pool"}, Data: map[string][]byte{"userData": []byte("boot")},
	}))
	s.must("make a class", s.api.Create(s.Context(), &v1alpha1.MachineClass{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "pool"}, ProviderSpec: runtime.RawExtension{Raw: []byte("{}")},
		Provider: "kubemark", SecretRef: &corev1.SecretReference{Namespace: s.ns, Name: "pool"},
	}))
	g := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "g-" + s.ns}}
	g.Spec.Class = v1alpha1.ClassSpec{Kind: "MachineClass", Name: "pool"}
	o := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.ns, Name: "o-" + s.ns, Labels: map[string]string{"machine.openshift.io/cluster-api-cluster": s.ns},
	}}
	o.Spec.ProviderSpec.Value = &runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"kubemarkproviderconfig.k8s.io/v1beta1","kind":"KubemarkMachineProviderConfig","numCores":8}`),
	}
	s.must("make a machine", s.api.Create(s.Context(), g))
	s.must("make a machine", s.api.Create(s.Context(), o))
	s.eventually("both machines have instances", func() string {
		s.must("read", s.api.Get(s.Context(), client.ObjectKeyFromObject(g), g))
		s.must("read", s.api.Get(s.Context(), client.ObjectKeyFromObject(o), o))
		if g.Spec.ProviderID == "" || ptr.Deref(o.Spec.ProviderID, "") == "" {
			return "no provider ID"
		}
		return ""
	})
	return o, g
}

// TestOrphans: an instance that no controller requested is quarantined and then removed. So are a second instance of a machine,
// and the remains of an incomplete instance. Instances of existing machines are never removed. A node without a machine is
// marked.
func TestOrphans(t *testing.T) {
	s := open(t, "--machine-safety-orphan-vms-period=1s", "--orphan-grace-period=2s", "--orphan-max-share=60%", "--machine-creation-timeout=5s")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "own-" + s.ns, Finalizers: []string{v1alpha1.FinalizerNode}}}
	s.must("make a node", s.api.Create(t.Context(), node))
	t.Cleanup(func() { _ = s.api.Delete(context.Background(), node) })
	_, g := s.machines()
	wanted := s.instances()
	if len(wanted) != 2 {
		t.Fatalf("instances %v of two machines", wanted)
	}

	stray, err := s.cloud.Plant(t.Context(), s.class, provider.Instance{UID: "uid-lost", Namespace: s.ns, Name: "lost"})
	s.must("plant", err)
	about := s.told("OrphanQuarantined", stray.ID+" (lost): it has no machine")
	if !slices.Contains(s.instances(), stray.ID) {
		t.Error("the instance was deleted before the grace period ended")
	}
	s.left(wanted)
	s.told("OrphanDeleted", stray.ID)
	t.Logf("the event is about %s", about)

	double, err := s.cloud.Plant(t.Context(), s.class, provider.Instance{UID: string(g.UID), Namespace: s.ns, Name: g.Name})
	s.must("plant a second instance", err)
	if about := s.told("OrphanQuarantined", double.ID); about != "Machine/"+g.Name {
		t.Errorf("the event is about %s, want the machine", about)
	}
	s.left(wanted)

	// From here on, an instance of another control plane is reported and not removed.
	theirs := s.class
	theirs.Owner = "another"
	other, err := s.cloud.Plant(t.Context(), theirs, provider.Instance{UID: "uid-theirs", Namespace: s.ns, Name: "theirs"})
	s.must("plant another's", err)
	s.told("OrphanNotDeleted", other.ID+" (theirs): it has no machine; it was created by another control plane, another")
	wanted = append(wanted, other.ID)
	slices.Sort(wanted)

	s.must("leave a disk", s.cloud.Leave(s.class, provider.Ref{UID: "uid-gone", Namespace: s.ns, Name: "gone"}))
	s.left(wanted)

	s.eventually("the node is marked and let go", func() string {
		s.must("read the node", s.api.Get(t.Context(), client.ObjectKeyFromObject(node), node))
		if node.Annotations[v1alpha1.AnnotationKeyNotManaged] != "1" || len(node.Finalizers) > 0 {
			return fmt.Sprintf("annotations %v, finalizers %v", node.Annotations, node.Finalizers)
		}
		return ""
	})
	s.left(wanted)
}
