package double

// Conditions are what most clouds embed: [Capacity] and [Lagging].
type Conditions struct {
	Capacity
	Lagging
}
