package explain

import (
	"strings"

	"github.com/millwright-dev/millwright/api/millwright"
)

// Doubting adds the invalid Millwright annotations of the object to an answer. The object is not in order if
// such an annotation has no effect, or an unintended one.
func (a Answer) Doubting(doubts []millwright.Doubt) Answer {
	if len(doubts) == 0 {
		return a
	}
	var causes []Cause
	for _, d := range doubts {
		causes = append(causes, Cause{Source: d.Field, Reason: doubted(d), Message: d.Message})
	}
	if a.State != Healthy {
		a.Because = append(a.Because, causes...)
		return a
	}
	worst := doubts[0]
	f := finding{key: doubted(worst), fill: []string{"was", strings.TrimPrefix(clause(a.Sentence), a.Subject.String()+" "), "annotation", annotation(worst.Field)}}
	out := f.answer(a.Subject, a.Gaps)
	out.Because, out.Evidence = append(causes, a.Because...), a.Evidence
	return out
}

func doubted(d millwright.Doubt) string {
	if d.Unknown {
		return reasonUnknownKey
	}
	return reasonUnreadableKey
}

// annotation returns the key in "metadata.annotations[key]".
func annotation(field string) string {
	_, key, found := strings.Cut(field, "[")
	if !found {
		return field
	}
	return strings.TrimSuffix(key, "]")
}
