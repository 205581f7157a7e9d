package machine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// forgeries are what a kubelet may say of its own node, to be taken for m-1's.
var forgeries = map[string]func(*corev1.Node){
	"its provider ID": func(n *corev1.Node) { n.Spec.ProviderID = "memory:///i-1" },
	"its address": func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	},
	"its marks": func(n *corev1.Node) {
		n.Annotations = map[string]string{"machine.openshift.io/machine": ns + "/m-1"}
		n.Labels = map[string]string{"node.gardener.cloud/machine-name": "m-1"}
	},
	"all of it, and a provider ID": func(n *corev1.Node) {
		n.Spec.ProviderID = "memory:///i-1"
		n.Annotations = map[string]string{"machine.openshift.io/machine": ns + "/m-1"}
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	},
}

// TestForgedNodeIsNotTaken: the kubelet of m-2, which has not recorded its node yet,
// says that it is that of m-1, whose own node joins later, or never.
func TestForgedNodeIsNotTaken(t *testing.T) {
	t.Run("openshift", func(t *testing.T) {
		forgedNode(t, openshiftRig, openshiftMachine(func(m *machinev1.Machine) {
			m.Name, m.UID, m.Spec.ProviderID = "m-2", "uid-2", ptr.To("memory:///i-2")
			m.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalDNS, Address: "node-2"}}
		}))
	})
	t.Run("gardener", func(t *testing.T) {
		forgedNode(t, gardenerRig, gardenerMachine(func(m *v1alpha1.Machine) {
			m.Name, m.UID, m.Spec.ProviderID = "m-2", "uid-2", "memory:///i-2"
			m.Labels = map[string]string{"node": "node-2"}
		}))
	})
}

func forgedNode[M client.Object](t *testing.T, rigged func(*testing.T, ...func(M)) *rig[M], other M) {
	for reason, forge := range forgeries {
		for _, joins := range []bool{false, true} {
			t.Run(reason, func(t *testing.T) {
				g := rigged(t)
				g.cloud.next.NodeName = "" // the infrastructure does not foretell it
				if err := g.control.WithWatch.Create(t.Context(), other.DeepCopyObject().(M)); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					g.pass()
				}
				n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2", UID: "forged"}}
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
				forge(n)
				if err := g.target.WithWatch.Create(t.Context(), n); err != nil {
					t.Fatal(err)
				}
				want := ""
				if joins {
					g.joins()
					want = "node-1"
				}
				for range 5 {
					g.pass()
				}
				if got := g.lens.View(g.read()).Recorded.NodeName; got != want {
					t.Errorf("the machine's node is %q, want %q", got, want)
				}
			})
		}
	}
}

// forge lets a node join that says of itself what the forgery is, and is Ready.
func (g *rig[M]) forge(n *corev1.Node, forgery string) {
	g.Helper()
	forgeries[forgery](n)
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := g.target.WithWatch.Create(g.Context(), n); err != nil {
		g.Fatal(err)
	}
}

// TestForgedNodeOfAnUnrecordedName: the same, where no machine of this API has recorded
// the name: its own is of the other API, or could not write it down yet. The
// infrastructure knows the name.
func TestForgedNodeOfAnUnrecordedName(t *testing.T) {
	other := func(edits ...func(*provider.Instance)) provider.Instance {
		i := provider.Instance{ID: "i-2", ProviderID: "memory:///i-2", UID: "uid-2", Name: "m-2", State: provider.Running}
		i.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalDNS, Address: "node-2"}}
		for _, e := range edits {
			e(&i)
		}
		return i
	}
	for _, tt := range []struct {
		reason  string
		other   provider.Instance
		listErr error
		taken   bool
	}{
		{"its instance has the name", other(), nil, false},
		{"its instance foretells the name", other(func(i *provider.Instance) { i.NodeName, i.Addresses = "node-2", nil }), nil, false},
		{"no instance has the name", other(func(i *provider.Instance) { i.Addresses = nil }), nil, true},
		{"its instance is gone", other(func(i *provider.Instance) { i.State = provider.Terminated }), nil, true},
		{"nobody can tell now", other(func(i *provider.Instance) { i.Addresses = nil }), errors.New("connection reset"), false},
		{"nobody can ever tell", other(func(i *provider.Instance) { i.Addresses = nil }), provider.Errorf(provider.Denied, "not authorized"), true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := openshiftRig(t)
			g.cloud.next.NodeName = ""
			g.some(3)
			g.cloud.instances, g.cloud.listErr = append(g.cloud.instances, tt.other), tt.listErr
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2", UID: "forged"}}
			g.forge(n, "all of it, and a provider ID")
			g.some(3)
			if got := g.lens.View(g.read()).Recorded.NodeName; (got == "node-2") != tt.taken {
				t.Errorf("the machine's node is %q", got)
			}
		})
	}
}

// TestForgedNodeOfAnUnlistedInstance: the same, where listings run behind, and show the
// other instance only after its kubelet has joined.
func TestForgedNodeOfAnUnlistedInstance(t *testing.T) {
	for _, tt := range []struct {
		reason string
		of     string // the name of the node that the other instance has
		taken  bool
	}{
		{"it has the name", "node-2", false},
		{"it has another", "node-3", true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := openshiftRig(t)
			g.cloud.next.NodeName, g.cloud.lag = "", 10*time.Second
			for range 3 {
				g.clock.Step(11 * time.Second)
				g.pass()
			}
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2", UID: "forged", CreationTimestamp: metav1.NewTime(g.clock.Now())}}
			g.forge(n, "all of it, and a provider ID")
			for sure := 7 * time.Second; sure > 0; sure -= 3 * time.Second {
				g.clock.Step(3 * time.Second)
				if again := g.pass().RequeueAfter; again != sure {
					t.Errorf("looked at again after %v, and it can be told in %v", again, sure)
				}
				if g.lens.View(g.read()).Recorded.NodeName != "" {
					t.Error("taken before its instance is sure to be listed")
				}
			}
			other := provider.Instance{ID: "i-2", ProviderID: "memory:///i-2", UID: "uid-2", Name: "m-2", State: provider.Running}
			other.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalDNS, Address: tt.of}}
			g.cloud.instances = append(g.cloud.instances, other)
			g.clock.Step(5 * time.Second)
			g.some(3)
			if got := g.lens.View(g.read()).Recorded.NodeName; (got == "node-2") != tt.taken {
				t.Errorf("the machine's node is %q", got)
			}
		})
	}
}

// TestForgedNodeOfAnUnseenName: the same, if m-2 has recorded the name, caches do not show that yet, and
// instances cannot be listed for m-1, whose account is closed.
func TestForgedNodeOfAnUnseenName(t *testing.T) {
	for _, tt := range []struct {
		reason string
		seen   bool
	}{
		{"this process has seen the name of its instance", true},
		{"nobody has", false},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := openshiftRig(t)
			g.cloud.next.NodeName = ""
			g.some(3)
			if other := openshiftMachine(func(m *machinev1.Machine) { m.Name, m.UID = "m-2", "uid-2" }); tt.seen {
				i := provider.Instance{ID: "i-2", ProviderID: "memory:///i-2", UID: "uid-2", Name: "m-2", State: provider.Running}
				i.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalDNS, Address: "node-2"}}
				g.cloud.instances = append(g.cloud.instances, i)
				g.makes(other)
			}
			g.cloud.findErr = provider.Errorf(provider.Denied, "not authorized")
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2", UID: "unseen"}}
			g.forge(n, "its address")
			g.some(3)
			if got := g.lens.View(g.read()).Recorded.NodeName; (got == "node-2") == tt.seen {
				t.Errorf("the machine's node is %q", got)
			}
		})
	}
}

// makes lets the reconciler look at another machine, which no cache shows afterwards.
func (g *rig[M]) makes(other M) {
	g.Helper()
	if err := g.control.WithWatch.Create(g.Context(), other); err != nil {
		g.Fatal(err)
	}
	key := client.ObjectKeyFromObject(other)
	for range 3 {
		if _, err := g.r.Reconcile(g.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			g.Fatal(err)
		}
	}
	free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := g.control.WithWatch.Patch(g.Context(), other, free); err != nil {
		g.Fatal(err)
	}
	if err := g.control.WithWatch.Delete(g.Context(), other); err != nil {
		g.Fatal(err)
	}
}

// TestForgedNodeOutlivesItsInstance: the infrastructure foretells the name of m-1's node.
// A node of another name that shows the provider ID is a forgery, also when no listing
// shows the instance any more whose kubelet made it.
func TestForgedNodeOutlivesItsInstance(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { forgedAndLeft(t, openshiftRig) })
	t.Run("gardener", func(t *testing.T) { forgedAndLeft(t, gardenerRig) })
}

func forgedAndLeft[M client.Object](t *testing.T, rigged func(*testing.T, ...func(M)) *rig[M]) {
	for _, tt := range []struct {
		reason, foretold, name string
		hosts                  []string
		taken                  bool
	}{
		{"another name is foretold", "node-1", "node-2", nil, false},
		{"another one of the same domain is foretold", "node-1.example", "node-2.example", nil, false},
		{"one of another domain is foretold", "node-1.example", "node-1.elsewhere", nil, false},
		{"none is foretold", "", "node-2", nil, true},
		{"it is foretold with its domain", "node-2.example", "node-2", nil, true},
		{"it is foretold without its domain", "node-2", "node-2.example", nil, true},
		{"it is foretold in capitals", "NODE-2", "node-2", nil, true},
		{"the machine's instance has that host name besides", "node-1", "node-2", []string{"node-2"}, true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := rigged(t)
			g.cloud.next.NodeName = tt.foretold
			for _, h := range tt.hosts {
				g.cloud.next.Addresses = append(g.cloud.next.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: h})
			}
			g.some(3)
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: tt.name, UID: "forged"}}
			g.forge(n, "its provider ID")
			g.written()
			g.some(3)
			if got := g.lens.View(g.read()).Stage == lifecycle.StageRunning; got != tt.taken {
				t.Errorf("the machine runs on it: %v, want %v", got, tt.taken)
			}
			if wrote := slices.Contains(g.written(), "patch Node"); wrote && !tt.taken {
				t.Error("the node is written")
			}
		})
	}
}

// TestStandInForetellsNothing: the recorded instance is not seen, and another stands in
// for it. The name foretold for that one says nothing of the node of the recorded one.
func TestStandInForetellsNothing(t *testing.T) {
	g := openshiftRig(t)
	g.some(3)
	other := made("i-2", "uid-1", time.Minute)
	other.NodeName = "node-2"
	g.cloud.instances = []provider.Instance{other}
	g.joins()
	g.some(3)
	if got := g.lens.View(g.read()).Recorded.NodeName; got != "node-1" {
		t.Errorf("the machine's node is %q", got)
	}
}

// TestDeniedInstanceOfAnUnseenNode: a machine under deletion whose node's name is unknown is not released
// because of an empty answer while its node reports, though the cache does not show that node yet.
func TestDeniedInstanceOfAnUnseenNode(t *testing.T) {
	for _, tt := range []struct {
		reason  string
		ready   corev1.ConditionStatus
		listErr error
		gone    bool
	}{
		{"the node speaks against it", corev1.ConditionTrue, nil, false},
		{"the node is silent", corev1.ConditionUnknown, nil, true},
		{"it cannot be told whether the node is its own", corev1.ConditionTrue, errors.New("the next page cannot be read"), false},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := openshiftRig(t)
			g.cloud.next.NodeName = ""
			for range 3 {
				g.pass()
			}
			g.cache = nodeless{g.target}
			g.restart()
			g.joins()
			g.reports(tt.ready)
			g.delete()
			g.cloud.instances, g.cloud.listErr = nil, tt.listErr
			for range 10 {
				g.clock.Step(time.Minute)
				g.pass()
				if g.gone() {
					break
				}
			}
			if g.gone() != tt.gone {
				t.Errorf("gone %v, want %v", g.gone(), tt.gone)
			}
		})
	}
}

// TestForcedDeletionOfAnUntoldNode: a person's word overrules a cluster that does not
// answer, and not an infrastructure that cannot say just now whose a node is.
func TestForcedDeletionOfAnUntoldNode(t *testing.T) {
	g := gardenerRig(t, func(m *v1alpha1.Machine) { m.Labels = map[string]string{"force-deletion": "True"} })
	g.cloud.next.NodeName = ""
	g.some(3)
	g.cache = nodeless{g.target}
	g.restart()
	g.joins()
	g.reports(corev1.ConditionTrue)
	g.delete()
	g.cloud.instances, g.cloud.listErr = nil, errors.New("the next page cannot be read")
	for range 10 {
		g.clock.Step(time.Minute)
		g.pass()
		if g.gone() {
			t.Fatal("let go while its node reports")
		}
	}
	g.cloud.listErr = nil
	g.reports(corev1.ConditionUnknown)
	g.some(10)
	if !g.gone() {
		t.Error("not let go, although its node is silent")
	}
}

// TestForgedNodeWhileBlind: the owner of a node that only claims to be a machine's is not decided while the
// infrastructure cannot be asked, because credentials or an answer are missing.
func TestForgedNodeWhileBlind(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { forgedWhileBlind(t, openshiftRig) })
	t.Run("gardener", func(t *testing.T) { forgedWhileBlind(t, gardenerRig) })
}

func forgedWhileBlind[M client.Object](t *testing.T, rigged func(*testing.T, ...func(M)) *rig[M]) {
	reset, denied := provider.Errorf(provider.Transient, "connection reset"), provider.Errorf(provider.Denied, "not authorized")
	for _, tt := range []struct {
		reason           string
		openErr, findErr error
		forgery          string
		taken            bool
	}{
		{"its provider ID, without an answer", nil, reset, "its provider ID", false},
		{"its marks, without credentials", errors.New("secret not found"), nil, "its marks", false},
		{"all of it, without an answer", nil, reset, "all of it, and a provider ID", false},
		{"nobody can ever tell", nil, denied, "its provider ID", true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := rigged(t)
			g.cloud.next.NodeName = ""
			g.some(3)
			i := provider.Instance{ID: "i-2", ProviderID: "memory:///i-2", UID: "uid-2", Name: "m-2", State: provider.Running}
			i.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalDNS, Address: "node-2"}}
			g.cloud.instances, g.cloud.findErr = append(g.cloud.instances, i), tt.findErr
			g.cloud.openErr = func(provider.Class) error { return tt.openErr }
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2", UID: "forged"}}
			g.forge(n, tt.forgery)
			g.clock.Step(time.Hour) // nor does it fail for lack of a node
			g.some(3)
			if v := g.lens.View(g.read()); (v.Recorded.NodeName == "node-2") != tt.taken || v.Stage == lifecycle.StageFailed {
				t.Errorf("stage %s, the machine's node is %q", v.Stage, v.Recorded.NodeName)
			}
			if tt.taken {
				return
			}
			g.cloud.findErr, g.cloud.openErr = nil, nil
			g.joins()
			g.some(3)
			if got := g.lens.View(g.read()).Recorded.NodeName; got != "node-1" {
				t.Errorf("with an answer: the machine's node is %q", got)
			}
		})
	}
}

// TestNodeOfANamesake: the machine's object came back under another UID, so that two
// instances have its name. The node says of neither that it is its: it stays when the
// machine's own instance goes.
func TestNodeOfANamesake(t *testing.T) {
	namesake := provider.Instance{ID: "i-0", ProviderID: "memory:///i-0", UID: "uid-before", Name: "m-1", State: provider.Running, NodeName: "node-1"}
	gone := namesake
	gone.State = provider.Terminated
	for _, tt := range []struct {
		reason      string
		other       provider.Instance
		listErr     error
		shows       string // the provider ID that the node shows
		gone, stays bool
	}{
		{"the other is there", namesake, nil, "", true, true},
		{"the other is gone", gone, nil, "", true, false},
		{"the node says whose it is", namesake, nil, "memory:///i-1", true, false},
		{"nobody can tell now", gone, errors.New("connection reset"), "", false, true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := openshiftRig(t)
			g.some(2)
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node-uid"}, Spec: corev1.NodeSpec{ProviderID: tt.shows}}
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			if err := g.target.WithWatch.Create(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			g.some(2)
			g.cloud.instances, g.cloud.listErr = append(g.cloud.instances, tt.other), tt.listErr
			g.delete()
			for range 6 {
				if !g.gone() {
					_, _ = g.try("m-1")
				}
			}
			err := g.target.WithWatch.Get(t.Context(), client.ObjectKeyFromObject(n), n)
			if g.gone() != tt.gone || (err == nil) != tt.stays {
				t.Errorf("the machine is gone: %v, reading its node: %v", g.gone(), err)
			}
		})
	}
}

// TestForgedNodeWhileDenied: the same, while the infrastructure denies every answer for good. Its earlier
// answers are the names of the machine's own host.
func TestForgedNodeWhileDenied(t *testing.T) {
	for _, tt := range []struct {
		reason string
		host   string // the name that the infrastructure told before; empty: none
		node   string
		taken  bool
	}{
		{"it told another name", "node-1", "node-2", false},
		{"it told this one", "node-2", "node-2", true},
		{"it told this one, with a domain", "node-2.example.com", "node-2", true},
		{"it never told a name", "", "node-2", true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := openshiftRig(t)
			g.cloud.next.NodeName, g.cloud.next.Addresses = "", []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
			if tt.host != "" {
				g.cloud.next.Addresses = append(g.cloud.next.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: tt.host})
			}
			g.some(3)
			g.cloud.findErr = provider.Errorf(provider.Denied, "not authorized")
			g.forge(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: tt.node, UID: "forged"}}, "all of it, and a provider ID")
			g.some(3)
			if got := g.lens.View(g.read()).Recorded.NodeName; (got == tt.node) != tt.taken {
				t.Errorf("the machine's node is %q", got)
			}
		})
	}
}
