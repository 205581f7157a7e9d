// Package openshift runs an actuator of OpenShift's machine controller as a provider.
//
// An actuator is given the whole Machine, which it changes by itself, and asked four things: whether
// the machine's instance exists, to create it, to refresh what the Machine says of it, and to delete it.
// It tells neither whose an instance is nor which others there are. So the adapter
//
//   - reads the Machine past all caches for each call, and hands it on only if it is the one that is meant, by its UID;
//   - asks Exists and then Update when the engine looks, and tells the engine what the Machine says
//     then: what the actuator has written is never written otherwise;
//   - asks for an instance only when Exists says that there is none, and has said so for as long as it may run behind;
//   - makes all calls beside the workers, one at a time for each machine, with a deadline;
//   - remembers the machines that it was asked about: one that is taken away around its finalizer is
//     still found by what it was, and its instance collected.
//
// Package serve makes a machine controller of it.
package openshift
