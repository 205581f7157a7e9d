// Package checker decides whether a recorded run of the controllers kept the promises of ARCHITECTURE.md.
//
// It reads two logs and nothing else: what the API server was asked and answered (its audit log, see [ParseAudit]), and what
// the infrastructure was asked, did and still has (see [ParseCloud]). It imports no package of the product: what a machine,
// a budget of unavailability or a drain timeout is, it reads from the raw objects itself, so that a mistake of the product
// about them is not shared by its judge.
//
// A request takes effect at some moment between its arrival and its answer, and nobody knows at which. Whatever is judged is
// judged in favour of the product: a statement is broken only if it is broken wherever in these times the effects were.
//
// Where etcd was put back, the log of what was cut off and that of what goes on are two eras. Objects of the new era are those
// that the world's own user listed before anybody else could write.
package checker
