// Package dialecttest checks the laws of lenses on random objects and on outcomes
// that the engine really comes to:
//
//	View(Record(m, o)) shows what o says
//	Record(m, o) changes no field outside those the dialect owns
//	Record is idempotent, and never forgets what was known
//	Record shares no memory between the object and the outcome
//
// The same is asked of whatever else edits an object: of a set that is applied, a
// machine that is made, handed over or marked, a node that is marked. A dialect's own
// test describes its lenses by [Laws], [SetLaws], [DeploymentLaws] and [HealthLaws],
// and calls Check.
package dialecttest
