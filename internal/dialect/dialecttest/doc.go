// Package dialecttest checks the laws of machine lenses ([dialect.Machines])
// on random objects and on outcomes that the engine really comes to:
//
//	View(Record(m, o)) shows what o says
//	Record(m, o) changes no field outside those the dialect owns
//	Record is idempotent, and never forgets what was known
//	Record shares no memory between the object and the outcome
//
// A dialect's own test describes the lens by a [Laws] and calls Check.
package dialecttest
