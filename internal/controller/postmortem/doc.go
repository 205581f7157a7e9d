// Package postmortem keeps the evidence about failed machines for some days after their deletion, and a record of all
// deletions of the last 24 hours ([decision 50]).
//
// A [Recorder] watches the machines of one API. When one fails, or is deleted while it is unhealthy or has
// never joined, the recorder reads what it can at that moment and stores it in a ConfigMap beside the
// machine ([decision 0013]). It does not delay machines: no controller calls it, it sets no finalizer, and
// an object that it cannot read becomes a gap in the record.
//
// It collects the deletions in memory, and writes them together, at most every 30 seconds.
//
// [decision 50]: https://github.com/millwright-dev/millwright/blob/main/docs/decisions/0050-deletions-are-recorded-together.md
// [decision 0013]: https://github.com/millwright-dev/millwright/blob/main/docs/decisions/0013-evidence-is-kept-in-configmaps.md
package postmortem
