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

All answers of ` + "`kubectl machine why`" + `, and what to do next. The column "reason" is the answer's field ` + "`reason`" + `. If a reason has several rows or steps,
the answer depends on the situation. ` + "`why`" + ` replaces the words in braces. If an API records only a text about a failed creation,
` + "`CreateFailed` also stands for `ResourceExhausted`, `InvalidConfiguration`, `PermissionDenied` and `Conflict`" + `
([which API](compatibility.md)): Millwright does not parse that text, and the cause quotes it. This page is generated from ` + "`internal/engine/explain/reasons.go`" + `: do not edit it.

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
