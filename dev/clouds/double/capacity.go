package double

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Capacity is the capacity of the places of a cloud, such as its zones. A cloud embeds it, and so implements [Exhaustible]. It is
// safe for concurrent use.
type Capacity struct {
	mu        sync.Mutex
	capacity  map[string]int
	exhausted []string
}

// SetCapacity sets the number of instances by place, such as "zone" or "zone/type". Without an entry, it is unlimited.
func (c *Capacity) SetCapacity(capacity map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.capacity = maps.Clone(capacity)
}

// Full reports whether one of the places has no capacity for another instance. counts are the present instances by place.
func (c *Capacity) Full(counts map[string]int, places ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(places, func(place string) bool {
		most, limited := c.capacity[place]
		return limited && counts[place] >= most || c.index(place) >= 0
	})
}

// Lacks reports whether one of the places was exhausted by a verb. Case does not matter.
func (c *Capacity) Lacks(places ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(places, func(place string) bool { return c.index(place) >= 0 })
}

func (c *Capacity) index(place string) int {
	return slices.IndexFunc(c.exhausted, func(e string) bool { return strings.EqualFold(e, place) })
}

// Exhausted implements [Exhaustible].
func (c *Capacity) Exhausted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.exhausted))
}

// SetExhausted removes or restores the capacity of a place.
func (c *Capacity) SetExhausted(place string, exhausted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch n := c.index(place); {
	case exhausted && n < 0:
		c.exhausted = append(c.exhausted, place)
	case !exhausted && n >= 0:
		c.exhausted = slices.Delete(c.exhausted, n, n+1)
	}
}

// ExhaustVerbs are the verbs "exhaust" and "restock". place describes a place: "a zone, or zone/type".
func (c *Capacity) ExhaustVerbs(place string) []Verb {
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
