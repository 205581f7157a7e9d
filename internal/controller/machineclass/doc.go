// Package machineclass keeps MachineClasses of machine.sapcloud.io, and the secrets that they name, as long
// as machines need them: by finalizers, which it sets with the first reference and removes with the last.
//
// It never blocks a machine: the machine controller handles a missing class or secret. For that controller
// it wakes the machines of a class that changed ([MachinesOfClass]).
package machineclass
