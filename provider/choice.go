package provider

// Choice is one of several things that a provider spec allows to make an instance of.
type Choice struct {
	// Name tells it from the spec's other choices, also to people: "large in eu-1a". It
	// stays the same for as long as the spec does.
	Name string
	// Region, Zone and Type are what its capacity is counted by, in the
	// infrastructure's words. What one machine finds exhausted no other asks for
	// meanwhile, so no two choices have all three in common: one type that is sold as
	// spot and on demand is two types here. A region that is left empty is the class's.
	Region, Zone, Type string
	// Equal says that it is as good as the choice listed before it. Of several that are
	// equal, the one is asked for whose zone the fewest machines of the same owner have,
	// so both name their zones. Where these have as many, the machine's UID decides.
	Equal bool
}
