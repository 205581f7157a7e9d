package machineset_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// eachAPI runs a story in each API without an API server.
func eachAPI(t *testing.T, o func(*testing.T, *guarded[*machinev1.MachineSet]), g func(*testing.T, *guarded[*v1alpha1.MachineSet])) {
	t.Run("machine.openshift.io", func(t *testing.T) { o(t, newGuarded(t, openshiftAPI)) })
	t.Run("machine.sapcloud.io", func(t *testing.T) { g(t, newGuarded(t, gardenerAPI)) })
}

// guarded is a set of ten that must not lose more than 30 % at once.
type guarded[S client.Object] struct {
	*world[S]
	recorder   *events.FakeRecorder
	controller *machineset.Reconciler[S]
}

func newGuarded[S client.Object](t *testing.T, a api[S]) *guarded[S] {
	t.Helper()
	w := &guarded[S]{world: newWorld(a), recorder: events.NewFakeRecorder(1000)}
	w.declare(t, 10)
	w.rest(t, w.world.controller())
	w.restart()
	w.annotate(t, dialect.MaxShareAnnotation, "30%")
	return w
}

// restart is a new process: what was only remembered is lost.
func (g *guarded[S]) restart() {
	g.controller = machineset.New(g.lens, machineset.Options{
		Client: g, Live: g.Client, Clock: g.clock, Recorder: g.recorder,
		Creates: replicas.Sequential, Deletes: replicas.Sequential,
	})
}

func (g *guarded[S]) annotate(t *testing.T, key, value string) {
	t.Helper()
	s := g.read(t)
	a := s.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	a[key] = value
	s.SetAnnotations(a)
	if err := g.Client.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func (g *guarded[S]) read(t *testing.T) S {
	t.Helper()
	s := g.lens.New()
	if err := g.Client.Get(t.Context(), g.key(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// passes makes three, a minute apart, with a cache that keeps up.
func (g *guarded[S]) passes(t *testing.T) (after time.Duration) {
	t.Helper()
	for range 3 {
		g.sync(t, true, true)
		g.clock.SetTime(g.clock.Now().Add(time.Minute))
		res, err := g.reconcile(t, g.controller)
		if err != nil {
			t.Fatal(err)
		}
		after = res.RequeueAfter
	}
	return after
}

// warnings are the reasons of those told since last asked, but for deletions.
func (g *guarded[S]) warnings() (out []string) {
	for len(g.recorder.Events) > 0 {
		if fields := strings.Fields(<-g.recorder.Events); fields[0] == "Warning" {
			out = append(out, fields[1])
		}
	}
	return out
}

// condition is what the status says of the hold.
func condition(s client.Object) string {
	switch s := s.(type) {
	case *machinev1.MachineSet:
		for _, c := range s.Status.Conditions {
			if c.Type == "DeletionHeld" && c.Status == "True" && c.Reason == "MassDeletion" {
				return c.Message
			}
		}
	case *v1alpha1.MachineSet:
		for _, c := range s.Status.Conditions {
			if c.Type == v1alpha1.MachineSetReplicaFailure && c.Status == v1alpha1.ConditionTrue && c.Reason == "DeletionHeld" {
				return c.Message
			}
		}
	}
	return ""
}

func (g *guarded[S]) expect(t *testing.T, when string, machines int, told string, warnings ...string) {
	t.Helper()
	if n := g.replicas(t); n != machines {
		t.Errorf("%s: %d machines, want %d", when, n, machines)
	}
	if got := condition(g.read(t)); (got == "") != (told == "") || !strings.Contains(got, told) {
		t.Errorf("%s: the status says %q, want %q", when, got, told)
	}
	if got := g.warnings(); !slices.Equal(got, warnings) {
		t.Errorf("%s: told %q, want %q", when, got, warnings)
	}
}

func TestGuardHolds(t *testing.T) {
	eachAPI(t, guardStory[*machinev1.MachineSet], guardStory[*v1alpha1.MachineSet])
}

// A wrong number is held and reported once, until a user approves it, fixes it, or removes the guard.
func guardStory[S client.Object](t *testing.T, g *guarded[S]) {
	g.passes(t)
	g.expect(t, "at rest", 10, "")

	g.scale(t, 5)
	g.passes(t)
	g.expect(t, "half of it", 10, "5 of 10 would be removed, and at most 3", "DeletionHeld")
	version := g.read(t).GetResourceVersion()
	if after := g.passes(t); after != 0 {
		t.Errorf("looks again after %v, though only a person can change it", after)
	}
	g.expect(t, "as before", 10, "5 of 10 would be removed, and at most 3")
	if now := g.read(t).GetResourceVersion(); now != version {
		t.Errorf("written without a change: %s, then %s", version, now)
	}

	g.scale(t, 1)
	g.passes(t)
	g.expect(t, "another number", 10, "9 of 10 would be removed", "DeletionHeld")
	g.annotate(t, dialect.ApproveShrinkAnnotation, "5")
	g.passes(t)
	g.expect(t, "the approval of the number before", 10, "9 of 10 would be removed", "DeletionHeld")
	g.annotate(t, dialect.ApproveShrinkAnnotation, "lots")
	g.passes(t)
	g.expect(t, "no approval at all", 10, "nothing is approved", "InvalidDeletionShare", "DeletionHeld")

	g.scale(t, 8)
	g.passes(t)
	g.expect(t, "within the share", 8, "")
	g.bury(t)

	g.scale(t, 2)
	g.annotate(t, dialect.ApproveShrinkAnnotation, "6")
	g.passes(t)
	g.expect(t, "approved", 2, "")
	g.bury(t)
	g.scale(t, 9)
	g.passes(t)
	g.expect(t, "growing", 9, "")

	g.annotate(t, dialect.MaxShareAnnotation, "a bit")
	g.annotate(t, dialect.ApproveShrinkAnnotation, "0")
	g.scale(t, 7)
	g.passes(t)
	g.expect(t, "a share that is none", 9, "the default of 20% is in force", "InvalidDeletionShare", "DeletionHeld")
}

func TestGuardWeighsTheWholeDeployment(t *testing.T) {
	eachAPI(t, fleetStory[*machinev1.MachineSet], fleetStory[*v1alpha1.MachineSet])
}

// Of two sets with ten machines each, six may go at once, whichever has them.
func fleetStory[S client.Object](t *testing.T, g *guarded[S]) {
	owner := []metav1.OwnerReference{{APIVersion: "x/v1", Kind: "MachineDeployment", Name: "web", UID: "web-uid", Controller: ptr.To(true)}}
	s := g.read(t)
	s.SetOwnerReferences(owner)
	if err := g.Client.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	sibling := g.api.set("sibling", 8)
	sibling.SetNamespace(namespace)
	sibling.SetUID("sibling-uid")
	sibling.SetOwnerReferences(owner)
	stranger := g.api.set("stranger", 0)
	stranger.SetNamespace(namespace)
	stranger.SetUID("stranger-uid")
	stranger.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "x/v1", Kind: "MachineDeployment", Name: "web", UID: "other-uid", Controller: ptr.To(true)}})
	g.others = []client.Object{sibling, stranger}
	for i := range 10 {
		for _, s := range []S{sibling, stranger} {
			m := g.lens.NewMachine(s, s.GetName()+string(rune('a'+i)))
			g.others = append(g.others, m)
		}
	}

	g.scale(t, 5)
	if after := g.passes(t); after == 0 {
		t.Error("never looks again, though machines of the sibling may be gone soon")
	}
	g.expect(t, "5 here and 2 there", 10, "7 of 20 would be removed, and at most 6", "SelectorOverlaps", "SelectorOverlaps", "DeletionHeld") // the stranger is another deployment's
	if got := condition(g.read(t)); !strings.Contains(got, "MachineDeployment web") {
		t.Errorf("does not say where to approve: %q", got)
	}
	g.scale(t, 6)
	g.passes(t)
	g.expect(t, "4 here and 2 there", 6, "")
}

func TestGuardLetsASetGo(t *testing.T) {
	g := newGuarded(t, gardenerAPI)
	if err := g.Client.Delete(t.Context(), g.read(t)); err != nil {
		t.Fatal(err)
	}
	g.passes(t)
	if n := g.replicas(t); n != 0 {
		t.Errorf("%d machines of a set that its user deleted", n)
	}
}
