package program

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/internal/controller/machineset"
)

// safety are the flags of the freeze of sets that have far too many machines.
type safety struct {
	margins struct{ up, down int }
	period  time.Duration
}

func (s *safety) addFlags(fs *pflag.FlagSet) {
	d := machineset.Options{}.FreezeMargins()
	fs.IntVar(&s.margins.up, "safety-up", d.Up,
		"number of machines above twice a set's replicas, or above the replicas and surge of its deployment, at which the set stops creating machines (machine.sapcloud.io)")
	fs.IntVar(&s.margins.down, "safety-down", d.Down,
		"number of machines below that limit at which the set creates machines again (machine.sapcloud.io)")
	fs.DurationVar(&s.period, "machine-safety-overshooting-period", time.Minute,
		"interval at which a frozen set is checked without a change, 0 for never (machine.sapcloud.io)")
}

func (s *safety) check() error {
	switch {
	case s.margins.up < 0:
		return fmt.Errorf("--safety-up: must not be negative, is %d", s.margins.up)
	case s.margins.down < 0:
		return fmt.Errorf("--safety-down: must not be negative, is %d", s.margins.down)
	case s.period < 0:
		return fmt.Errorf("--machine-safety-overshooting-period: must not be negative, is %s", s.period)
	}
	return nil
}

func (s *safety) apply(o *machineset.Options) {
	m := o.FreezeMargins()
	m.Up, m.Down = s.margins.up, s.margins.down
	o.Margins, o.FreezePeriod = &m, s.period
}
