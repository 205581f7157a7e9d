package disruption

import (
	"slices"
	"time"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
)

const (
	// askQueryAfter is the age after which an answer to a query is asked for again.
	askQueryAfter = 30 * time.Second
	// answerLasts is how long an answer counts. It is longer than askQueryAfter, because processes have different clocks.
	answerLasts = 2 * time.Minute
)

// query says that a limit applies only while a query returns samples.
type query struct {
	text string
	// last is the last answer; nil: none is known.
	last *v1alpha1.QueryStatus
}

// queryOf returns the query of a limit with its last answer; nil: the limit has none.
func queryOf(text string, answers []v1alpha1.QueryStatus) *query {
	if text == "" {
		return nil
	}
	q := &query{text: text}
	if i := indexOf(answers, text); i >= 0 {
		q.last = &answers[i]
	}
	return q
}

func indexOf(answers []v1alpha1.QueryStatus, text string) int {
	return slices.IndexFunc(answers, func(a v1alpha1.QueryStatus) bool { return a.Query == text })
}

// unanswered says why the answer does not count; empty if it does. It does not change while the reason stays.
func (q *query) unanswered(now time.Time) string {
	switch {
	case q.last == nil:
		return "no machine controller has asked it yet"
	case q.last.Error != "":
		return q.last.Error
	case now.Sub(q.last.At.Time).Abs() > answerLasts:
		return "its last answer is too old"
	}
	return ""
}

// applies reports whether the limit of the query applies: the query returns samples, or has no answer that counts. Limits without a query,
// which is nil, apply.
func (q *query) applies(now time.Time) bool {
	return q == nil || q.unanswered(now) != "" || q.last.Samples
}

// while returns the reason for which the limit applies, to continue a sentence; empty without a query.
func (q *query) while(now time.Time) string {
	switch {
	case q == nil:
		return ""
	case q.unanswered(now) != "":
		return " while Prometheus does not answer its query " + q.text
	}
	return " while its Prometheus query returns samples: " + q.text
}

// Unasked returns the queries of a budget whose answers are old, or that have none.
func Unasked(b *v1alpha1.MachineDisruptionBudget, now time.Time) (out []string) {
	for _, l := range b.Spec.Budgets {
		i := indexOf(b.Status.Queries, l.Query)
		old := i < 0 || now.Sub(b.Status.Queries[i].At.Time).Abs() >= askQueryAfter
		if l.Query != "" && old && !slices.Contains(out, l.Query) {
			out = append(out, l.Query)
		}
	}
	return out
}

// ObserveQuery stores an answer, unless the stored one is newer, and removes the answers to queries that the budget no longer has.
func ObserveQuery(b *v1alpha1.MachineDisruptionBudget, a v1alpha1.QueryStatus) {
	if i := indexOf(b.Status.Queries, a.Query); i >= 0 && !a.At.After(b.Status.Queries[i].At.Time) {
		return
	}
	b.Status.Queries = slices.DeleteFunc(b.Status.Queries, func(o v1alpha1.QueryStatus) bool {
		return o.Query == a.Query || !slices.ContainsFunc(b.Spec.Budgets, func(l v1alpha1.Budget) bool { return l.Query == o.Query })
	})
	b.Status.Queries = append(b.Status.Queries, a)
}
