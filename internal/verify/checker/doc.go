// Package checker decides whether a recorded run of the controllers kept the promises of ARCHITECTURE.md.
//
// It reads events and nothing else: what the API server was asked and answered (its audit log, see [ParseAudit], or lists), what the
// infrastructure was asked, did and still has (see [ParseCloud]), and marks of what the test did. Histories of the real binaries,
// stories on simulated clouds, soaks and crash tests write them, and so does the simulator. It imports no package of the product: what a
// machine, a budget of unavailability or a drain timeout is, it reads from the raw objects itself, so that a mistake of the product
// about them is not shared by its judge.
//
// A request takes effect at some moment between its arrival and its answer, and no record says at which. Whatever is judged is
// judged in favour of the product: a statement is broken only if it is broken wherever in these times the effects were.
//
// Where etcd was put back, the log of what was cut off and that of what goes on are two eras. Objects of the new era are those
// that the test's own user listed before any other user could write.
package checker
