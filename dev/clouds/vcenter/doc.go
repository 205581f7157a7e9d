// Package vcenter is a double of VMware's vCenter: govmomi's own simulator, which decides what a request
// does, behind the faults, limits and log of package double. What the simulator leaves out and providers
// depend on is added to it, by VMware's public API reference: tasks that take time and may fail late
// ("VirtualMachine.CloneVM_Task", "Datacenter.PowerOnMultiVM_Task"), parts of a clone's configuration,
// instance UUIDs that are changed where two virtual machines would have the same, capacity, guests that
// boot, and passwords.
package vcenter
