package openshift

import (
	machinev1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// patience sets how a machine's node is drained: like kubectl, all pods at once, without regard to volumes
// and without a timeout. Millwright's annotations can change that.
func patience(p *lifecycle.Policy, m *machinev1.Machine) {
	wish := dialect.DrainWishOf(m)
	p.Drain.Timeout = wish.Timeout
	p.Drain.Policy = drain.Policy{CordonLead: wish.CordonLead, Remark: wish.Remark}
}
