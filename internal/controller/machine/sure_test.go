package machine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestGivenUpByTheServerOnly: a machine fails because of its node only by the API server's answer. Here the
// watch of nodes has stopped before the node was healthy, and then shows it in its old state for ever.
func TestGivenUpByTheServerOnly(t *testing.T) {
	for _, tt := range []struct {
		reason string
		// lost: the machine ran, and its node fell silent.
		lost, foretold bool
		node           corev1.ConditionStatus
		unread         error
		want           lifecycle.Stage
	}{
		{"it joined unseen", false, true, corev1.ConditionTrue, nil, lifecycle.StageRunning},
		{"it joined unseen, and nobody foretold its name", false, false, corev1.ConditionTrue, nil, lifecycle.StageRunning},
		{"it joined, and is not ready", false, true, corev1.ConditionFalse, nil, lifecycle.StageFailed},
		{"nobody can tell whether it joined", false, true, corev1.ConditionTrue, errors.New("connection refused"), lifecycle.StageJoining},
		{"it came back unseen", true, true, corev1.ConditionTrue, nil, lifecycle.StageRunning},
		{"it is silent still", true, true, corev1.ConditionUnknown, nil, lifecycle.StageFailed},
		{"nobody can tell whether it came back", true, true, corev1.ConditionTrue, errors.New("connection refused"), lifecycle.StageLost},
	} {
		g := gardenerRig(t)
		if !tt.foretold {
			g.cloud.next.NodeName = ""
		}
		g.pass()
		cache := newRecording(t)
		if tt.lost {
			g.joins()
			g.reports(corev1.ConditionTrue)
			g.pass()
			g.reports(corev1.ConditionUnknown)
			g.pass()
			cache = newRecording(t, g.stored("node-1"))
		} else {
			g.joins()
		}
		g.reports(tt.node)
		g.r.Nodes.Client = stopped{g.target, cache}
		if tt.unread != nil {
			g.r.Nodes.Live = unreadable{tt.unread}
		}
		g.clock.Step(30 * time.Minute)
		g.pass()
		if got := g.lens.View(g.read()).Stage; got != tt.want {
			t.Errorf("%s: stage %q, want %q", tt.reason, got, tt.want)
		}
	}
}

// TestMissingByTheServerOnly: the infrastructure does not list an instance whose node joined after the
// cache had stopped, under a name that was not foretold.
func TestMissingByTheServerOnly(t *testing.T) {
	for _, tt := range []struct {
		reason string
		node   corev1.ConditionStatus
		want   lifecycle.Stage
	}{
		{"it joined unseen, and speaks for its instance", corev1.ConditionTrue, lifecycle.StageRunning},
		{"it joined, and is silent", corev1.ConditionUnknown, lifecycle.StageFailed},
	} {
		g := openshiftRig(t)
		g.cloud.next.NodeName = ""
		g.pass()
		g.joins()
		g.reports(tt.node)
		g.r.Nodes.Client = nodeless{g.target}
		g.cloud.instances = nil
		g.clock.Step(time.Hour)
		g.pass()
		if got := g.lens.View(g.read()).Stage; got != tt.want {
			t.Errorf("%s: stage %q, want %q", tt.reason, got, tt.want)
		}
	}
}

// TestForcedByTheServerOnly: a cache that has stopped shows a node as silent that has
// long been ready. Budgets hold for its pods.
func TestForcedByTheServerOnly(t *testing.T) {
	for _, tt := range []struct {
		reason string
		node   corev1.ConditionStatus
		want   string
	}{
		{"it came back unseen", corev1.ConditionTrue, "create Pod/eviction"},
		{"it is silent still", corev1.ConditionUnknown, "delete Pod"},
	} {
		g := gardenerRig(t)
		g.settle()
		g.pod("db-0", true)
		g.reports(corev1.ConditionUnknown)
		cache := newRecording(t, g.stored("node-1"))
		g.clock.Step(6 * time.Minute)
		if tt.node == corev1.ConditionTrue {
			g.reports(tt.node)
		}
		g.r.Nodes.Client = stopped{g.target, cache}
		g.delete()
		g.pass()
		var got []string
		for _, w := range g.target.writes {
			if w == "delete Pod" || w == "create Pod/eviction" {
				got = append(got, w)
			}
		}
		if len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: %v, want %s", tt.reason, got, tt.want)
		}
	}
}

// stored is a copy of a node for a cache that stops now.
func (g *rig[M]) stored(name string) *corev1.Node {
	g.Helper()
	n := &corev1.Node{}
	if err := g.target.Get(g.Context(), client.ObjectKey{Name: name}, n); err != nil {
		g.Fatal(err)
	}
	n.ResourceVersion = ""
	return n
}

// unreadable is an API server that does not answer.
type unreadable struct{ err error }

func (u unreadable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return u.err
}

func (u unreadable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return u.err
}

// TestUnlistedIsLookedForAmongNodes: the infrastructure does not list the instance of a
// machine that goes, and no cache has seen the node that says otherwise. It is no reason
// to let go of the machine.
func TestUnlistedIsLookedForAmongNodes(t *testing.T) {
	g := openshiftRig(t)
	g.cloud.next.NodeName = ""
	g.pass()
	g.joins()
	g.r.Nodes.Client = stopped{g.target, newRecording(t)}
	g.cloud.instances = nil
	g.delete()
	g.pass()
	if g.gone() {
		t.Error("the machine was released although its node reports Ready")
	}
}

// TestUnlistedIsAskedOfTheServer: the same, where the cache has stopped before the node
// was well, or after it. Its pods are moved first, and nothing of it goes while its
// node reports.
func TestUnlistedIsAskedOfTheServer(t *testing.T) {
	for _, tt := range []struct {
		reason     string
		shown, now corev1.ConditionStatus
		gone       bool
	}{
		{"it is well, unseen", corev1.ConditionFalse, corev1.ConditionTrue, false},
		{"it came back unseen", corev1.ConditionUnknown, corev1.ConditionTrue, false},
		{"it is silent still", corev1.ConditionUnknown, corev1.ConditionUnknown, true},
		{"it fell silent unseen", corev1.ConditionTrue, corev1.ConditionUnknown, true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := openshiftRig(t)
			g.pass()
			g.joins()
			g.reports(tt.shown)
			cache := newRecording(t, g.stored("node-1"))
			g.reports(tt.now)
			g.r.Nodes.Client = stopped{g.target, cache}
			g.cloud.instances = nil
			g.delete()
			for range 3 {
				g.clock.Step(time.Minute)
				g.pass()
			}
			if g.gone() != tt.gone {
				t.Errorf("gone %v, want %v", g.gone(), tt.gone)
			}
		})
	}
}
