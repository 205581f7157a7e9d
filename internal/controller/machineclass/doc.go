// Package machineclass keeps MachineClasses of machine.sapcloud.io, and the
// secrets that they name, as long as machines need them: by finalizers, which
// come with the first reference and go with the last.
//
// It never stands in the way of a machine: the machine controller copes with a
// class or a secret that is missing. What it offers to that controller is to
// wake the machines of a class that changed ([MachinesOfClass]).
package machineclass
