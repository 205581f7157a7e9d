// Package openshift runs an actuator of OpenShift's machine controller as a provider.
//
// An actuator gets the whole Machine, which it changes itself, and has four calls: whether the machine's
// instance exists, to create it, to refresh the Machine's status, and to delete it. It reports neither the
// owner of an instance nor other instances. So the adapter
//
//   - reads the Machine from the API server, without a cache, for each call, and passes it on only if the UID matches;
//   - calls Exists and then Update when the engine reads, and returns the Machine's status to the engine:
//     the adapter never changes what the actuator has written;
//   - creates an instance only if Exists returns false, and has done so for the read lag;
//   - runs all calls in the background, one at a time for each machine, with a deadline;
//   - remembers the machines of its calls: the instance of a machine that was deleted without its
//     finalizer is still found, and collected.
//
// Package serve runs an actuator as a machine controller.
package openshift
