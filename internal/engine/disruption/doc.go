// Package disruption decides whether a disruption of a machine may begin now: what its cause is ([ReasonOf]), and what a
// MachineDisruptionBudget says about it ([Budget.Decide]).
//
// A permit is an entry in the status of each budget that selects the machine. The machine controller writes the entry before it
// begins, under a lock on the budget's version, and removes it when the disruption is over ([Grant], [Release]). A budget thus
// never has more entries than it allowed at the time of a decision, however many processes ask.
//
// The package performs no I/O, reads no clock and names no API of machines.
package disruption
