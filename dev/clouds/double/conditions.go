package double

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Conditions are the conditions of a cloud that every simulator has: places without capacity, and reads that lag. A cloud
// embeds them, and so implements [Exhaustible]. They are safe for concurrent use.
type Conditions struct {
	mu        sync.Mutex
	capacity  map[string]int
	exhausted []string
	lag       time.Duration
}

// SetCapacity sets the number of instances by place, such as "zone" or "zone/type". Without an entry, it is unlimited.
func (c *Conditions) SetCapacity(capacity map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.capacity = maps.Clone(capacity)
}

// Full reports whether one of the places has no capacity for another instance. counts are the present instances by place.
func (c *Conditions) Full(counts map[string]int, places ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(places, func(place string) bool {
		most, limited := c.capacity[place]
		return limited && counts[place] >= most || c.index(place) >= 0
	})
}

// Lacks reports whether one of the places was exhausted by a verb. Case does not matter.
func (c *Conditions) Lacks(places ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(places, func(place string) bool { return c.index(place) >= 0 })
}

func (c *Conditions) index(place string) int {
	return slices.IndexFunc(c.exhausted, func(e string) bool { return strings.EqualFold(e, place) })
}

// Exhausted implements [Exhaustible].
func (c *Conditions) Exhausted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.exhausted))
}

// SetExhausted removes or restores the capacity of a place.
func (c *Conditions) SetExhausted(place string, exhausted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch n := c.index(place); {
	case exhausted && n < 0:
		c.exhausted = append(c.exhausted, place)
	case !exhausted && n >= 0:
		c.exhausted = slices.Delete(c.exhausted, n, n+1)
	}
}

// Lag is the lag of reads, for [Table.AllBehind] and [Table.GetBehind].
func (c *Conditions) Lag() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lag
}

// SetLag sets the lag of reads.
func (c *Conditions) SetLag(lag time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = lag
}

// ExhaustVerbs are the verbs "exhaust" and "restock". place describes a place: "a zone, or zone/type".
func (c *Conditions) ExhaustVerbs(place string) []Verb {
	change := func(exhausted bool) func(string) error {
		return func(on string) error {
			c.SetExhausted(on, exhausted)
			return nil
		}
	}
	return []Verb{
		{Name: "exhaust", On: place + ": it has no capacity for further instances", Do: change(true)},
		{Name: "restock", On: place + ": it has capacity again", Do: change(false)},
	}
}

// LagVerb is the verb "lag".
func (c *Conditions) LagVerb() Verb { return LagVerb(c.SetLag) }

// LagVerb is the verb "lag" of a cloud that keeps the lag itself.
func LagVerb(set func(time.Duration)) Verb {
	return Verb{Name: "lag", On: "a duration: reads of instances lag by it", Do: func(on string) error {
		lag, err := time.ParseDuration(on)
		if err == nil {
			set(lag)
		}
		return err
	}}
}
