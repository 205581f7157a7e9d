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

What ` + "`kubectl machine why`" + ` may answer, and what to do next. The reason is the word in the answer's ` + "`reason`" + `; where it stands more than once,
the situation decides. Words in braces are filled in. Where an API records why an attempt at an instance failed as text
only, ` + "`CreateFailed` stands for `ResourceExhausted`, `InvalidConfiguration`, `PermissionDenied` and `Conflict`" + ` as well
([which](compatibility.md)): nobody parses that text, and the cause quotes it. This page is generated from ` + "`internal/engine/explain/reasons.go`" + `: do not edit it.

| reason | state | the object ... | next |
|---|---|---|---|
`)
	keys := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
		return cmp.Or(strings.Compare(strings.ToLower(reasonOf(a)), strings.ToLower(reasonOf(b))), strings.Compare(a, b))
	})
	for _, key := range keys {
		a := reasons[key]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", reasonOf(key), a.state, a.text, a.next)
	}
	return b.String()
}
