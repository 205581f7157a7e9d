package machine_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/provider"
)

// gone reports whether m-1 does not exist any more.
func (g *rig[M]) gone() bool {
	err := g.control.Get(g.Context(), client.ObjectKey{Namespace: ns, Name: "m-1"}, g.lens.New())
	return apierrors.IsNotFound(err)
}

// settle makes the machine run.
func (g *rig[M]) settle() {
	g.Helper()
	g.pass()
	g.joins()
	g.pass()
	g.written()
	g.told()
}

// change edits the stored machine as another client would.
func (g *rig[M]) change(edit func(M)) {
	g.Helper()
	before := g.read()
	after := before.DeepCopyObject().(M)
	edit(after)
	if err := g.control.WithWatch.Patch(g.Context(), after, client.MergeFrom(before)); err != nil {
		g.Fatal(err)
	}
}

// TestDeletableWhatever: a machine whose class, secret, cluster label or spec does not exist any more can
// still be deleted, and its instance is terminated with it.
func TestDeletableWhatever(t *testing.T) {
	remove := func(o client.Object) func(*recording) error {
		return func(r *recording) error { return r.WithWatch.Delete(t.Context(), o) }
	}
	edit := func(f func(*machinev1.Machine)) func(*recording) error {
		return func(r *recording) error {
			var m machinev1.Machine
			if err := r.WithWatch.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "m-1"}, &m); err != nil {
				return err
			}
			before := m.DeepCopy()
			f(&m)
			return r.WithWatch.Patch(t.Context(), &m, client.MergeFrom(before))
		}
	}
	for name, lose := range map[string]func(*recording) error{
		"user data secret": remove(userData("")),
		"cluster label":    edit(func(m *machinev1.Machine) { m.Labels = nil }),
		"spec":             edit(func(m *machinev1.Machine) { m.Spec.ProviderSpec.Value = nil }),
		"spec in the wrong form": edit(func(m *machinev1.Machine) {
			m.Spec.ProviderSpec.Value.Raw = []byte(`{"undecodable":true}`)
		}),
	} {
		t.Run("openshift, "+name, func(t *testing.T) {
			g := openshiftRig(t)
			g.cloud.openErr = strict
			removable(t, g, lose)
		})
	}
	for name, lose := range map[string]func(*recording) error{
		"class": remove(machineClass()), "secret": remove(userData("")),
	} {
		t.Run("gardener, "+name, func(t *testing.T) { removable(t, gardenerRig(t), lose) })
	}
}

// strict refuses what it cannot decode.
func strict(c provider.Class) error {
	if string(c.Spec) == `{"undecodable":true}` {
		return provider.InvalidField("undecodable", "unknown field")
	}
	return nil
}

// regionReader reads the region of any spec.
type regionReader struct{}

func (regionReader) ReadSpec(_ string, spec []byte) (provider.SpecNames, error) {
	var says struct{ Region string }
	_ = json.Unmarshal(spec, &says)
	return provider.SpecNames{Region: says.Region}, nil
}

// TestARefusedSpecSaysTheRegion: where only the spec says in which region the instance is, and the spec is refused by now, the instance is
// looked for there. What says the region besides the spec counts before it.
func TestARefusedSpecSaysTheRegion(t *testing.T) {
	for _, tc := range []struct{ reason, label, want string }{
		{"the spec alone", "", "east"}, {"a label of the machine", "west", "west"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			g := openshiftRig(t, func(m *machinev1.Machine) {
				m.Spec.ProviderSpec.Value.Raw = []byte(`{"undecodable":true,"region":"east"}`)
				if tc.label != "" {
					m.Labels["machine.openshift.io/region"] = tc.label
				}
			})
			g.cloud.offers = func(target any) bool {
				r, ok := target.(*provider.SpecReader)
				if ok {
					*r = regionReader{}
				}
				return ok
			}
			g.cloud.openErr = func(c provider.Class) error {
				if len(c.Spec) > 0 {
					return provider.InvalidField("undecodable", "unknown field")
				}
				return nil
			}
			g.pass()
			g.delete()
			g.pass()
			if !g.gone() {
				t.Fatal("the machine stays")
			}
			if last := g.cloud.classes[len(g.cloud.classes)-1]; len(last.Spec) > 0 || last.Region != tc.want {
				t.Errorf("looked in region %q with the spec %q, want %q without", last.Region, last.Spec, tc.want)
			}
		})
	}
}

func removable[M client.Object](t *testing.T, g *rig[M], lose func(*recording) error) {
	g.settle()
	if err := lose(g.control); err != nil {
		t.Fatal(err)
	}
	g.pass()
	if len(g.cloud.instances) != 1 {
		t.Fatal("the instance was removed although the machine is wanted")
	}
	g.delete()
	g.pass()
	if !g.gone() || len(g.cloud.instances) > 0 {
		t.Errorf("gone: %v, instances left: %d", g.gone(), len(g.cloud.instances))
	}
	for _, c := range g.cloud.classes {
		if c.Cluster != g.cloud.classes[0].Cluster {
			t.Errorf("looked in the scope %q for what was made in %q", c.Cluster, g.cloud.classes[0].Cluster)
		}
	}
}

// TestDeniedIsNotGone: neither an answer that is denied nor one that fails lets
// a machine go.
func TestDeniedIsNotGone(t *testing.T) {
	for _, kind := range []provider.Kind{provider.Denied, provider.Transient, provider.Invalid} {
		g := gardenerRig(t)
		g.settle()
		g.delete()
		g.cloud.findErr = provider.Errorf(kind, "no answer")
		for range 3 {
			g.clock.Step(g.pass().RequeueAfter)
		}
		if g.gone() || g.cloud.count("Delete") > 0 {
			t.Errorf("%s: gone %v, %d calls of Delete", kind, g.gone(), g.cloud.count("Delete"))
		}
		g.cloud.findErr = nil
		g.pass()
		if !g.gone() || len(g.cloud.instances) > 0 {
			t.Errorf("%s: it does not go once the cloud answers", kind)
		}
	}
}

// TestNothingWasAskedFor: if the infrastructure never permitted a read, no instance was requested, and a
// deleted machine leaves nothing behind.
func TestNothingWasAskedFor(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { nothingWasAskedFor(t, openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { nothingWasAskedFor(t, gardenerRig(t)) })
}

func nothingWasAskedFor[M client.Object](t *testing.T, g *rig[M]) {
	g.cloud.findErr = provider.Errorf(provider.Denied, "the token has expired")
	for range 3 {
		g.pass()
		g.clock.Step(time.Second)
	}
	g.delete()
	g.clock.SetTime(g.read().GetDeletionTimestamp().Time) // the fake API server has a clock of its own
	if g.pass(); g.gone() {
		t.Fatal("gone at once: the object may come from a backup")
	}
	g.clock.Step(61 * time.Second)
	if g.pass(); !g.gone() || g.cloud.count("Create") > 0 {
		t.Errorf("gone %v, %d calls of Create", g.gone(), g.cloud.count("Create"))
	}
}

// TestAskedForOnceTheCloudAnswers: what was denied at first is made when it no longer is,
// and does not go unseen from then on.
func TestAskedForOnceTheCloudAnswers(t *testing.T) {
	g := gardenerRig(t)
	g.cloud.findErr = provider.Errorf(provider.Denied, "the token has expired")
	g.pass()
	g.cloud.findErr, g.cloud.replyLost = nil, true
	g.clock.Step(time.Hour)
	if g.pass(); len(g.cloud.instances) != 1 {
		t.Fatalf("%d instances", len(g.cloud.instances))
	}
	g.delete()
	g.clock.SetTime(g.read().GetDeletionTimestamp().Time)
	g.cloud.findErr = provider.Errorf(provider.Denied, "the token has expired")
	for range 4 {
		g.pass()
		g.clock.Step(time.Hour)
	}
	if g.gone() {
		t.Error("gone, and its instance is left")
	}
}

// TestAbandon lets go of what cannot be reached, and says so by an annotation
// of its own.
func TestAbandon(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.delete()
	g.cloud.openErr = func(provider.Class) error { return provider.Errorf(provider.Denied, "credentials are gone") }
	g.pass()
	if g.gone() {
		t.Fatal("let go although an instance may be there")
	}
	g.change(func(m *v1alpha1.Machine) {
		m.Annotations = map[string]string{"millwright.dev/abandon-instance": "true"}
	})
	g.pass()
	if !g.gone() {
		t.Error("not let go although that was asked for")
	}
}

// TestDeleteFailureIsToldOnce: a row of refusals is one event.
func TestDeleteFailureIsToldOnce(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	g.delete()
	g.cloud.deleteErr = errors.New("in use")
	for range 4 {
		g.clock.Step(g.pass().RequeueAfter)
	}
	failures := slices.DeleteFunc(g.told(), func(e string) bool { return e != "Warning FailedDelete in use" })
	if len(failures) != 1 || g.cloud.count("Delete") != 4 {
		t.Errorf("%d events for %d refusals, want one", len(failures), g.cloud.count("Delete"))
	}
}

// TestDeleteFailureStaysInTheStatus: an event goes with the write that it follows, and
// after an hour. What keeps a machine from going is in its status as long as it does,
// and no longer.
func TestDeleteFailureStaysInTheStatus(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	g.delete()
	for _, step := range []struct {
		reason string
		err    error
		lost   bool
		want   string
	}{
		{"the write is lost, and its event with it", errors.New("in use"), true, ""},
		{"it is said by the next", errors.New("in use"), false, "Failed to delete the instance: in use"},
		{"as it is by now", errors.New("locked"), false, "Failed to delete the instance: locked"},
		{"nothing is in the way any more", nil, false, ""},
	} {
		g.cloud.deleteErr, g.cloud.deletions = step.err, 1
		g.control.refuse = func(write string) error {
			if step.lost && strings.HasPrefix(write, "patch Machine/status") {
				return errors.New("no reply")
			}
			return nil
		}
		if _, err := g.try("m-1"); (err != nil) != step.lost {
			t.Fatalf("error %v: %s", err, step.reason)
		}
		g.clock.Step(time.Minute)
		got := ""
		for _, c := range g.read().Status.Conditions {
			if c.Type == "InstanceDeletionStarted" {
				got = c.Message
			}
		}
		if got != step.want {
			t.Errorf("status says %q, want %q: %s", got, step.want, step.reason)
		}
	}
}

// TestLagAtDeletion: an instance asked for just before the machine was deleted
// may not be listed yet. That is all a deletion in the middle of a creation
// waits for (P4).
func TestLagAtDeletion(t *testing.T) {
	g := openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer))
	g.cloud.lag = 10 * time.Second
	g.delete()
	// The fake stamps the deletion with the wall clock.
	g.clock.SetTime(g.read().DeletionTimestamp.Time)
	if res := g.pass(); g.gone() || res.RequeueAfter != 10*time.Second {
		t.Fatalf("gone %v, again in %v, want 10s", g.gone(), res.RequeueAfter)
	}
	g.clock.Step(10 * time.Second)
	g.pass()
	if !g.gone() {
		t.Error("not gone although the listing has caught up")
	}
}

// TestReplaceAsksLive: a cache that lost the node is no reason to delete a machine; a node that does not
// exist, or is under deletion, is.
func TestReplaceAsksLive(t *testing.T) {
	deleting := func(g *rig[*v1alpha1.Machine]) bool { return g.read().DeletionTimestamp != nil }
	g := gardenerRig(t)
	g.settle()
	blind := newRecording(t)
	g.r.Nodes.Client = blind
	g.pass()
	if deleting(g) {
		t.Fatal("the machine was deleted because the cache lost its node")
	}
	n := &corev1.Node{}
	if err := g.target.Get(t.Context(), client.ObjectKey{Name: "node-1"}, n); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(n.Finalizers, "node.machine.sapcloud.io/machine-controller") {
		t.Fatal("the node has not got the finalizer by which its deletion is seen")
	}
	g.r.Nodes.Client = g.target
	if err := g.target.Delete(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	g.pass()
	if !deleting(g) {
		t.Fatal("the node is being deleted, and its machine is not")
	}
	g.pass()
	if !g.gone() || len(g.cloud.instances) > 0 {
		t.Error("machine or instance are left")
	}
}

// TestAnotherInstanceHasTheNode: a machine whose instance was terminated does not stay Running because
// another instance, of a lost machine, has its node.
func TestAnotherInstanceHasTheNode(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.cloud.instances = nil
	n := &corev1.Node{}
	if err := g.target.Get(t.Context(), client.ObjectKey{Name: "node-1"}, n); err != nil {
		t.Fatal(err)
	}
	before := n.DeepCopy()
	n.Spec.ProviderID = "cloud:///another"
	if err := g.target.WithWatch.Patch(t.Context(), n, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	g.pass()
	m := g.read()
	if m.Status.CurrentStatus.Phase != v1alpha1.MachineUnknown || !strings.Contains(m.Status.LastOperation.Description, "instance cloud:///another") {
		t.Fatalf("the machine is %s: %s", m.Status.CurrentStatus.Phase, m.Status.LastOperation.Description)
	}
	g.clock.Step(10*time.Minute + time.Second)
	g.pass()
	if phase := g.read().Status.CurrentStatus.Phase; phase != v1alpha1.MachineFailed {
		t.Errorf("after its time the machine is %s", phase)
	}
}

// TestNewClassNewTry: a fix of the class takes effect without the pause after the last failure.
func TestNewClassNewTry(t *testing.T) {
	g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer))
	g.cloud.createErr = provider.InvalidField("zone", "there is none")
	g.pass()
	g.cloud.createErr = nil
	g.pass()
	if g.cloud.count("Create") != 1 {
		t.Fatal("tried again before its time")
	}
	before := machineClass()
	after := before.DeepCopy()
	after.ProviderSpec.Raw = []byte(`{"zone":"a"}`)
	if err := g.control.WithWatch.Patch(t.Context(), after, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	g.pass()
	if g.cloud.count("Create") != 2 {
		t.Error("a mended class did not get a new try")
	}
}
