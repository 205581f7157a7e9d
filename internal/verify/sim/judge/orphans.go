package judge

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Removes judges the collector's removal requests, whatever their outcome: their number, and the time between them. given
// are the IDs of instances, or empty if the request is for the leftovers of the machine with the UID. removals are the
// first requests of this pass so far, by place.
func (j *Judge) Removes(p *Pass, given []string, uid string, removals map[string]int) {
	if j.blind() {
		j.Broken(StillWhenBlind, "%s-%d requests the removal of %v%s", p.By.Role, p.By.Process, given, uid)
	}
	place := j.placeOf(given, uid)
	asked := j.begunBy(p.By.Process)
	keys := given
	if len(keys) == 0 {
		keys = []string{"what is left of " + uid}
	}
	for _, key := range keys {
		if _, again := asked[key]; again {
			continue
		}
		asked[key] = removal{j.Now(), place}
		if len(given) > 0 {
			removals[place]++
		}
	}
	// A pass counts its removals from its beginning. With a slow cloud its
	// last removal begins a little later.
	recent := 0
	for _, b := range asked {
		if b.place == place && j.Now().Sub(b.at) < time.Hour-time.Minute {
			recent++
		}
	}
	if recent > j.PerHour {
		j.Broken(OrphansCapped, "%s-%d requests the removal of %d within an hour, but only %d are allowed", p.By.Role, p.By.Process, recent, j.PerHour)
	}
	// A listing shows only instances that have existed since the pass began.
	all := 0
	for _, i := range j.Instances() {
		if i.Place == place && i.Exists(p.At.Add(-1)) { // or it ended at that moment
			all++
		}
	}
	if most := max(1, all*j.Percent/100); removals[place] > most && !j.approved() {
		j.Broken(OrphansFew, "%s-%d requests the removal of %d of %d at once, but only %d are allowed", p.By.Role, p.By.Process, removals[place], all, most)
	}
}

// removal is the time and the place of a removal request.
type removal struct {
	at    time.Time
	place string
}

// placeOf is the place of the instances, or of the leftovers of the machine.
func (j *Judge) placeOf(given []string, uid string) string {
	for _, i := range j.Instances() {
		if slices.Contains(given, i.ID) {
			return i.Place
		}
	}
	for _, p := range j.Parts() {
		if len(given) == 0 && p.UID == uid {
			return p.Place
		}
	}
	return ""
}

func (j *Judge) begunBy(process int) map[string]removal {
	if j.begun[process] == nil {
		j.begun[process] = map[string]removal{}
	}
	return j.begun[process]
}

// approved reports whether users approved the removal of many orphans at once.
func (j *Judge) approved() bool {
	return slices.ContainsFunc(j.Anchors(), func(o client.Object) bool { return o.GetAnnotations()[approveOrphans] != "" })
}

// collected judges that the collector terminated an instance. m is the machine for which the instance was created, if it
// exists.
func (j *Judge) collected(i Instance, m machine, there bool) {
	if i.Owner != j.Owner || i.Namespace != j.Namespace {
		j.Broken(OthersKept, "instance %s (%s) was collected", i.ID, i.Name)
	}
	for _, o := range j.machines() {
		if o.provider == i.ProviderID {
			j.Broken(WantedKept, "instance %s was collected, which machine %s has recorded", i.ID, o.GetName())
		}
	}
	if there && !j.hasOtherInstance(i, m) {
		j.Broken(WantedKept, "instance %s of machine %s was collected, which has no other", i.ID, m.GetName())
	}
	if age := j.Now().Sub(j.alone(i)); age < j.Grace {
		j.Broken(OrphansWait, "instance %s of %s was collected %v after it had lost its machine", i.ID, i.Name, age)
	}
}

// alone is the time since which the instance has had no machine, as far as the collector can know: the collector lists
// machines every Period, and one list may fail. A machine that a backup recreates and that is deleted again between two
// lists does not count. Several changes may have the same time, so the numbers of changes decide which came first.
func (j *Judge) alone(i Instance) time.Time {
	if j.lost(i.UID).IsZero() || i.ByHand {
		return i.Created
	}
	var lost, back time.Time
	for _, c := range j.log[types.UID(i.UID)] {
		switch {
		case c.was == nil:
			back = c.at
		case c.now == nil && c.n > j.changesBefore[i.ID] && (lost.IsZero() || c.at.Sub(back) > 2*j.Period+j.Pause):
			lost = c.at
		}
	}
	if lost.IsZero() {
		return i.Created
	}
	return lost
}

// hasOtherInstance reports whether the machine has recorded an existing instance other than i. The recorded instance may
// have died since the collector saw it a moment ago.
func (j *Judge) hasOtherInstance(i Instance, m machine) bool {
	return slices.ContainsFunc(j.Instances(), func(other Instance) bool {
		exists := other.Exists(j.Now()) || other.Died && other.Exists(j.Now().Add(-j.Pause-j.CloudLag))
		return other.ID != i.ID && other.UID == i.UID && exists && m.provider == other.ProviderID
	})
}

// mostInstancesMissing reports whether most recorded instances of machines that stay do not exist. The collector does not
// trust such a listing and cannot know that it is right: the machines failed, and wait for users.
func (j *Judge) mostInstancesMissing() bool {
	recorded, there := 0, 0
	for _, m := range j.machines() {
		if m.provider == "" || m.GetDeletionTimestamp() != nil {
			continue
		}
		recorded++
		if slices.ContainsFunc(j.existing(""), func(i Instance) bool { return i.ProviderID == m.provider }) {
			there++
		}
	}
	return 2*there < recorded
}
