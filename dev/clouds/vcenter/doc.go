// Package vcenter simulates VMware's vCenter. govmomi's own simulator decides the effect of requests, behind the faults,
// limits and log of package double. This package adds what providers depend on and that simulator lacks, by VMware's public
// API reference: tasks that take time and may fail late ("VirtualMachine.CloneVM_Task", "Datacenter.PowerOnMultiVM_Task"),
// parts of a clone's configuration, a new instance UUID if two virtual machines would have the same one, capacity, guests that
// boot, and passwords.
package vcenter
