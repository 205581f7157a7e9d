package double

import (
	"sync/atomic"
	"time"
)

// Lagging is the lag of a cloud's reads. A cloud embeds it. It is safe for concurrent use.
type Lagging struct{ lag atomic.Int64 }

// Lag is the lag of reads, for [Table.AllBehind] and [Table.GetBehind].
func (l *Lagging) Lag() time.Duration { return time.Duration(l.lag.Load()) }

// SetLag sets the lag of reads.
func (l *Lagging) SetLag(lag time.Duration) { l.lag.Store(int64(lag)) }

// LagVerb is the verb "lag".
func (l *Lagging) LagVerb() Verb {
	return Verb{Name: "lag", On: "a duration: reads of instances lag by it", Do: func(on string) error {
		lag, err := time.ParseDuration(on)
		if err == nil {
			l.SetLag(lag)
		}
		return err
	}}
}
