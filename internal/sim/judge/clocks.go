package judge

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
