// Package decorate implements what every provider needs and none should write: metrics ([Metrics]),
// deadlines ([Deadline]), a rate limit per account ([Limit]) and shared reads ([Coalesce]). Each takes a
// provider and returns one; they compose:
//
//	p, err = decorate.Metrics(p, registry, clock) // closest to the infrastructure: counts what is really called
//	p = decorate.Deadline(p, clock, deadlines) // counts the call itself, not the wait for its turn
//	p = decorate.Limit(p, clock, limits)          // spends only on what is not answered from a snapshot
//	p = decorate.Coalesce(p, clock, reads)
//
// [Redact] makes errors fit to be shown, and [Guard] goes around all of them, one for each process that
// acts under a lease.
//
// Optional capabilities stay reachable by [provider.As], and calls of those that reach the infrastructure
// pass the decorators too.
package decorate
