package machine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/provider"
)

const unrecorded = "millwright.dev/unrecorded-instances"

// made is an instance that runs and carries the UID and the name m-1.
func made(id, uid string, ago time.Duration) provider.Instance {
	return provider.Instance{
		ID: id, UID: uid, Name: "m-1", ProviderID: "memory:///" + id, NodeName: "node-1",
		State: provider.Running, RawState: "running", Created: start.Add(-ago), Type: "large",
	}
}

// nameless is i if the infrastructure cannot foretell the node's name.
func nameless(i provider.Instance) provider.Instance {
	i.NodeName = ""
	return i
}

// others adds machines besides m-1.
func (g *rig[M]) others(all ...M) {
	g.Helper()
	for _, m := range all {
		if err := g.control.WithWatch.Create(g.Context(), m); err != nil {
			g.Fatal(err)
		}
	}
}

// there are the IDs of the instances that exist.
func (g *rig[M]) there() (out []string) {
	for _, i := range g.cloud.instances {
		out = append(out, i.ID)
	}
	return out
}

func (g *rig[M]) toldOf(reason string) (out []string) {
	for _, e := range g.told() {
		if strings.Contains(e, " "+reason+" ") {
			out = append(out, e)
		}
	}
	return out
}

func (g *rig[M]) providerID() string { return g.lens.View(g.read()).Recorded.ProviderID }

// TestDuplicateFound: of two instances of a machine the recorded one is kept.
// The other is reported once, by annotation, event and metric; it is not removed
// while the machine lives, and is removed with it.
func TestDuplicateFound(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { duplicateFound(t, openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { duplicateFound(t, gardenerRig(t)) })
}

func duplicateFound[M client.Object](t *testing.T, g *rig[M]) {
	registry := prometheus.NewRegistry()
	g.r.Metrics = machine.NewMetrics(registry)
	g.settle()
	g.cloud.instances = append(g.cloud.instances, made("i-0", "uid-1", time.Hour))
	for range 3 {
		g.pass()
	}
	if m := g.read(); m.GetAnnotations()[unrecorded] != "i-0" || g.providerID() != "memory:///i-1" {
		t.Errorf("annotation %q, provider ID %q", m.GetAnnotations()[unrecorded], g.providerID())
	}
	g.restart()
	if res := g.pass(); res.RequeueAfter != 10*time.Minute {
		t.Errorf("looked at again after %v: nothing tells when the other is gone", res.RequeueAfter)
	}
	g.cloud.findErr = errors.New("internal error")
	if res := g.pass(); res.RequeueAfter <= 0 || res.RequeueAfter > 10*time.Minute {
		t.Errorf("looked at again after %v, not knowing what is there", res.RequeueAfter)
	}
	g.cloud.findErr = nil
	if told := g.toldOf("DuplicateInstance"); len(told) != 1 || !strings.Contains(told[0], "i-0") {
		t.Errorf("told %q, want once, with the instance", told)
	}
	if n := counted(t, registry, "millwright_machine_duplicate_instances_total"); n != 1 {
		t.Errorf("counted %v", n)
	}
	if g.cloud.count("Delete") > 0 || g.cloud.count("Create") != 1 {
		t.Errorf("calls %q", g.cloud.calls)
	}
	third := g.cloud.instances[1]
	g.cloud.instances = g.cloud.instances[:1]
	g.pass()
	if _, there := g.read().GetAnnotations()[unrecorded]; there {
		t.Error("the annotation is left although the double is gone")
	}
	if told := g.toldOf("DuplicateGone"); len(told) != 1 {
		t.Errorf("told %q, want the end once", told)
	}
	g.cloud.instances = append(g.cloud.instances, third)
	g.delete()
	g.pass()
	if !g.gone() || len(g.cloud.instances) > 0 {
		t.Errorf("gone %v, instances left %q", g.gone(), g.there())
	}
}

// counted is the value of a counter without labels.
func counted(t *testing.T, g prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return 0
}

// TestDuplicateUnrecorded: with nothing recorded, the choice is stored before
// anything else is done, and a crash does not change it.
func TestDuplicateUnrecorded(t *testing.T) {
	t.Run("openshift", func(t *testing.T) {
		duplicateUnrecorded(t, openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer)))
	})
	t.Run("gardener", func(t *testing.T) {
		duplicateUnrecorded(t, gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer)))
	})
}

func duplicateUnrecorded[M client.Object](t *testing.T, g *rig[M]) {
	untagged, young, old := made("i-0", "", 3*time.Hour), made("i-1", "uid-1", time.Hour), made("i-2", "uid-1", 2*time.Hour)
	old.Uninitialized = true
	g.cloud.instances = []provider.Instance{untagged, young, old}
	g.control.refuse = func(string) error { return conflict() }
	if _, err := g.try("m-1"); err == nil {
		t.Fatal("the choice was not stored, and the pass goes on")
	}
	if d := cmp.Diff([]string{"Find"}, g.cloud.calls); d != "" {
		t.Errorf("calls before the choice is stored (-want +got)\n%s", d)
	}
	g.control.refuse = nil
	g.cloud.instances = []provider.Instance{old, untagged, young}
	g.restart()
	g.pass()
	if id, ids := g.providerID(), g.read().GetAnnotations()[unrecorded]; id != "memory:///i-2" || ids != "i-0,i-1" {
		t.Errorf("recorded %s, besides %s; want the oldest with our UID", id, ids)
	}
	if told := g.toldOf("DuplicateInstance"); len(told) != 1 {
		t.Errorf("told %q, want once", told)
	}
	g.cloud.instances[0].State = provider.Stopping // what is chosen stays chosen
	g.pass()
	if id := g.providerID(); id != "memory:///i-2" {
		t.Errorf("recorded %s", id)
	}
	g.delete()
	g.pass()
	if !g.gone() || len(g.cloud.instances) > 0 {
		t.Errorf("deleted: gone %v, instances left %q; all that were made for the machine go, whoever made them", g.gone(), g.there())
	}
}

// TestAdoption: an instance of another implementation is taken over only if it has no other owner, and its
// differences are reported (C36).
func TestAdoption(t *testing.T) {
	other := func(name, id string, edits ...func(*machinev1.Machine)) *machinev1.Machine {
		m := openshiftMachine(edits...)
		m.Namespace, m.Name, m.UID = "elsewhere", name, types.UID("uid-of-"+name)
		if id != "" {
			m.Spec.ProviderID = ptr.To(id)
		}
		return m
	}
	green := func(m *machinev1.Machine) { m.Labels["machine.openshift.io/cluster-api-cluster"] = "green" }
	younger := func(m *machinev1.Machine) { m.CreationTimestamp.Time = start.Add(time.Minute) }
	older := func(m *machinev1.Machine) { m.CreationTimestamp.Time = start.Add(-time.Minute) }
	records := func(id string) func(*machinev1.Machine) {
		return func(m *machinev1.Machine) { m.Spec.ProviderID = ptr.To(id) }
	}
	for _, r := range []struct {
		name, reason string
		mine         []func(*machinev1.Machine)
		others       []*machinev1.Machine
		instance     provider.Instance
		// adopted is what becomes of it; else nothing is made, or the machine fails.
		adopted bool
		phase   string
	}{
		{name: "nobody else's", reason: "untagged, of our name, in our scope", instance: made("i-1", "", time.Hour), adopted: true},
		{
			name: "recorded by another", reason: "a record goes before a name",
			others: []*machinev1.Machine{other("m-9", "memory:///i-1")}, instance: made("i-1", "", time.Hour), phase: "Provisioning",
		},
		{
			name: "recorded by another in another spelling", reason: "case and path are no difference",
			others: []*machinev1.Machine{other("m-9", "memory://zone/I-1")}, instance: made("i-1", "", time.Hour), phase: "Provisioning",
		},
		{
			name: "recorded by another in another cluster", reason: "provider IDs may be the same there",
			others: []*machinev1.Machine{other("m-9", "memory:///i-1", green)}, instance: made("i-1", "", time.Hour), adopted: true,
		},
		{
			name: "an older machine of the name", reason: "both claim it by name, and the older one has it",
			others: []*machinev1.Machine{other("m-1", "", older)}, instance: made("i-1", "", time.Hour), phase: "Provisioning",
		},
		{
			name: "a younger machine of the name", reason: "both claim it by name, and the older one has it",
			others: []*machinev1.Machine{other("m-1", "", younger)}, instance: made("i-1", "", time.Hour), adopted: true,
		},
		{
			name: "restored with a new UID", reason: "the old UID is nobody's; record and name say whose it is",
			mine: []func(*machinev1.Machine){records("memory:///i-1")}, instance: made("i-1", "uid-before", time.Hour), adopted: true,
		},
		{
			name: "restored with a new UID, recorded in another spelling", reason: "the provider reads provider IDs, nobody compares text",
			mine: []func(*machinev1.Machine){records("memory://eu-1/I-1")}, instance: made("i-1", "uid-before", time.Hour), adopted: true,
		},
		{
			name: "restored, recorded in another spelling, and no node name foretold", reason: "the node shows the API's spelling",
			mine: []func(*machinev1.Machine){records("memory://eu-1/I-1")}, instance: nameless(made("i-1", "uid-before", time.Hour)), adopted: true,
		},
		{
			name: "a copy of a living machine", reason: "the machine whose UID the instance carries lives",
			mine:   []func(*machinev1.Machine){records("memory:///i-1")},
			others: []*machinev1.Machine{other("m-9", "memory:///i-1")}, instance: made("i-1", "uid-of-m-9", time.Hour), phase: "Failed",
		},
	} {
		t.Run(r.name, func(t *testing.T) {
			g := openshiftRig(t, append(r.mine, held[*machinev1.Machine](openshiftFinalizer))...)
			g.others(r.others...)
			g.cloud.instances = []provider.Instance{r.instance}
			g.joins()
			was := g.providerID()
			g.pass()
			if g.cloud.count("Create") > 0 {
				t.Fatalf("%s: another was made", r.reason)
			}
			m := g.read()
			if took := g.lens.View(m).Stage == "Running"; took != r.adopted {
				t.Fatalf("%s: taken over %v, phase %s: %s", r.reason, took, ptr.Deref(m.Status.Phase, ""), ptr.Deref(m.Status.ErrorMessage, ""))
			}
			told := g.told()
			if said := slices.ContainsFunc(told, func(e string) bool { return strings.Contains(e, " Adopted ") }); said != (r.adopted && was == "") {
				t.Errorf("%s: told %q", r.reason, told)
			}
			if !r.adopted {
				refused(t, g, r.phase, told)
			}
		})
	}
}

// refused: whose the instance is stands on the object, it is left alone when the
// machine is deleted, and so is its node.
func refused(t *testing.T, g *rig[*machinev1.Machine], phase string, told []string) {
	t.Helper()
	m := g.read()
	text := ptr.Deref(m.Status.ErrorMessage, "")
	for _, c := range m.Status.Conditions {
		text += c.Message
	}
	if ptr.Deref(m.Status.Phase, "") != phase || !strings.Contains(text, "i-1") || !strings.Contains(text, "elsewhere/m-") {
		t.Errorf("phase %q, want %q; it says %q", ptr.Deref(m.Status.Phase, ""), phase, text)
	}
	if len(told) != 1 || !strings.Contains(told[0], "elsewhere/m-") {
		t.Errorf("told %q, want whose it is", told)
	}
	g.delete()
	g.pass()
	if !g.gone() || len(g.cloud.instances) != 1 {
		t.Errorf("deleted: gone %v, instances %q", g.gone(), g.there())
	}
	if w := slices.DeleteFunc(g.target.writes, func(w string) bool { return !strings.Contains(w, "Node") }); len(w) > 0 {
		t.Errorf("writes to another machine's node: %q", w)
	}
}

// TestAdoptionSaysWhatIsStrange: an instance that differs from its class is recorded anyway, and that is
// reported once.
func TestAdoptionSaysWhatIsStrange(t *testing.T) {
	for name, uid := range map[string]string{"adopted": "", "created before the class changed": "uid-1"} {
		t.Run(name, func(t *testing.T) {
			g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer))
			i := made("i-0", uid, time.Hour)
			i.State, i.RawState = provider.Stopped, "stopped"
			g.cloud.instances, g.cloud.differs = []provider.Instance{i}, []string{`size: the instance has "small", the spec says "large"`}
			g.pass()
			g.restart()
			g.pass()
			told := g.told()
			count := func(what ...string) (n int) {
				for _, e := range told {
					if !slices.ContainsFunc(what, func(w string) bool { return !strings.Contains(e, w) }) {
						n++
					}
				}
				return n
			}
			if count("Warning InstanceDiffers", "i-0", `says "large"`) != 1 {
				t.Errorf("told %q, want the difference once", told)
			}
			if n := count("Normal Adopted", "i-0", "Stopped"); (n == 1) != (uid == "") || n > 1 {
				t.Errorf("told %q", told)
			}
			if g.cloud.count("Create") > 0 || g.providerID() != "memory:///i-0" {
				t.Errorf("calls %q, recorded %q", g.cloud.calls, g.providerID())
			}
		})
	}
}

// TestStandIn: the recorded instance is not seen, and another carries the
// machine's UID. It is not replaced, nothing is made, and it is said.
func TestStandIn(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	g.cloud.instances = []provider.Instance{made("i-2", "uid-1", time.Minute)}
	g.pass()
	m := g.read()
	if m.Annotations[unrecorded] != "i-2" || *m.Spec.ProviderID != "memory:///i-1" || *m.Status.Phase != "Running" {
		t.Errorf("annotation %q, provider ID %s, phase %s", m.Annotations[unrecorded], *m.Spec.ProviderID, *m.Status.Phase)
	}
	g.delete()
	g.pass()
	if g.gone() || len(g.cloud.instances) > 0 {
		t.Errorf("gone %v, instances left %q: the node is that of another instance, and Ready", g.gone(), g.there())
	}
	g.reports(corev1.ConditionUnknown)
	g.pass()
	if !g.gone() {
		t.Error("not gone although the node is silent")
	}
}

// TestTerminatedCounts: an instance of the machine that has ended, and was never
// recorded, is not replaced; one that merely had its name means nothing.
func TestTerminatedCounts(t *testing.T) {
	for uid, creates := range map[string]int{"uid-1": 0, "": 1} {
		g := openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer))
		i := made("i-0", uid, time.Hour)
		i.State = provider.Terminated
		g.cloud.instances = []provider.Instance{i}
		g.pass()
		if n := g.cloud.count("Create"); n != creates {
			t.Errorf("an ended instance with the UID %q: asked for %d more, want %d", uid, n, creates)
		}
	}
}

// TestUnansweredCreate: with listings that run behind, an instance that was
// asked for without an answer is looked for until they have caught up.
func TestUnansweredCreate(t *testing.T) {
	g := openshiftRig(t, bySet[*machinev1.Machine](openshiftFinalizer))
	g.cloud.lag = 20 * time.Second
	g.cloud.createErr = provider.Errorf(provider.Transient, "timeout awaiting response")
	for waited := time.Duration(0); waited < 20*time.Second; {
		res := g.pass()
		if n := g.cloud.count("Create"); n != 1 {
			t.Fatalf("asked %d times within %v", n, waited)
		}
		g.clock.Step(res.RequeueAfter)
		waited += res.RequeueAfter
	}
	// The effect came late: it is found, and nothing is asked for again.
	g.cloud.createErr = nil
	g.cloud.instances = []provider.Instance{made("i-1", "uid-1", 0)}
	g.pass()
	if n := g.cloud.count("Create"); n != 1 || g.providerID() != "memory:///i-1" {
		t.Errorf("asked %d times, recorded %q", n, g.providerID())
	}
}

// TestNodeInAnotherSpelling: the node shows the provider ID as the cloud
// controller manager writes it, with a zone where ours has none (providers.md 7).
// It is the machine's all the same, whether or not the cloud answers.
func TestNodeInAnotherSpelling(t *testing.T) {
	g := gardenerRig(t)
	g.pass()
	g.joins()
	n := &corev1.Node{}
	if err := g.target.Get(t.Context(), client.ObjectKey{Name: "node-1"}, n); err != nil {
		t.Fatal(err)
	}
	before := n.DeepCopy()
	n.Spec.ProviderID = "memory://eu-1a/i-1"
	if err := g.target.WithWatch.Patch(t.Context(), n, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{nil, provider.Errorf(provider.Denied, "expired"), nil} {
		g.cloud.findErr = err
		g.pass()
		if phase := g.read().Status.CurrentStatus.Phase; phase != v1alpha1.MachineRunning {
			t.Errorf("cloud says %v: phase %q", err, phase)
		}
	}
}
