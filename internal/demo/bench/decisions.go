package bench

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

const (
	// crowd is the number of machines of each decision.
	crowd = 5000
	// repetitions is how often each decision is repeated.
	repetitions = 100
)

// Decision is how long a decision takes in this process, without the reads and writes
// around it.
type Decision struct {
	Question string `json:"question"`
	Machines int    `json:"machines"`
	// Seconds are the seconds of one decision.
	Seconds *Latency `json:"seconds"`
}

// decisions measures decisions about many machines.
func decisions() []Decision {
	now := time.Now()
	d, p := deployment()
	first, half := setsOf(now, 0), setsOf(now, crowd/2)
	set, members := setOf(now)
	return []Decision{
		timed("rollout at its beginning", func() { rollout.Decide(now, d, first, p) }),
		timed("rollout half way", func() { rollout.Decide(now, d, half, p) }),
		timed("set that deletes a tenth", func() {
			replicas.Decide(now, set, members, replicas.Policy{Burst: crowd, StatusCountsLeaving: true})
		}),
	}
}

func timed(question string, decide func()) Decision {
	took := make([]float64, repetitions)
	for i := range took {
		begin := time.Now()
		decide()
		took[i] = time.Since(begin).Seconds()
	}
	l := quantiles(took)
	return Decision{Question: question, Machines: crowd, Seconds: &Latency{P50: micro(l.P50), P99: micro(l.P99)}}
}

// deployment is a deployment of a crowd with the bounds of the shapes.
func deployment() (rollout.Deployment, rollout.Policy) {
	surge := intstr.FromString("10%")
	d := rollout.Deployment{
		UID: "fleet", Name: "fleet", Replicas: crowd, Strategy: rollout.Rolling, Surge: &surge, Deadline: time.Hour, Revision: 2,
	}
	return d, rollout.Policy{LeavingTakesRoom: true, StatusCountsLeaving: true, Cascade: true, AvoidOld: true, StayDuringRollout: true}
}

// setsOf are the sets of a rollout that has replaced a number of machines. One in
// twenty machines is being created or deleted.
func setsOf(now time.Time, replaced int) []rollout.Set {
	desired, most := crowd, crowd+surgeOf(crowd)
	out := []rollout.Set{
		{UID: "old", Name: "old", Created: now.Add(-24 * time.Hour), Replicas: crowd - replaced, Revision: 1},
		{UID: "new", Name: "new", Created: now.Add(-time.Hour), Replicas: replaced, Revision: 2, Current: true},
	}
	for i := range out {
		s := &out[i]
		s.Observed, s.Desired, s.Max = true, &desired, &most
		for n := range s.Replicas {
			name := fmt.Sprintf("%s-%05d", s.Name, n)
			settled := replaced == 0 || n%20 != 0
			s.Machines = append(s.Machines, rollout.Machine{
				Member: replicas.Member{
					UID: types.UID(name), Name: name, Created: s.Created.Add(time.Duration(n) * time.Millisecond),
					Ready: settled, Usable: settled, ReadySince: s.Created.Add(time.Minute), Leaving: !settled && !s.Current,
				},
				Node: name, Seen: true, Joined: true,
				Marks: rollout.Marks{Avoid: !s.Current && replaced > 0, Stay: replaced > 0},
			})
		}
	}
	return out
}

// setOf is a set with ten percent too many machines.
func setOf(now time.Time) (replicas.Set, []replicas.Member) {
	members := make([]replicas.Member, crowd)
	for i := range members {
		name := fmt.Sprintf("old-%05d", i)
		members[i] = replicas.Member{
			UID: types.UID(name), Name: name, Created: now.Add(-time.Duration(i*7919%crowd) * time.Second),
			Phase: replicas.PhaseRunning, Linked: true, Priority: 3, FullyLabeled: true, Ready: true, Usable: true, ReadySince: now.Add(-time.Hour),
		}
	}
	return replicas.Set{UID: "old", Name: "old", Replicas: crowd - crowd/10}, members
}
