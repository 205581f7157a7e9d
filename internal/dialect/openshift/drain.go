package openshift

import (
	machinev1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// patience is how a machine's node is drained: as kubectl does, all pods at once,
// with no look at volumes and for as long as budgets ask for. Annotations of ours
// say otherwise.
func patience(p *lifecycle.Policy, m *machinev1.Machine) {
	wish := dialect.DrainWishOf(m)
	p.Drain.Timeout = wish.Timeout
	p.Drain.Policy = drain.Policy{CordonLead: wish.CordonLead, Remark: wish.Remark}
}
