package judge

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stamped is when somebody wrote down the time that the machine says it was updated
// at: by whatever clock that was.
func (j *Judge) stamped(m machine) time.Time {
	if j.Stepped == 0 || m.updated.IsZero() {
		return m.updated
	}
	for _, c := range j.log[m.GetUID()] {
		if c.now != nil && readMachine(c.now).updated.Equal(m.updated) {
			return c.at
		}
	}
	return m.updated
}

// lostFor is since when the machine has been lost, up to its being given up for that.
func (j *Judge) lostFor(m machine) time.Time {
	return j.first(m.GetUID(), func(o client.Object) bool {
		now := readMachine(o)
		return now.lost || now.failed
	})
}

// made is when the object with the UID was.
func (j *Judge) made(uid types.UID) time.Time {
	if log := j.log[uid]; len(log) > 0 {
		return log[0].at
	}
	return time.Time{}
}
