package machine

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Budgets are the disruption budgets of the control cluster.
type Budgets interface {
	// Ask asks the budgets that select the machine for a permit. It returns Permitted and a message if it could not record a
	// disruption that has begun.
	Ask(ctx context.Context, machine client.Object, r lifecycle.PermitRequest) lifecycle.Disruption
	// Over removes the permits of a machine whose disruption is over.
	Over(ctx context.Context, machine types.UID) error
	// Holds reports whether the machine has a permit, as far as this process knows.
	Holds(machine types.UID) bool
	// Due returns the machines whose turn has come, and those whose disruption may be over.
	Due(ctx context.Context) []reconcile.Request
}

// permitAsker asks the disruption budgets for a pass.
type permitAsker[M client.Object] struct{ *pass[M] }

// permit asks for the permit of a disruption that the pass is about to begin, or of the given kind, which has begun.
func (p permitAsker[M]) permit(ctx context.Context, begun lifecycle.Disrupting) lifecycle.Disruption {
	d := p.Budgets.Ask(ctx, p.m, lifecycle.RequestPermit(begun, p.view, p.world, p.policy))
	d.Governed, d.Asked = true, true
	switch {
	case d.Permitted && d.Message == "":
		p.mem.permitted = p.Clock.Now()
	case d.Permitted:
		p.log.Info("cannot record a disruption in its budget", "why", d.Message)
	}
	return d
}

// permitAge is how long a disruption in progress relies on its last answer: a budget that was created since does not know of it.
const permitAge = time.Minute

// settle records a disruption that began without a permit, because it was forced or no budget existed then, and releases the
// permit of a disruption that is over. A failure is repaired later: the machine asks again, or the budgets find out that the
// machine does not exist.
func (p permitAsker[M]) settle(ctx context.Context, out lifecycle.Outcome) {
	if p.Budgets == nil {
		return
	}
	kind, known := lifecycle.Disrupted(p.Clock.Now(), p.view, p.world, p.policy)
	over := out.Did(lifecycle.RemoveFinalizer) || known && kind == lifecycle.DisruptingNothing
	switch {
	case over:
		p.mem.permitted = time.Time{}
		if !p.Budgets.Holds(p.m.GetUID()) {
			return
		}
		if err := p.Budgets.Over(ctx, p.m.GetUID()); err != nil {
			p.log.Error(err, "cannot release the permit of a disruption that is over")
		}
	case kind == lifecycle.DisruptingDeletion || kind == lifecycle.DisruptingUpdate:
		if p.Clock.Since(p.mem.permitted) >= permitAge {
			p.permit(ctx, kind)
		}
	}
}

// budgetEvents reports once that the machine waits for a disruption budget.
func (t eventReporter[M]) budgetEvents(out lifecycle.Outcome) {
	d := out.World.Disruption
	switch {
	case d.Permitted:
		t.mem.reported.budget = ""
	case d.Asked && d.Message != t.mem.reported.budget:
		t.mem.reported.budget = d.Message
		t.event(corev1.EventTypeNormal, "DisruptionDelayed", "Wait", "Waits for "+d.Message)
	}
}
