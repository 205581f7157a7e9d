// Package disruption asks the MachineDisruptionBudgets of the control cluster for permits of the machine controller. Package
// engine/disruption decides; this package reads the budgets from the API server itself, writes permits into their status under a
// lock on their version, and removes the permits of machines that do not exist any more.
//
// Several processes, for example one for each API, share the budgets through the API server.
package disruption
