// Package cloud runs machines on VMware vSphere, as clones of templates that a vCenter makes. It serves the specs
// of both APIs: VSphereMachineProviderSpec of machine.openshift.io, and that of Gardener's provider vSphere.
//
// A vCenter answers most requests for changes with a task. No call waits for one: an instance is Pending while it
// is cloned or powered on, and asked for again. What a clone needs to be found is in the request for it, so that
// tasks have to be remembered for no more than what a person reads of them.
package cloud
