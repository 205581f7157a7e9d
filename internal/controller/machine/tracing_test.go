package machine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/provider"
)

// tracer notes its calls, a line for each pass that did something, and one for each other call.
type tracer struct {
	now   func() time.Time
	steps []string
	lines []string
}

func (r *tracer) Born(uid string, created time.Time, _ ...any) {
	r.steps = append(r.steps, fmt.Sprintf("%s born after %v", uid, r.now().Sub(created)))
}

func (r *tracer) Did(_, name string, from time.Time, err error, about ...any) {
	took := " " + r.now().Sub(from).String()
	if name == "Deletion" { // the fake API server goes by the wall clock
		took = ""
	}
	r.lines = append(r.lines, name+took+" "+identified(about))
	if err != nil {
		r.lines = append(r.lines, err.Error())
	}
}

func (r *tracer) Pass(ctx context.Context, _ string) (context.Context, func(...any)) {
	r.steps = nil
	return ctx, func(about ...any) {
		if len(r.steps) > 0 {
			r.lines = append(r.lines, fmt.Sprintf("pass %s: %s", identified(about), strings.Join(r.steps, ", ")))
		}
	}
}

func (r *tracer) Step(ctx context.Context, name string) (context.Context, func(bool, error, ...any)) {
	return ctx, func(did bool, err error, about ...any) {
		if err != nil {
			name += " fails"
		}
		if did || err != nil {
			r.steps = append(r.steps, fmt.Sprint(name, " (", about[1], ")"))
		}
	}
}

// identified are the values of the keys by which a machine is known.
func identified(about []any) string {
	var out []string
	for i := 0; i < len(about); i += 2 {
		if about[i] != "api" {
			out = append(out, fmt.Sprint(about[i+1]))
		}
	}
	return strings.Join(out, " ")
}

// TestTraced: a life as tracers hear of it. Passes that only wait are not among it, and so are not those that wait for a pod.
func TestTraced(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { traced(openshiftRig(t), "") })
	t.Run("gardener", func(t *testing.T) { traced(gardenerRig(t), " node-1") }) // its node's name is recorded before the node is there
}

func traced[M client.Object](g *rig[M], foretold string) {
	told := &tracer{now: g.clock.Now}
	g.r.Tracer = told
	g.cloud.createErr = provider.Errorf(provider.Throttled, "slow down")
	g.clock.Step(time.Second)
	g.pass()
	g.cloud.createErr = nil
	g.clock.Step(time.Minute)
	g.settle()
	g.pass()
	g.pod("db-0", true)
	g.clock.Step(time.Hour)
	g.delete()
	for range 4 {
		g.pass()
		g.clock.Step(10 * time.Second)
	}
	g.ends("db-0")
	for range 3 {
		if !g.gone() {
			g.pass()
		}
	}
	if !g.gone() {
		g.Fatal("the machine is still there")
	}
	want := []string{
		"pass machines/m-1: AddFinalizer (New), uid-1 born after 1s, Create fails (InstanceNotCreated)",
		"Until the instance runs 1m1s machines/m-1 memory:///i-1" + foretold,
		"pass machines/m-1 memory:///i-1" + foretold + ": Create (InstanceNotCreated)",
		"Until running 1m1s machines/m-1 memory:///i-1 node-1",
		"pass machines/m-1 memory:///i-1 node-1: SyncNode (NodeMetadataDiffers)",
		"pass machines/m-1 memory:///i-1 node-1: Drain (Deleting)",
		"Drain in all 40s machines/m-1 memory:///i-1 node-1",
		"Deletion machines/m-1 memory:///i-1 node-1",
		"Life 1h1m41s machines/m-1 memory:///i-1 node-1",
		"pass machines/m-1 memory:///i-1 node-1: Drain (Deleting), Terminate (Deleting), DeleteNode (InstanceGone), RemoveFinalizer (NothingLeft)",
	}
	if got := strings.Join(told.lines, "\n"); got != strings.Join(want, "\n") {
		g.Errorf("told\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
