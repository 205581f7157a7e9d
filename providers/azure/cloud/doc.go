// Package cloud runs machines on Azure.
//
// A virtual machine is called after its machine, and so are its interface, its disks and its public address: names are unique in a
// resource group, and lead back to everything. What is made carries the machine's UID in a tag from the first. No call waits for a
// long-running operation: its resource says how it stands.
package cloud
