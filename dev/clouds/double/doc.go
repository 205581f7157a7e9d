// Package double has the common parts of cloud simulators, so that each of them only has what is particular
// to its cloud: a clock that can be advanced, listings that lag, faults, rate limits, a log of requests, and
// instances that boot.
//
// A simulator is a [Cloud], whose answers have the shapes of the real one, behind a [Server], which is an
// http.Handler. Tests use both; people use the [Server]'s console, which `millwright cloud` calls.
package double
