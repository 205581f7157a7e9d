package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Document returns the page of all reasons, in Markdown.
func Document() string {
	var b strings.Builder
	b.WriteString(`# Reasons

The table has all answers of ` + "`kubectl machine why`" + `. The column "reason" is the field ` + "`reason`" + ` of the answer, "the object ..." is the sentence after the name of the object, and "next" is the next step.
If a reason has several rows or steps, ` + "`why`" + ` selects one of them for the situation. It replaces the words in braces.

Some APIs store only the text of a failed creation, not the kind of error ([which API](compatibility.md)). In this case the reason is ` + "`CreateFailed`" + ` instead of
` + "`ResourceExhausted`, `InvalidConfiguration`, `PermissionDenied` or `Conflict`" + `. ` + "`why`" + ` then quotes the text, and uses its words only to select the next step.

A test generates this page from ` + "`internal/engine/explain/reasons.go`" + `: do not edit it.

| reason | state | the object ... | next |
|---|---|---|---|
`)
	keys := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
		return cmp.Or(strings.Compare(strings.ToLower(reasonOf(a)), strings.ToLower(reasonOf(b))), strings.Compare(a, b))
	})
	for i := 0; i < len(keys); i++ {
		a := reasons[keys[i]]
		next := a.next
		for i+1 < len(keys) && sameAnswer(keys[i], keys[i+1]) {
			i++
			if more := reasons[keys[i]].next; !slices.Contains(strings.Split(next, "<br>or: "), more) {
				next += "<br>or: " + more
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", reasonOf(keys[i]), a.state, a.text, next)
	}
	return b.String()
}

// sameAnswer tells whether two entries differ in no more than what to do next.
func sameAnswer(a, b string) bool {
	return reasonOf(a) == reasonOf(b) && reasons[a].state == reasons[b].state && reasons[a].text == reasons[b].text
}
