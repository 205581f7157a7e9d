package vcenter

import (
	"sync"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// agenda has scheduled events, which happen when the time has come and a caller reads.
type agenda struct {
	clock *double.Clock

	doing sync.Mutex // held while it is worked on
	mu    sync.Mutex
	list  []due
}

type due struct {
	at time.Time
	do func()
}

// now is the simulator's time.
func (a *agenda) now() time.Time { return a.clock.Now() }

func (a *agenda) after(d time.Duration, do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, due{a.clock.Now().Add(d), do})
}

// settle does what is due.
func (a *agenda) settle() {
	a.doing.Lock()
	defer a.doing.Unlock()
	for do := a.next(); do != nil; do = a.next() {
		do()
	}
}

func (a *agenda) next() func() {
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
