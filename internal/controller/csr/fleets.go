package csr

import (
	"context"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/engine/approval"
)

// Fleet shows the machines of one API to the approver.
type Fleet interface {
	Approvals(ctx context.Context, s approval.Subject) ([]approval.Machine, error)
	Fleet(ctx context.Context) (int, error)
	Latest(ctx context.Context, shown approval.Machine) (approval.Machine, bool, error)
}

// Fleets are the fleets of all APIs.
type Fleets []Fleet

// New returns an approver for the machines of fleets, with the default policy. The caller sets its clients
// and recorders.
func New(fleets Fleets, clk clock.PassiveClock) *Approver {
	return &Approver{Clock: clk, Policy: approval.DefaultPolicy(), Machines: fleets.machines, Fleet: fleets.count, Latest: fleets.latest}
}

func (f Fleets) machines(ctx context.Context, s approval.Subject) (out []approval.Machine, err error) {
	for _, api := range f {
		some, err := api.Approvals(ctx, s)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

func (f Fleets) count(ctx context.Context) (sum int, err error) {
	for _, api := range f {
		n, err := api.Fleet(ctx)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func (f Fleets) latest(ctx context.Context, shown approval.Machine) (m approval.Machine, there bool, err error) {
	for _, api := range f {
		if m, there, err = api.Latest(ctx, shown); there || err != nil {
			return m, there, err
		}
	}
	return m, false, nil
}
