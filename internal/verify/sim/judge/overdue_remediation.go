package judge

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// overdue is how much longer than its timeouts a check may take without faults: caches may lag, and a probe may be
	// delayed.
	overdue = 3 * time.Minute
	// beats is the time between two heartbeats of an idle kubelet.
	beats = 5 * time.Minute
	// stormMin is the smallest storm.
	stormMin = 3
)

// FaultsStopped says that the faults stop now.
func (j *Judge) FaultsStopped() { j.calm = j.Now() }

// Overdue looks for machines that a check should already have replaced.
func (j *Judge) Overdue() {
	if j.calm.IsZero() {
		return
	}
	j.judgeCauses()
	j.judgeWaits()
	gracePeriods{j}.judge()
	was := j.overdue
	j.overdue = map[[2]types.UID]time.Time{}
	for _, c := range j.checks() {
		under := j.truly(c)
		allowed := j.mayAct(c, under)
		for uid, t := range under {
			if !allowed || !j.mustGo(c, t) {
				continue
			}
			key := [2]types.UID{c.UID, uid}
			if j.overdue[key] = was[key]; was[key].IsZero() {
				j.overdue[key] = j.Now()
			}
			if d := j.Now().Sub(j.overdue[key]); d > overdue {
				j.Broken(SickGo, "machine %s still exists %v after check %s had to replace it: %+v", t.GetName(), d, c.Name, symptoms(c, t))
			}
		}
	}
}

func (j *Judge) checks() (out []*check) {
	for _, kind := range j.Checks {
		out = append(out, each(j.All(kind), j.asCheck)...)
	}
	return out
}

// mayAct reports whether the check must act now. Machines that were created and deleted before any process saw them count
// for an hour. Another function judges enforcing breakers.
func (j *Judge) mayAct(c *check, under map[types.UID]target) bool {
	if paused(c) || enforces(c) || j.noNodeReports() {
		return false
	}
	there := func(uid types.UID) bool {
		_, is := find(j.machines(), uid)
		return is
	}
	sick := len(j.unreplaced(j.begunRemedies(c), there))
	for _, t := range under {
		if ill(c, t) {
			sick++
		}
	}
	return sick <= budget(c, len(under))
}

// noNodeReports reports whether node conditions are unreliable: no node exists, or three or more nodes exist and none has
// reported for long.
func (j *Judge) noNodeReports() bool {
	nodes, heard := j.All(&corev1.Node{}), false
	for _, o := range nodes {
		heard = heard || slices.ContainsFunc(o.(*corev1.Node).Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.LastHeartbeatTime.Add(2 * beats).After(j.Now())
		})
	}
	return len(nodes) == 0 || len(nodes) >= 3 && !heard
}

// begunRemedies are the machines that c remedied, and the machines whose remedy c recorded as begun. The latter count even if
// c never sent the request and the machines were deleted for other reasons.
func (j *Judge) begunRemedies(c *check) []remedy {
	out := slices.Clone(j.remedies[c.UID])
	for _, b := range remembered(c).Begun {
		if !j.asked(c, b.Machine) {
			out = append(out, remedy{machine: b.Machine, owner: b.Owner, at: b.At})
		}
	}
	return out
}

// overlooked says that a check still has to act; empty if no check has to.
func (j *Judge) overlooked() string {
	if len(j.overdue) > 0 {
		return fmt.Sprintf("%d machines still have to be remedied", len(j.overdue))
	}
	return ""
}

// mustGo reports whether the machine must be replaced. Time before the faults stopped does not count.
func (j *Judge) mustGo(c *check, t target) bool {
	if t.GetDeletionTimestamp() != nil || t.spared || t.owner == "" && !requests(c) || t.hasRequest || j.recovers(c, t) || t.treated && external(c) || t.restarting && c.reboots {
		return false
	}
	return slices.ContainsFunc(symptoms(c, t), func(s symptom) bool {
		from := s.from
		if j.calm.After(from) {
			from = j.calm
		}
		return j.Now().Sub(from) > s.timeout+settle+j.Skew
	})
}

// miscounted names a check whose status is wrong, or that has not yet recorded the end of a storm; empty if there is no
// such check.
func (j *Judge) miscounted() string {
	for _, c := range j.checks() {
		under, healthy := j.truly(c), int64(0)
		for _, t := range under {
			if !ill(c, t) {
				healthy++
			}
		}
		for _, s := range remembered(c).Storms {
			if s.Over != nil || len(under)-int(healthy) < stormMin {
				return fmt.Sprintf("check %s remembers a storm of a %s", c.Name, s.Kind)
			}
		}
		expected, current := int64(-1), int64(-1)
		if c.Status.ExpectedMachines != nil {
			expected = *c.Status.ExpectedMachines
		}
		if c.Status.CurrentHealthy != nil {
			current = *c.Status.CurrentHealthy
		}
		if expected != int64(len(under)) || current != healthy {
			return fmt.Sprintf("check %s of %d machines, of which %d are healthy, says %d and %d", c.Name, len(under), healthy, expected, current)
		}
	}
	return ""
}
