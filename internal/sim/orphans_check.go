package sim

import (
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/lifecycle"
	"github.com/millwright-dev/millwright/internal/sim/cloud"
)

// judgeRemoval judges what the collector asks for, whatever becomes of the
// call: how much it asks for, and how soon again.
func (p *process) judgeRemoval(c cloud.Call) {
	w, t := p.w, p.running
	if w.blind(false) {
		w.broken(StillWhenBlind, "%s asks for the removal of %v%s", p.name(), c.Given, c.Ref.UID)
	}
	keys := c.Given
	if len(keys) == 0 {
		keys = []string{"what is left of " + c.Ref.UID}
	}
	for _, key := range keys {
		if _, again := p.asked[key]; again {
			continue
		}
		p.asked[key] = w.now
		if len(c.Given) > 0 {
			t.removals++
		}
	}
	// A pass counts its removals from its beginning, and a slow cloud lets the
	// last of them begin a little later.
	recent := 0
	for _, at := range p.asked {
		if w.now.Sub(at) < time.Hour-time.Minute {
			recent++
		}
	}
	if most := w.is.orphans.PerHour; recent > most {
		w.broken(OrphansCapped, "%s asks for the removal of %d within an hour, and may of %d", p.name(), recent, most)
	}
	// A listing shows no more than what has existed since the pass began.
	all := 0
	for _, i := range w.cloud.Machines() {
		if i.Cluster == clusterName && i.Exists(t.started.Add(-1)) { // or went in that very moment
			all++
		}
	}
	if most := w.is.orphans.Limit.Of(all); t.removals > most && !w.losses.approved {
		w.broken(OrphansFew, "%s asks for the removal of %d of %d at once, and may of %d", p.name(), t.removals, all, most)
	}
}

// checkCollected judges an instance that the collector sent away; m is the
// machine that it was made for, nil when that is gone.
func (w *World) checkCollected(i *cloud.Machine, m client.Object) {
	if i.Cluster != clusterName || i.UID == "" && !w.tells.strangers {
		w.broken(OthersKept, "instance %s (%s) was collected", i.ID, i.Name)
	}
	for _, o := range w.store.All(w.tells.machine) {
		if w.tells.view(o).ProviderID == i.ProviderID() {
			w.broken(WantedKept, "instance %s was collected, which machine %s has recorded", i.ID, o.GetName())
		}
	}
	if m != nil && !w.spare(i, m) {
		w.broken(WantedKept, "instance %s of machine %s was collected, which has no other", i.ID, m.GetName())
	}
	from := i.Created
	if lost := w.losses.since[i.UID]; lost.After(from) && !w.losses.doubles[i.ID] {
		from = lost
	}
	if age := w.now.Sub(from); age < w.is.orphans.Grace {
		w.broken(OrphansWait, "instance %s of %s was collected %v after it had become one without a machine", i.ID, i.Name, age)
	}
}

// doubtful reports whether most instances that machines have recorded do not
// exist. A listing that shows so few is not believed, and nobody can know that it
// is right: the machines failed, and wait for people.
func (w *World) doubtful() bool {
	recorded, there := 0, 0
	for _, m := range w.store.All(w.tells.machine) {
		v := w.tells.view(m)
		if v.ProviderID == "" {
			continue
		}
		recorded++
		if slices.ContainsFunc(w.cloud.Existing(""), func(i *cloud.Machine) bool { return i.ProviderID() == v.ProviderID }) {
			there++
		}
	}
	return 2*there < recorded
}

// doubled reports whether there are instances of the machine besides the one
// that it has recorded.
func (w *World) doubled(v lifecycle.Machine) bool {
	return slices.ContainsFunc(w.cloud.Existing(v.UID), func(i *cloud.Machine) bool { return i.ProviderID() != v.ProviderID })
}

// spare reports whether the machine has recorded another instance than i, which
// exists. That one may have died since the collector found it a moment ago.
func (w *World) spare(i *cloud.Machine, m client.Object) bool {
	for _, other := range w.cloud.Machines() {
		exists := other.Exists(w.now) || other.Died && other.Exists(w.now.Add(-longestPause-w.is.cloud.Lag))
		if other.ID != i.ID && other.UID == i.UID && exists && w.tells.view(m).ProviderID == other.ProviderID() {
			return true
		}
	}
	return false
}
