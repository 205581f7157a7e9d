package machine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// caretaker maintains what differs.
type caretaker struct {
	differs bool
	calls   int
	err     error
}

func (c *caretaker) Unkept(provider.Ref, provider.Instance) bool { return c.differs }

func (c *caretaker) Maintain(context.Context, provider.Ref, provider.Instance) error {
	c.calls++
	if c.err == nil {
		c.differs = false
	}
	return c.err
}

func (g *rig[M]) maintained() *caretaker {
	c := &caretaker{differs: true}
	g.cloud.offers = func(target any) bool {
		t, ok := target.(*provider.Maintainer)
		if ok {
			*t = c
		}
		return ok
	}
	return c
}

// TestUpkeep: a difference is fixed as soon as it is seen, and checked again later.
func TestUpkeep(t *testing.T) {
	g := joinedRig(t)
	c := g.maintained()
	expect := func(why string, calls int) {
		t.Helper()
		if g.pass(); c.calls != calls {
			t.Errorf("%s: maintained %d times, want %d", why, c.calls, calls)
		}
	}
	expect("it differs", 1)
	expect("nothing differs", 1)
	c.differs = true
	expect("too soon for another time", 1)
	g.clock.Step(lifecycle.UpkeepEvery)
	expect("in its time", 2)
	if got := g.told(); len(got) != 0 {
		t.Errorf("told %q", got)
	}
}

// TestUpkeepThatFails: people hear of it once, it is tried again, and the machine runs.
func TestUpkeepThatFails(t *testing.T) {
	g := joinedRig(t)
	c := g.maintained()
	c.err = errors.New("not authorized to create tags")
	g.pass()
	if got := g.told(); len(got) != 1 || !strings.HasPrefix(got[0], "Warning FailedUpdate not authorized to create tags") {
		t.Errorf("told %q", got)
	}
	g.clock.Step(lifecycle.UpkeepEvery / 10)
	g.pass()
	if c.calls != 2 || len(g.told()) != 0 {
		t.Errorf("maintained %d times", c.calls)
	}
	if m := g.read(); *m.Status.Phase != machinev1.PhaseRunning {
		t.Errorf("the machine is %s", *m.Status.Phase)
	}
	c.err = nil
	g.clock.Step(time.Minute)
	g.pass()
	if c.calls != 3 {
		t.Errorf("maintained %d times", c.calls)
	}
}

// TestNoUpkeepOnTheWayOut: an instance under removal is not repaired any more.
func TestNoUpkeepOnTheWayOut(t *testing.T) {
	g := joinedRig(t)
	c := g.maintained()
	g.delete()
	g.pass()
	if c.calls != 0 {
		t.Errorf("maintained %d times", c.calls)
	}
}
