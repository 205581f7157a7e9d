package lifecycle

import (
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// after is how long to wait once err has happened so many times in a row. What
// the infrastructure asks for comes first; then the reaction that the kind of
// error calls for. With Transient at 5 s: 0.5, 1, 2, 4, 5, 5 … seconds. It is
// never less than [FirstDelay]: a pass that needs no pause does not end.
func (d Delays) after(err error, failures int) time.Duration {
	return max(d.wanted(err, failures), FirstDelay)
}

func (d Delays) wanted(err error, failures int) time.Duration {
	if a := provider.AfterOf(err); a > 0 {
		return a
	}
	switch provider.KindOf(err) {
	case provider.Exhausted:
		return d.Exhausted
	case provider.Invalid, provider.Denied:
		return d.Other
	}
	wait := FirstDelay
	for range min(max(failures-1, 0), 16) {
		wait *= 2
	}
	return min(wait, d.Transient)
}
