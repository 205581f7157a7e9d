// Package postmortem keeps what was known of machines that failed, for some days
// after they are gone.
//
// A [Recorder] watches the machines of one API. When one is Failed, or is deleted
// while it is unwell or has never joined, it takes down what can be read at that
// moment and stores it in a ConfigMap beside the machine ([decision 0013]). It
// does not hold machines up: no controller calls it, it puts no finalizer
// anywhere, and what it cannot read becomes a gap in the record.
//
// [decision 0013]: https://github.com/millwright-dev/millwright/blob/main/docs/decisions/0013-evidence-is-kept-in-configmaps.md
package postmortem
