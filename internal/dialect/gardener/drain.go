package gardener

import (
	"cmp"
	"time"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// drainConditions are node conditions that force the drain after a while.
var drainConditions = []string{"ReadonlyFilesystem"}

// patience sets how a machine's node is drained: pods with volumes one after another, and with a timeout. The
// API has a field for the timeout, so our annotation can only remove it.
func (d Machines) patience(p *lifecycle.Policy, m *v1alpha1.Machine) {
	retries := d.Defaults.MaxEvictRetries
	if c := m.Spec.MachineConfiguration; c != nil && c.MaxEvictRetries != nil {
		retries = *c.MaxEvictRetries
	}
	wish := dialect.DrainWishOf(m)
	p.Drain.UnreachableAfter, p.Drain.DefectConditions = 5*time.Minute, drainConditions
	p.Drain.Policy = drain.Policy{
		RetryEvery: evictEvery, MaxEvictAttempts: evictAttempts(retries, p.Drain.Timeout),
		VolumesOneByOne: true, DetachTimeout: d.Defaults.DetachTimeout, ReattachTimeout: d.Defaults.ReattachTimeout,
		RemoveAttachments: true,
		CordonLead:        wish.CordonLead, Remark: wish.Remark,
	}
	if wish.Timeout != 0 {
		p.Drain.Policy.Remark = cmp.Or(wish.Remark, "annotation "+dialect.DrainTimeoutAnnotation+" is ignored: use the field spec.drainTimeout")
	}
	if wish.NeverForce {
		p.Drain.Timeout, p.Drain.UnreachableAfter, p.Drain.Policy.MaxEvictAttempts = 0, 0, 0
	}
}

// evictEvery is the pause between evictions of one pod on which this API's maxEvictRetries is based.
const evictEvery = 20 * time.Second

// evictAttempts limits the retries to those that fit into the drain timeout: 360 for 2 h and a pause of 20 s.
func evictAttempts(retries int32, timeout time.Duration) int {
	return max(min(int(retries), int(timeout/evictEvery)), 1)
}
