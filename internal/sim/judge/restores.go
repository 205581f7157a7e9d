package judge

// Restored forgets what was concluded from writes that a restore of the machines' API
// server undid: who gave sets their sizes, and which machines were given up for that.
// Where a pass looked and what it wrote stays in the history.
func (j *Judge) Restored() {
	clear(j.sized)
	for uid := range j.surplus {
		if m, there := find(j.machines(), uid); there && !m.going {
			delete(j.surplus, uid)
		}
	}
}
