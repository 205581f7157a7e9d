// Package dialecttest checks the laws of lenses on random objects and on real outcomes of the engine:
//
//	View(Record(m, o)) shows the facts of o
//	Record(m, o) changes no field outside those the dialect owns
//	Record is idempotent, and never clears a known field
//	Record shares no memory between the object and the outcome
//
// The same laws hold for all other edits: of a set that is applied, a machine that is created, handed over or
// marked, a node that is marked. A dialect's own test describes its lenses by [Laws], [SetLaws],
// [DeploymentLaws] and [HealthLaws], and calls Check.
package dialecttest
