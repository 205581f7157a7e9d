package rollout

import (
	"cmp"
	"fmt"
	"slices"
)

// goBack handles a request to roll back to an earlier revision. The same pass does nothing else.
func (q *input) goBack() bool {
	if q.d.RollbackTo == nil || q.d.Paused {
		return false
	}
	to := q.revision(*q.d.RollbackTo)
	back := &RollBack{Revision: *q.d.RollbackTo}
	switch {
	case to == nil:
		back.Note = fmt.Sprintf("there is no set of revision %d to go back to", *q.d.RollbackTo)
		if *q.d.RollbackTo == 0 {
			back.Note = "there is no earlier revision to go back to"
		}
	case to.Current:
		back.Found, back.Revision = true, to.Revision
		back.Note = fmt.Sprintf("the template of revision %d is the current one", to.Revision)
	default:
		back.To = &SetRef{UID: to.UID, Name: to.Name}
		back.Found, back.Differs, back.Revision = true, true, to.Revision
		back.Note = fmt.Sprintf("went back to the template of revision %d", to.Revision)
	}
	q.draft.back = back
	return true
}

// revision returns a set by its revision; 0 is the highest but one.
func (q *input) revision(n int64) *setState {
	sorted := slices.Clone(q.all)
	slices.SortStableFunc(sorted, func(a, b *setState) int { return cmp.Compare(b.Revision, a.Revision) })
	if n == 0 {
		sorted = slices.DeleteFunc(sorted, func(b *setState) bool { return b.Revision == 0 })
		if len(sorted) < 2 {
			return nil
		}
		return sorted[1]
	}
	i := slices.IndexFunc(sorted, func(b *setState) bool { return b.Revision == n })
	if i < 0 {
		return nil
	}
	return sorted[i]
}

// prune deletes empty old sets once the rollout is complete. Until then a rollback may need them.
func (q *input) prune() bool {
	if q.count().Complete {
		q.history()
	}
	return false
}

// history deletes the oldest of the empty sets beyond the limit.
func (q *input) history() {
	if q.d.HistoryLimit == nil || q.current == nil {
		return
	}
	var done []*setState
	for _, b := range q.old {
		if b.empty() && b.Observed {
			done = append(done, b)
		}
	}
	slices.SortStableFunc(done, func(a, b *setState) int { return cmp.Or(cmp.Compare(a.Revision, b.Revision), oldestFirst(a, b)) })
	for _, b := range done[:max(0, len(done)-max(0, *q.d.HistoryLimit))] {
		q.draft.prune = append(q.draft.prune, SetRef{
			UID: b.UID, Name: b.Name, Note: fmt.Sprintf("%d emptied sets are kept", *q.d.HistoryLimit),
		})
	}
}
