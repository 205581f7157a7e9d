// Package postmortem keeps the evidence about failed machines for some days after their deletion.
//
// A [Recorder] watches the machines of one API. When one fails, or is deleted while it is unhealthy or has
// never joined, the recorder reads what it can at that moment and stores it in a ConfigMap beside the
// machine ([decision 0013]). It does not delay machines: no controller calls it, it sets no finalizer, and
// an object that it cannot read becomes a gap in the record.
//
// [decision 0013]: https://github.com/millwright-dev/millwright/blob/main/docs/decisions/0013-evidence-is-kept-in-configmaps.md
package postmortem
