// Package cloud runs machines on Azure.
//
// A virtual machine has the name of its machine, and so have its interface, its disks and its public
// address: names are unique in a resource group, and identify every resource. Each resource has the
// machine's UID in a tag from its creation on. No call waits for a long-running operation: the resource
// shows its progress.
package cloud
