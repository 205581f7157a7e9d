package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
)

// outsiders are others than health checks who repair what is unhealthy.
type outsiders struct {
	// repaired: some checks ask them to.
	repaired bool
}

// outsidersSource is a stream of random numbers that nothing else has.
const outsidersSource = widerSource + 0x0515

func (o *outsiders) draw(r *rand.Rand) { o.repaired = r.IntN(3) == 0 }

// repairsEvery is how often a machine is restarted at most.
const repairsEvery = 10 * time.Minute

// handOver leaves what a check finds to others, or does not.
func (w *World) handOver(c *check) {
	if !w.profile.repaired {
		return
	}
	dialect.SetAnnotation(c, openshift.StrategyAnnotation, []string{"", openshift.StrategyMark}[w.roll(2)])
}

// unrepaired names a machine that others have yet to restart, though it may have got well
// by itself; empty when there is none.
func (w *World) unrepaired() string {
	for _, m := range w.machines() {
		if _, asked := m.GetAnnotations()[openshift.ExternalRemediationAnnotation]; asked && w.profile.repaired && !w.hopeless(m) {
			return m.GetName()
		}
	}
	return cmp.Or(w.unrestarted(), w.unheard())
}

// repairs are what those who repair could do now: they restart what a machine runs on,
// which helps where anything does, and take the mark off it.
func (w *World) repairs() (out []func()) {
	for _, m := range w.marked() {
		if w.now.Before(w.repairDue(m)) {
			continue
		}
		out = append(out, func() {
			w.ward.repaired[m.GetUID()] = w.now
			w.tracef("repairer", "restarts machine %s", m.GetName())
			for _, i := range w.cloud.Existing(string(m.GetUID())) {
				k := w.kubelet(i)
				k.ails, k.stalled = ail{}, time.Time{}
			}
			w.edit(m, "", func(o client.Object) { dialect.SetAnnotation(o, openshift.ExternalRemediationAnnotation, "") })
		})
	}
	return out
}

// marked are the machines that somebody is asked to repair.
func (w *World) marked() []client.Object {
	if !w.profile.repaired {
		return nil
	}
	return slices.DeleteFunc(w.machines(), func(m client.Object) bool {
		_, asked := m.GetAnnotations()[openshift.ExternalRemediationAnnotation]
		return !asked
	})
}

// repairDue is when m may be restarted: zero where it never was.
func (w *World) repairDue(m client.Object) time.Time {
	last, before := w.ward.repaired[m.GetUID()]
	if !before {
		return time.Time{}
	}
	return last.Add(repairsEvery)
}

// repairTimes are when those who put a repair off come back to it.
func (w *World) repairTimes() (out []time.Time) {
	for _, m := range w.marked() {
		out = append(out, w.repairDue(m))
	}
	for _, k := range w.restarted() {
		out = append(out, w.repairDue(w.nodeOf(k)))
	}
	return out
}

// outsiderMutants do themselves what is left to others.
func outsiderMutants() []Mutation {
	return []Mutation{{
		Name: "a check deletes what others are to repair", Finds: []string{judge.OthersRepair},
		Setting: func(c *profile) {
			c.wider = wider{frailty: frailty{checks: true, frail: true}, outsiders: outsiders{repaired: true}, trouble: 20}
			c.deployments, c.sets, c.singles, c.apps = 0, 3, 0, 0
		},
		Checks: CheckDefects{OfCheck: func(_ *lenient.MachineHealthCheck, v *health.Check, _ int) { v.Remediation = health.Delete }},
	}}
}
