// Package cloud runs machines on Google Compute Engine.
//
// Labels record an instance's owner, the original's and three of ours, and the instance has its machine's
// name. One call creates it, with a request ID that is computed from the machine, so that Compute Engine
// creates one instance for any number of calls. An operation reports the result of the call: the provider
// never waits for it. While there is no instance, the provider reads the operations about its name, so that
// a shortage, which Compute Engine reports only there, reaches the machine.
package cloud
