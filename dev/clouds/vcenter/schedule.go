package vcenter

import (
	"sync"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// schedule has scheduled events. An event happens at the first read after its time has come.
type schedule struct {
	clock *double.Clock

	doing sync.Mutex // held while events happen
	mu    sync.Mutex
	list  []due
}

type due struct {
	at time.Time
	do func()
}

// now is the simulator's time.
func (a *schedule) now() time.Time { return a.clock.Now() }

func (a *schedule) after(d time.Duration, do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, due{a.clock.Now().Add(d), do})
}

// settle runs the events that are due.
func (a *schedule) settle() {
	a.doing.Lock()
	defer a.doing.Unlock()
	for do := a.next(); do != nil; do = a.next() {
		do()
	}
}

func (a *schedule) next() func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, first := a.clock.Now(), -1
	for i, d := range a.list {
		if !d.at.After(now) && (first < 0 || d.at.Before(a.list[first].at)) {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	do := a.list[first].do
	a.list = append(a.list[:first], a.list[first+1:]...)
	return do
}
