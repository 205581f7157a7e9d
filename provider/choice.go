package provider

// Choice is one of several variants of an instance that a provider spec allows.
type Choice struct {
	// Name distinguishes it from the spec's other choices, also for users: "large in eu-1a". It does not
	// change while the spec does not.
	Name string
	// Region, Zone and Type identify its capacity, in the infrastructure's words. When one machine finds a
	// capacity exhausted, no other machine tries it for a while. So no two choices have all three in
	// common: a type that is sold as spot and on demand is two types here. An empty region means the
	// class's.
	Region, Zone, Type string
	// Equal says that it is as good as the choice listed before it. Of several equal choices the engine
	// takes the one in whose zone the same owner has the fewest machines, so equal choices name their
	// zones. If the zones have as many, the machine's UID decides.
	Equal bool
}
