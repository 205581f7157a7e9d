// Package double has the common parts of cloud simulators, so that each simulator has only the parts that are specific to
// its cloud. The common parts are a clock that can be advanced, listings that lag, faults, rate limits, a log of requests,
// and instances that boot.
//
// A simulator is a [Cloud], whose answers have the form of the real cloud's answers, behind a [Server], which is an
// http.Handler. Tests use both; users use the [Server]'s console, which `millwright cloud` calls.
package double
