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

// externalRemediationProfile says whether an external controller repairs unhealthy machines.
type externalRemediationProfile struct {
	// repaired: some checks request repairs from the external controller.
	repaired bool
}

// externalRemediationSource is the source of random numbers of this profile alone.
const externalRemediationSource = widerSource + 0x0515

func (o *externalRemediationProfile) draw(r *rand.Rand) { o.repaired = r.IntN(3) == 0 }

// repairsEvery is the shortest time between two restarts of a machine.
const repairsEvery = 10 * time.Minute

// setExternalRemediation gives a check the strategy of external remediation, or none.
func (w *World) setExternalRemediation(c *check) {
	if !w.profile.repaired {
		return
	}
	dialect.SetAnnotation(c, openshift.StrategyAnnotation, []string{"", openshift.StrategyMark}[w.roll(2)])
}

// machineToRepair names a machine that the external controller still has to restart, even if the machine has recovered;
// empty if there is no such machine.
func (w *World) machineToRepair() string {
	for _, m := range w.machines() {
		if _, asked := m.GetAnnotations()[openshift.ExternalRemediationAnnotation]; asked && w.profile.repaired && !w.hopeless(m) {
			return m.GetName()
		}
	}
	return cmp.Or(w.machineToRestart(), w.machineWithOpenRequest())
}

// repairActions are the external controller's possible actions: it restarts a machine's instance and removes the
// annotation. The restart helps unless the instance has failed permanently.
func (w *World) repairActions() (out []func()) {
	for _, m := range w.markedMachines() {
		if w.now.Before(w.repairDue(m)) {
			continue
		}
		out = append(out, func() {
			w.healthState.repaired[m.GetUID()] = w.now
			w.tracef("repairer", "restarts machine %s", m.GetName())
			for _, i := range w.cloud.Existing(string(m.GetUID())) {
				k := w.kubelet(i)
				k.failure, k.stalled = nodeFailure{}, time.Time{}
			}
			w.edit(m, "", func(o client.Object) { dialect.SetAnnotation(o, openshift.ExternalRemediationAnnotation, "") })
		})
	}
	return out
}

// markedMachines are the machines that a check has marked for repair.
func (w *World) markedMachines() []client.Object {
	if !w.profile.repaired {
		return nil
	}
	return slices.DeleteFunc(w.machines(), func(m client.Object) bool {
		_, asked := m.GetAnnotations()[openshift.ExternalRemediationAnnotation]
		return !asked
	})
}

// repairDue is the time at which m may be restarted; zero if m was never restarted.
func (w *World) repairDue(m client.Object) time.Time {
	last, before := w.healthState.repaired[m.GetUID()]
	if !before {
		return time.Time{}
	}
	return last.Add(repairsEvery)
}

// repairTimes are the times of the external controller's delayed repairs.
func (w *World) repairTimes() (out []time.Time) {
	for _, m := range w.markedMachines() {
		out = append(out, w.repairDue(m))
	}
	for _, k := range w.kubeletsToRestart() {
		out = append(out, w.repairDue(w.nodeOf(k)))
	}
	return out
}

// externalRemediationMutants remedy a machine that an external controller has to repair.
func externalRemediationMutants() []Mutation {
	return []Mutation{{
		Name: "a check deletes what others are to repair", Finds: []string{judge.OthersRepair},
		Setting: func(c *profile) {
			c.wider = wider{healthProfile: healthProfile{checks: true, frail: true}, externalRemediationProfile: externalRemediationProfile{repaired: true}, trouble: 20}
			c.deployments, c.sets, c.singles, c.apps = 0, 3, 0, 0
		},
		Checks: CheckDefects{OfCheck: func(_ *lenient.MachineHealthCheck, v *health.Check, _ int) { v.Remediation = health.Delete }},
	}}
}
