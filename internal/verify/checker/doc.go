// Package checker decides whether a recorded run of the controllers kept the promises of ARCHITECTURE.md.
//
// It reads only events: the requests to the API server and their answers (its audit log, see [ParseAudit], or lists), the calls
// of the infrastructure, its instances (see [ParseCloud]), and marks of the test's own actions. Histories of the real binaries,
// stories on simulated clouds, soaks, crash tests and the simulator write them. The checker imports no package of the product: it
// reads machines, maxUnavailable and drain timeouts from the raw objects itself. A mistake of the product in reading them is
// therefore not repeated here.
//
// A request takes effect at some moment between its arrival and its answer, and no record says at which. The checker decides in
// favour of the product: a statement is broken only if it is broken at every possible moment.
//
// After a restore of etcd a new era begins. One era has the log before the restore, the other the log after it. The objects of
// the new era are those that the test's own user listed before any other user could write.
package checker
