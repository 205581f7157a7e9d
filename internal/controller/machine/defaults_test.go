package machine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// regions are clouds that know nothing of each other: who looks in the wrong
// one finds nothing.
type regions struct {
	provider.Provider
	all map[string]*cloud
}

func (r *regions) Name() string { return "regional" }

func (r *regions) Open(ctx context.Context, c provider.Class) (provider.Session, error) {
	var spec struct{ Region string }
	if err := json.Unmarshal(c.Spec, &spec); err != nil {
		return nil, provider.Errorf(provider.Invalid, "decode the spec: %v", err)
	}
	if r.all[spec.Region] == nil {
		return nil, provider.InvalidField("region", "there is no region %q", spec.Region)
	}
	return r.all[spec.Region].Open(ctx, c)
}

// regional is a rig whose machine is held and says nothing of its region.
type regional struct {
	*rig[*machinev1.Machine]
	regions *regions
}

func newRegional(t *testing.T, clusters ...client.Object) *regional {
	g := &regional{
		rig:     newRig[*machinev1.Machine](t, openshift.Machines{}, append(clusters, openshiftMachine(held[*machinev1.Machine](openshiftFinalizer)), userData("boot"))...),
		regions: &regions{all: map[string]*cloud{}},
	}
	for _, name := range []string{"", "north", "south"} {
		g.regions.all[name] = &cloud{next: g.cloud.next}
	}
	g.restart()
	return g
}

func (g *regional) restart() {
	g.r = machine.New(machine.Options[*machinev1.Machine]{
		Client: g.control, Live: g.control, Clock: g.clock, Dialect: g.lens, Resolver: openshift.Resolver{Reader: g.control, Clusters: g.control}, Provider: g.regions, Recorder: g.events,
		Nodes: node.New(g.target, g.target, g.clock),
	})
}

// every does something to all regions.
func (g *regional) every(do func(*cloud)) {
	for _, c := range g.regions.all {
		do(c)
	}
}

// where are the regions of the instances.
func (g *regional) where() (out []string) {
	for name, c := range g.regions.all {
		for range c.instances {
			out = append(out, name)
		}
	}
	return out
}

func (g *regional) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// blue is a cluster that was made so long after the machine.
func blue(after time.Duration, value string) *v1beta1.Cluster {
	c := &v1beta1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "blue", CreationTimestamp: metav1.NewTime(start.Add(after))}}
	c.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(value)}
	return c
}

const (
	north = `{"region":"north"}`
	south = `{"region":"south"}`
	// another says nothing to machines: it is of a kind of its own.
	another = `{"kind":"ClusterConfig","region":"north"}`
)

func moves(to string) func(*regional) {
	return func(g *regional) {
		g.must(g.control.WithWatch.Patch(g.Context(), blue(-time.Hour, to), client.MergeFrom(blue(-time.Hour, another))))
	}
}

func goes(g *regional) { g.must(g.control.WithWatch.Delete(g.Context(), blue(0, north))) }

func comes(g *regional) { g.must(g.control.WithWatch.Create(g.Context(), blue(time.Minute, south))) }

func returns(g *regional) {
	goes(g)
	comes(g)
}

// The accidents of the first pass. After each the process starts anew.

func well(g *regional) { g.pass() }

func crashesBeforeCreate(g *regional) {
	g.every(func(c *cloud) { c.createErr = errors.New("connection refused") })
	g.pass()
	g.every(func(c *cloud) { c.createErr = nil })
}

func losesTheReply(g *regional) {
	g.every(func(c *cloud) { c.createErr, c.replyLost = errors.New("connection reset"), true })
	g.pass()
	g.every(func(c *cloud) { c.createErr, c.replyLost = nil, false })
}

func cannotRecord(g *regional) {
	g.control.refuse = func(string) error {
		if len(g.where()) > 0 {
			return conflict()
		}
		return nil
	}
	if _, err := g.try("m-1"); !apierrors.IsConflict(err) {
		g.Fatalf("the write was refused, and the pass came to %v", err)
	}
	g.control.refuse = nil
}

func cannotHold(g *regional) {
	g.control.refuse = func(string) error { return conflict() }
	if _, err := g.try("m-1"); !apierrors.IsConflict(err) {
		g.Fatalf("the write was refused, and the pass came to %v", err)
	}
	g.control.refuse = nil
}

// TestClustersDoNotMoveMachines: whatever happens to what a machine was made
// from, and whenever, it has one instance, which is found and in the end
// removed.
func TestClustersDoNotMoveMachines(t *testing.T) {
	tests := map[string]struct {
		reason   string
		cluster  *v1beta1.Cluster
		accident func(*regional)
		then     func(*regional)
		region   string
	}{
		"moved while it runs":                {"for instances to come", blue(-time.Hour, north), well, moves(south), "north"},
		"gone while it runs":                 {"what was handed down stays", blue(-time.Hour, north), well, goes, "north"},
		"made anew while it runs":            {"", blue(-time.Hour, north), well, returns, "north"},
		"made while it runs":                 {"it was made without", nil, well, comes, ""},
		"speaks up while it runs":            {"it was made without", blue(-time.Hour, another), well, moves(south), ""},
		"moved, crash before Create":         {"what is stored counts, and it may have been asked for", blue(-time.Hour, north), crashesBeforeCreate, moves(south), "north"},
		"gone, crash before Create":          {"", blue(-time.Hour, north), crashesBeforeCreate, goes, "north"},
		"made, crash before Create":          {"it may have been asked for without", nil, crashesBeforeCreate, comes, ""},
		"moved, reply lost":                  {"", blue(-time.Hour, north), losesTheReply, moves(south), "north"},
		"gone, reply lost":                   {"", blue(-time.Hour, north), losesTheReply, goes, "north"},
		"made anew, reply lost":              {"", blue(-time.Hour, north), losesTheReply, returns, "north"},
		"made, reply lost":                   {"a younger cluster has no say", nil, losesTheReply, comes, ""},
		"speaks up, reply lost":              {"that it said nothing is stored, too", blue(-time.Hour, another), losesTheReply, moves(south), ""},
		"moved, crash before it is stored":   {"", blue(-time.Hour, north), cannotRecord, moves(south), "north"},
		"made, crash before it is stored":    {"", nil, cannotRecord, comes, ""},
		"moved, nothing could be stored":     {"so nothing was asked for", blue(-time.Hour, north), cannotHold, moves(south), "south"},
		"made anew, nothing could be stored": {"nothing was asked for, and the new one is younger", blue(-time.Hour, north), cannotHold, returns, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := newRegional(t)
			if tc.cluster != nil {
				g.must(g.control.WithWatch.Create(t.Context(), tc.cluster.DeepCopy()))
			}
			tc.accident(g)
			tc.then(g)
			g.restart()
			g.clock.Step(time.Minute)
			g.pass()
			if at := g.where(); len(at) != 1 || at[0] != tc.region {
				t.Fatalf("%s: instances in %q, want one in %q", tc.reason, at, tc.region)
			}
			if m := g.read(); ptr.Deref(m.Status.Phase, "") != "Provisioned" || m.Spec.ProviderID == nil {
				t.Errorf("%s: phase %s, provider ID %v", tc.reason, ptr.Deref(m.Status.Phase, ""), m.Spec.ProviderID)
			}
			g.delete()
			g.pass()
			if at := g.where(); len(at) > 0 {
				t.Errorf("%s: after its deletion an instance is left in %q", tc.reason, at)
			}
		})
	}
}

// TestDeletedBeforeItWasMade: what a machine that was never made lacks is taken
// from its cluster all the same, or it could not be looked for.
func TestDeletedBeforeItWasMade(t *testing.T) {
	g := newRegional(t)
	delete(g.regions.all, "")
	g.must(g.control.WithWatch.Create(t.Context(), blue(-time.Hour, north)))
	g.delete()
	g.pass()
	if g.regions.all["north"].count("Delete") != 1 {
		t.Error("it was let go unseen")
	}
	var m machinev1.Machine
	if err := g.control.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "m-1"}, &m); !apierrors.IsNotFound(err) {
		t.Errorf("the machine is left: %v", err)
	}
}

// TestDefaultsCostOneWrite: what a cluster hands down is stored before Create,
// in the write of the finalizer where there is one.
func TestDefaultsCostOneWrite(t *testing.T) {
	g := newRegional(t)
	g.must(g.control.WithWatch.Create(t.Context(), blue(-time.Hour, north)))
	g.written()
	g.regions.all["north"].before = func(call string) {
		if kept := g.read().Annotations[openshift.DefaultsAnnotation]; call == "Create" && kept != north {
			t.Errorf("Create was called when %q was stored", kept)
		}
	}
	g.pass()
	g.wrote("defaults, where it is asked for, then spec and status", "patch Machine!", "patch Machine/status!", "patch Machine!", "patch Machine/status!")
	g.pass()
	g.wrote("at rest nothing is written")

	h := newRegional(t)
	h.must(h.control.WithWatch.Create(t.Context(), blue(-time.Hour, north)))
	m := h.read()
	m.Finalizers = nil
	h.must(h.control.WithWatch.Patch(t.Context(), m, client.MergeFrom(h.read())))
	h.written()
	h.pass()
	h.wrote("finalizer and defaults, where it is asked for, then spec and status", "patch Machine!", "patch Machine/status!", "patch Machine!", "patch Machine/status!")
	if m := h.read(); m.Annotations[openshift.DefaultsAnnotation] != north || len(m.Finalizers) != 1 {
		t.Errorf("annotations %v, finalizers %v", m.Annotations, m.Finalizers)
	}

	none := newRegional(t)
	none.pass()
	none.wrote("without a cluster nothing is added", "patch Machine/status!", "patch Machine!", "patch Machine/status!")
	if _, kept := none.read().Annotations[openshift.DefaultsAnnotation]; kept {
		t.Error("defaults are kept that nobody has")
	}
}
