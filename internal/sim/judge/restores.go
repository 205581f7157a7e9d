package judge

// Restored says that the API server of the machines goes back to an older state.
func (j *Judge) Restored() { j.restored = true }

// left reports whether what was made for the machine with the UID is nobody's where
// nobody looks for such: it came too late, or the machine was lost.
func (j *Judge) left(uid string) bool {
	return j.strays[uid] || j.restored && !j.lost(uid).IsZero()
}
