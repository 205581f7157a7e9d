// Package cloud runs machines on Google Compute Engine.
//
// An instance says whose it is by labels, the original's and three of ours, and is called as its machine is.
// It is made by one call, which carries an ID of the request that follows from the machine, so that
// Compute Engine makes one instance for however many of them. What came of the call is told by an operation: that
// is never waited for. While there is no instance, the operations about its name are looked at, so that a shortage,
// which Compute Engine tells nowhere else, reaches the machine.
package cloud
