// Package cloud runs machines on VMware vSphere, as clones of templates in a vCenter. It serves the specs
// of both APIs: VSphereMachineProviderSpec of machine.openshift.io, and that of Gardener's provider
// vSphere.
//
// A vCenter answers most requests for changes with a task. No call waits for a task: an instance is Pending
// while it is cloned or powered on, and is read again later. The request for a clone contains everything
// that is needed to find it, so tasks are recorded only for their messages to users.
package cloud
