// Package double is what doubles of clouds share, so that each of them is only what its cloud says: time
// that can be moved, listings that lag, faults, limits of requests, a log of what was asked for, and
// instances that boot.
//
// A double is a [Cloud], whose answers have the shapes of the real one, behind a [Server], which is an
// http.Handler. Tests reach into both; people do by the [Server]'s console, which `millwright cloud` asks.
package double
