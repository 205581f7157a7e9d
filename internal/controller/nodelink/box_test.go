package nodelink

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

func TestMain(m *testing.M) {
	logf.SetLogger(logr.Discard())
	os.Exit(devplanetest.Main(m, devplanetest.Options{}))
}

// box is a namespace of a real API server with the controller, which has the rights of the original's
// service account and no others.
type box struct {
	client.Client
	*testing.T
	namespace string
	writes    atomic.Int64
}

func newBox(t *testing.T) *box {
	t.Helper()
	admin := devplanetest.Start(t).Config
	b := &box{T: t, namespace: devplanetest.Namespace(t)}
	var err error
	b.Client, err = client.New(admin, client.Options{Scheme: run.Scheme()})
	b.must(err)
	mgr, err := ctrl.NewManager(b.restricted(admin), ctrl.Options{
		Scheme: run.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{b.namespace: {}}},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	b.must(err)
	cached, err := client.NewWithWatch(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Cache: &client.CacheOptions{Reader: mgr.GetCache()}})
	b.must(err)
	r, err := New(openshift.Machines{}, Options{
		Client: interceptor.NewClient(cached, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				b.writes.Add(1)
				return c.Patch(ctx, o, p, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				b.writes.Add(1)
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}),
		Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder(Name),
	})
	b.must(err)
	b.must(r.Index(t.Context(), mgr.GetFieldIndexer(), mgr.GetFieldIndexer()))
	b.must(r.SetupWithManager(mgr, Setup{}))
	devplanetest.Run(t, mgr.Start)
	return b
}

// restricted is the configuration of a user with those rights of section 7.8 that are about nodes, machines
// and events.
func (b *box) restricted(admin *rest.Config) *rest.Config {
	user := "system:serviceaccount:" + b.namespace + ":machine-api-controllers"
	all := []string{"create", "delete", "get", "list", "patch", "update", "watch"}
	meta := metav1.ObjectMeta{Namespace: b.namespace, Name: "nodelink-" + b.namespace}
	subjects := []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}}
	wide := metav1.ObjectMeta{Name: meta.Name}
	for _, o := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: wide, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: all}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: wide, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{machinev1.GroupName}, Resources: []string{"*"}, Verbs: []string{"*"}},
			{APIGroups: []string{"", eventsv1.GroupName}, Resources: []string{"events"}, Verbs: []string{"create", "patch", "update"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}},
	} {
		b.must(b.Create(b.Context(), o))
	}
	c := rest.CopyConfig(admin)
	c.Impersonate = rest.ImpersonationConfig{UserName: user}
	return c
}

func (b *box) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// eventually waits until check says nothing any more.
func (b *box) eventually(reason string, check func() string) {
	b.Helper()
	said := ""
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if said = check(); said == "" {
			return
		}
	}
	b.Fatalf("%s: %s", reason, said)
}

// linked waits until machine and node say that they belong together.
func (b *box) linked(reason string, m *machinev1.Machine, n *corev1.Node) {
	b.Helper()
	b.eventually(reason, func() string {
		b.must(b.Get(b.Context(), client.ObjectKeyFromObject(m), m))
		b.must(b.Get(b.Context(), client.ObjectKeyFromObject(n), n))
		ref := m.Status.NodeRef
		if ref == nil || *ref != (corev1.ObjectReference{Kind: "Node", Name: n.Name, UID: n.UID}) {
			return fmt.Sprintf("nodeRef %v", ref)
		}
		if got := n.Annotations["machine.openshift.io/machine"]; got != m.Namespace+"/"+m.Name || n.Labels["pool"] != "a" {
			return fmt.Sprintf("annotations %v, labels %v", n.Annotations, n.Labels)
		}
		return ""
	})
}

// wrote expects as many writes since the last time, and no more soon.
func (b *box) wrote(reason string, n int64) {
	b.Helper()
	b.eventually(reason, func() string {
		if got := b.writes.Load(); got < n {
			return fmt.Sprintf("%d writes, want %d", got, n)
		}
		return ""
	})
	time.Sleep(wornPause + 500*time.Millisecond) // what was written has its own event
	if got := b.writes.Swap(0); got != n {
		b.Errorf("%s: %d writes, want %d", reason, got, n)
	}
}

func (b *box) ready(n *corev1.Node, status corev1.ConditionStatus) {
	b.Helper()
	before := n.DeepCopy()
	readied(n, status, time.Now())
	n.Status.Conditions[0].LastHeartbeatTime = metav1.Now()
	b.must(b.Status().Patch(b.Context(), n, client.MergeFrom(before)))
}

// declare creates a machine with its status.
func (b *box) declare(m *machinev1.Machine) *machinev1.Machine {
	b.Helper()
	m.ObjectMeta = metav1.ObjectMeta{Namespace: b.namespace, Name: m.Name}
	status := m.Status
	b.must(b.Create(b.Context(), m))
	made := m.DeepCopy()
	m.Status = status
	b.must(b.Status().Patch(b.Context(), m, client.MergeFrom(made))) // no matter what the controller has written meanwhile
	return m
}

// join creates a node, whose name and provider ID no other test uses, and then its status.
func (b *box) join(name, id string, ips ...string) *corev1.Node {
	b.Helper()
	n := nodeNamed(name+"-"+b.namespace, id, ips...)
	n.UID, n.CreationTimestamp = "", metav1.Time{}
	status := n.Status
	b.must(b.Create(b.Context(), n))
	made := n.DeepCopy()
	n.Status = status
	b.must(b.Status().Patch(b.Context(), n, client.MergeFrom(made))) // no matter what controllers have written meanwhile
	return n
}

// TestOnAServer: what section 5 promises to clients, with the original's rights: nodeRef and the node's mark,
// one write of each; no write for heartbeats; a stamp when readiness changes; a new UID for a node
// that comes back.
func TestOnAServer(t *testing.T) {
	b := newBox(t)
	id := "sim:///" + b.namespace + "/1"
	byID := b.declare(machine("by-id", id))
	byIP := b.declare(machine("by-ip", "", func(m *machinev1.Machine) {
		m.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.9.9.1"}}
	}))
	n, other := b.join("w", id), b.join("w2", "", "10.9.9.1")
	b.linked("by provider ID", byID, n)
	b.linked("by internal IP, which the node shows later", byIP, other)
	if !strings.Contains(fmt.Sprint(n.Spec.Taints), "dedicated") {
		t.Errorf("taints %v", n.Spec.Taints)
	}
	b.wrote("each machine and each node once", 4)

	was := byID.Status.LastUpdated
	b.ready(n, corev1.ConditionTrue)
	b.wrote("the node became ready", 1)
	b.must(b.Get(t.Context(), client.ObjectKeyFromObject(byID), byID))
	if now := byID.Status.LastUpdated; !was.Before(now) {
		t.Errorf("lastUpdated was %v and is %v", was, now)
	}
	b.ready(n, corev1.ConditionTrue)
	b.wrote("a heartbeat", 0)

	b.must(b.Delete(t.Context(), n))
	again := b.join("w", id)
	b.linked("the node came back", byID, again)
	before := byID.DeepCopy()
	byID.Spec.ObjectMeta.Labels["more"] = "1"
	b.must(b.Patch(t.Context(), byID, client.MergeFrom(before)))
	b.eventually("what the machine asks for changed", func() string {
		b.must(b.Get(t.Context(), client.ObjectKeyFromObject(again), again))
		if again.Labels["more"] != "1" {
			return fmt.Sprintf("labels %v", again.Labels)
		}
		return ""
	})
	b.wrote("both for the node that came back, and the label", 3)
}

// TestForgerOnAServer: a node that merely says that it is the machine's gets nothing, people hear of it, and
// it is looked at again when the machine's node goes.
func TestForgerOnAServer(t *testing.T) {
	b := newBox(t)
	id := "sim:///" + b.namespace + "/1"
	m := b.declare(machine("m", id))
	n := b.join("w", id)
	b.linked("the first to say so", m, n)
	forger := b.join("forger", id)
	b.eventually("the machine's event", func() string {
		var list eventsv1.EventList
		b.must(b.List(t.Context(), &list, client.InNamespace(b.namespace)))
		for _, e := range list.Items {
			if e.Reason == "NodeNotLinked" && e.Regarding.Name == m.Name && e.ReportingController == Name && strings.Contains(e.Note, n.Name) {
				return ""
			}
		}
		return fmt.Sprintf("not among %d events", len(list.Items))
	})
	b.wrote("of the node that was linked", 2)
	b.must(b.Delete(t.Context(), n))
	b.linked("who is left", m, forger)
}
