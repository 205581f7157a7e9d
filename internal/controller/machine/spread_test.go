package machine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/choice"
	"github.com/millwright-dev/millwright/provider"
)

// alike are zones that are equal.
func alike(names ...string) []provider.Choice {
	out := zones(names...)
	for n := range out {
		out[n].Equal = n > 0
	}
	return out
}

// land is a cloud whose instances are in the zone that was chosen.
type land[M client.Object] struct {
	*rig[M]
	asked   *[]string
	choices []provider.Choice
	make    func(name string) M
}

// unrotated is a UID for which the choices are in the order in which they are listed.
func (l *land[M]) unrotated(name string) types.UID {
	for n := 0; ; n++ {
		uid := fmt.Sprintf("uid-%s-%d", name, n)
		if slices.Equal(choice.Rotate(l.choices, uid), l.choices) {
			return types.UID(uid)
		}
	}
}

func landOf[M client.Object](g *rig[M], choices []provider.Choice, made func(name string) M) *land[M] {
	l := &land[M]{rig: g, choices: choices, make: made}
	l.asked = chooses(g, choices, func(string) error { return nil })
	l.answers(func(string) error { return nil })
	return l
}

// answers is what each choice comes to.
func (l *land[M]) answers(of func(choice string) error) {
	l.cloud.answers = func(choice string) error {
		*l.asked = append(*l.asked, choice)
		l.cloud.next.Zone = choice
		return of(choice)
	}
}

func openshiftLand(t *testing.T, choices []provider.Choice) *land[*machinev1.Machine] {
	return landOf(openshiftRig(t), choices, func(name string) *machinev1.Machine {
		return openshiftMachine(func(m *machinev1.Machine) { m.Name, m.UID = name, types.UID("uid-"+name) })
	})
}

// add makes the machine of the set, and lets it ask for its instance.
func (l *land[M]) add(set, name string) {
	l.Helper()
	m := l.make(name)
	m.SetUID(l.unrotated(name))
	if set != "" {
		m.SetOwnerReferences([]metav1.OwnerReference{{Kind: "MachineSet", Name: set, UID: types.UID("uid-" + set), Controller: ptr.To(true)}})
	}
	if err := l.control.WithWatch.Create(l.Context(), m); err != nil {
		l.Fatal(err)
	}
	i := &l.cloud.next
	i.ID, i.ProviderID, i.NodeName = "i-"+name, "memory:///i-"+name, "node-"+name
	l.look(name)
}

func (l *land[M]) look(name string) {
	l.Helper()
	for range 2 { // the first adds the finalizer
		if _, err := l.try(name); err != nil {
			l.Fatal(err)
		}
	}
}

func (l *land[M]) wants(reason string, want ...string) {
	l.Helper()
	if !slices.Equal(*l.asked, want) {
		l.Errorf("%s: asked for %q, want %q", reason, *l.asked, want)
	}
}

// TestSpreadOverZones: the machines of one set are in each zone, whatever other sets have, in both APIs, and say so.
func TestSpreadOverZones(t *testing.T) {
	t.Run(provider.OpenShift, func(t *testing.T) { spreads(t, openshiftLand(t, alike("a", "b", "c"))) })
	t.Run(provider.Gardener, func(t *testing.T) {
		g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer))
		spreads(t, landOf(g, alike("a", "b", "c"), func(name string) *v1alpha1.Machine {
			return gardenerMachine(func(m *v1alpha1.Machine) { m.Name, m.UID = name, types.UID("uid-"+name) })
		}))
	})
}

func spreads[M client.Object](t *testing.T, l *land[M]) {
	for n := range 4 {
		l.add("set", fmt.Sprintf("n-%d", n))
	}
	l.wants("one set", "a", "b", "c", "a")
	l.add("other", "o-0")
	l.wants("another set begins anew", "a", "b", "c", "a", "a")
	l.add("", "lone")
	l.add("", "hermit")
	l.wants("whoever has no owner has no siblings", "a", "b", "c", "a", "a", "a", "a")
	m := l.lens.New()
	if err := l.control.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "n-1"}, m); err != nil {
		t.Fatal(err)
	}
	if o, _ := dialect.Origin(m, true); o == nil || o.ChosenZone != "b" || o.Zone != "" {
		t.Errorf("the machine keeps the origin %+v", o)
	}
}

// TestRankedChoicesAreNoSpread: fallbacks are listed best first, and that is a promise.
func TestRankedChoicesAreNoSpread(t *testing.T) {
	l := openshiftLand(t, zones("a", "b"))
	l.add("set", "n-0")
	l.add("set", "n-1")
	l.wants("the best one has room", "a", "a")
	m := &machinev1.Machine{}
	if err := l.control.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "n-0"}, m); err != nil {
		t.Fatal(err)
	}
	if o, _ := dialect.Origin(m, true); o == nil || o.ChosenZone != "" {
		t.Errorf("nobody counts zones, and the machine keeps the origin %+v", o)
	}
}

// TestSpreadBeforeTheCacheShows: of machines that are asked for at the same moment no list shows a zone yet.
func TestSpreadBeforeTheCacheShows(t *testing.T) {
	l := openshiftLand(t, alike("a", "b", "c"))
	l.control.unlisted = errors.New("no list for now")
	for n := range 3 {
		l.add("set", fmt.Sprintf("n-%d", n))
	}
	l.wants("the process remembers what it gave out", "a", "b", "c")
}

// TestSpreadAfterARestart: a new process has what machines keep, before it has looked at any of them.
func TestSpreadAfterARestart(t *testing.T) {
	l := openshiftLand(t, alike("a", "b", "c"))
	l.add("set", "n-0")
	l.add("set", "n-1")
	l.restart()
	l.add("set", "n-2")
	l.wants("c alone has none", "a", "b", "c")
}

// TestSpreadOfOlderMachines: machines of an earlier version keep no zone. What their instances say counts, once they were looked at,
// and they keep it from then on.
func TestSpreadOfOlderMachines(t *testing.T) {
	l := openshiftLand(t, alike("a", "b"))
	l.add("set", "n-0")
	var m machinev1.Machine
	if err := l.control.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "n-0"}, &m); err != nil {
		t.Fatal(err)
	}
	before := client.MergeFrom(m.DeepCopy())
	m.Annotations[dialect.OriginAnnotation] = fmt.Sprintf(`{"uid":%q,"cluster":"blue"}`, m.UID)
	if err := l.control.WithWatch.Patch(t.Context(), &m, before); err != nil {
		t.Fatal(err)
	}
	l.restart()
	l.look("n-0")
	l.add("set", "n-1")
	l.wants("the first is in a", "a", "b")
	l.restart()
	l.add("set", "n-2")
	l.add("set", "n-3")
	l.wants("both keep their zones", "a", "b", "a", "b")
}

// TestReplacedInItsZone: a machine under deletion frees its place in its zone before it is deleted.
func TestReplacedInItsZone(t *testing.T) {
	l := openshiftLand(t, alike("a", "b", "c"))
	for n := range 3 {
		l.add("set", fmt.Sprintf("n-%d", n))
	}
	if err := l.control.Delete(t.Context(), &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "n-1"}}); err != nil {
		t.Fatal(err)
	}
	l.add("set", "n-3")
	l.wants("the other zones have one each", "a", "b", "c", "b")
}

// TestSpreadWhereThereIsRoom: the zone with the fewest machines is exhausted, so the one with the next
// fewest is chosen, and the refused request does not count for any zone.
func TestSpreadWhereThereIsRoom(t *testing.T) {
	l := openshiftLand(t, alike("a", "b", "c"))
	l.add("set", "n-0")
	l.answers(exhausted(provider.ScopeZone, "b"))
	l.add("set", "n-1")
	l.add("set", "n-2")
	l.wants("b has no room", "a", "b", "c", "a")
	l.clock.Step(time.Minute)
	l.answers(func(string) error { return nil })
	l.add("set", "n-3")
	l.wants("b has room again", "a", "b", "c", "a", "b")
	l.answers(exhausted(provider.ScopeZone))
	l.add("set", "n-4")
	l.clock.Step(10 * time.Minute)
	l.answers(func(string) error { return nil })
	l.add("set", "n-5")
	if got := (*l.asked)[len(*l.asked)-1]; got != "b" {
		t.Errorf("asked for %q: what was refused to n-4 counts", *l.asked)
	}
}

// TestNoOtherZoneForALostReply: the machine whose instance may be there is asked for in its zone again, although the other zone has fewer by
// then, and counts there meanwhile.
func TestNoOtherZoneForALostReply(t *testing.T) {
	l := openshiftLand(t, alike("a", "b"))
	l.answers(func(string) error { return errors.New("connection reset") })
	l.add("set", "n-0")
	before := slices.Clone(*l.asked)
	l.answers(func(string) error { return nil })
	l.add("set", "n-1")
	l.add("set", "n-2")
	if got := (*l.asked)[len(before):]; !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("asked for %q after %q", got, before)
	}
	if err := l.control.Delete(t.Context(), &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "n-1"}}); err != nil {
		t.Fatal(err)
	}
	made := len(l.cloud.instances)
	for n := 0; n < 20 && len(l.cloud.instances) == made; n++ {
		l.clock.Step(2 * time.Second)
		i := &l.cloud.next
		i.ID, i.ProviderID, i.NodeName = "i-n-0", "memory:///i-n-0", "node-n-0"
		l.look("n-0")
	}
	if got := (*l.asked)[len(*l.asked)-1]; got != "a" || len(l.cloud.instances) != made+1 {
		t.Errorf("asked for %q, %d instances", *l.asked, len(l.cloud.instances))
	}
}
