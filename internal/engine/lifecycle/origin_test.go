package lifecycle_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestOriginFirst: no instance is requested before the object records where.
func TestOriginFirst(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		origin *lifecycle.Origin
		w      lifecycle.World
		want   lifecycle.Step
	}{
		"unknown":      {"others may have had it in hand; from now on it is known", nil, world(), lifecycle.AddFinalizer},
		"unasked":      {"a set made it, or it was invalid until now", &lifecycle.Origin{}, world(), lifecycle.AddFinalizer},
		"known":        {"it was stored by an earlier pass", inBlue(), world(), lifecycle.Create},
		"found":        {"an instance is there, and recording it records where", nil, world(having(instance(provider.Running))), lifecycle.Await},
		"not possible": {"without a session there is no where", nil, world(classless(errTransient)), lifecycle.Await},
	} {
		t.Run(name, func(t *testing.T) {
			m := fresh(func(m *lifecycle.Machine) { m.Recorded.Origin = c.origin })
			if d := lifecycle.Decide(now, m, c.w, patient); d.Step != c.want {
				t.Errorf("%s: %s (%s), want %s: %s", name, d.Step, d.Reason, c.want, c.reason)
			}
		})
	}
}

// TestElsewhere: an instance that another account does not list is not terminated.
func TestElsewhere(t *testing.T) {
	one := &lifecycle.Origin{Cluster: "blue", Account: "one"}
	for name, c := range map[string]struct {
		reason string
		origin *lifecycle.Origin
		is     string
		want   bool
	}{
		"another account": {"the answer is about something else", one, "two", true},
		"the same":        {"the answer counts", one, "one", false},
		"cannot tell now": {"an infrastructure without accounts", one, "", false},
		"was not told":    {"a machine of an earlier version", inBlue(), "two", false},
		"no origin":       {"nothing to compare with", nil, "two", false},
	} {
		err := c.origin.Elsewhere(c.is)
		if (err != nil) != c.want || err != nil && provider.KindOf(err) != provider.Denied {
			t.Errorf("%s: %v, want an error: %v: %s", name, err, c.want, c.reason)
		}
	}
	blindness := one.Elsewhere("two")
	for name, c := range map[string]struct {
		m    lifecycle.Machine
		want lifecycle.Step
	}{
		"a running machine lives on by its node, and asks again": {machine(stage(lifecycle.StageRunning, 0)), lifecycle.Await},
		"nothing is made in the other account":                   {fresh(), lifecycle.Await},
		"a deletion drains first":                                {leaving(), lifecycle.Drain},
	} {
		if d := lifecycle.Decide(now, c.m, world(blind(blindness), joined(node(corev1.ConditionTrue))), patient); d.Step != c.want {
			t.Errorf("%s: %s (%s), want %s", name, d.Step, d.Reason, c.want)
		}
	}
}
