package recordtest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// deviation is a parameter that the original and the provider send differently; nil: it is not sent.
type deviation struct {
	operation, key string
	original, ours *string
}

func (d deviation) String() string {
	shown := func(s *string) string {
		if s == nil {
			return "nothing"
		}
		return fmt.Sprintf("%q", *s)
	}
	return fmt.Sprintf("%s %s: the original sends %s, this provider %s", d.operation, d.key, shown(d.original), shown(d.ours))
}

// empty reports whether only one of them sends the parameter, and it has no content.
func (d deviation) empty() bool {
	one := d.original
	if one == nil {
		one = d.ours
	}
	return (d.original == nil || d.ours == nil) && slices.Contains([]string{"", "[]", "{}"}, *one)
}

// verdict is the key of a deviation in the decision to create a machine.
const verdict = "verdict"

// compare returns the deviations, and the number of compared parameters.
func (r Record) compare(ours map[string]Parameters, err error) (all []deviation, compared int) {
	if said := err != nil; said != r.Refused {
		word := map[bool]string{true: "refused", false: "made"}
		original, here := word[r.Refused], word[said]
		return []deviation{{key: verdict, original: &original, ours: &here}}, 1
	}
	if r.Refused {
		return nil, 1
	}
	operations := map[string]Parameters{}
	maps.Copy(operations, r.Sent)
	maps.Copy(operations, ours)
	for _, operation := range slices.Sorted(maps.Keys(operations)) {
		keys := map[string]string{}
		maps.Copy(keys, r.Sent[operation])
		maps.Copy(keys, ours[operation])
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			compared++
			one, sends := r.Sent[operation][key]
			other, sendsToo := ours[operation][key]
			if sends && sendsToo && one == other {
				continue
			}
			d := deviation{operation: operation, key: key}
			if sends {
				d.original = &one
			}
			if sendsToo {
				d.ours = &other
			}
			all = append(all, d)
		}
	}
	return all, compared
}

// How is how a provider differs from the original.
type How string

// The ways in which a provider may differ.
const (
	Adds    How = "adds"       // it sends what the original does not, or has an empty object instead
	Omits   How = "leaves out" // it does not send what the original does
	Alters  How = "alters"     // it sends another value
	Sets    How = "sets"       // it sends a value, whether the original sends one or not
	Differs How = "differs"    // any of these
	Empties How = "empties"    // only one of them sends a text, a list or an object without content
	Makes   How = "makes"      // it creates a machine that the original refuses
	Refuses How = "refuses"    // it refuses a machine that the original creates
)

// Difference is a row of the intended differences.
type Difference struct {
	// API is the API of the row; empty: both.
	API string
	How How
	// Key matches "<operation> <parameter>" as a regular expression. It is ignored for Makes and Refuses.
	Key string
	// Has matches [Record.Line] as a regular expression.
	Has string
	// Lacks are texts separated by |, of which the spec lacks at least one; empty: any spec.
	Lacks string
	// Always: every machine has the difference, so a case with only this difference still counts as equal.
	Always bool
	// What, Original, Here and Why are columns of the table: where, what the original does, what the provider does, and the reason.
	What, Original, Here, Why string
}

// explains reports whether the row explains a deviation of a case.
func (row Difference) explains(r Record, d deviation) bool {
	if row.API != "" && row.API != r.API || !regexp.MustCompile(row.Has).Match(r.Line) {
		return false
	}
	missing := func(text string) bool { return !strings.Contains(string(r.Spec), text) }
	if row.Lacks != "" && !slices.ContainsFunc(strings.Split(row.Lacks, "|"), missing) {
		return false
	}
	if d.key == verdict {
		return row.How == Makes && r.Refused || row.How == Refuses && !r.Refused
	}
	fits := map[How]bool{
		Adds: d.original == nil || *d.original == "{}", Omits: d.ours == nil, Alters: d.original != nil && d.ours != nil,
		Sets: d.ours != nil, Differs: true, Empties: d.empty(),
	}
	return fits[row.How] && regexp.MustCompile(row.Key).MatchString(d.operation+" "+d.key)
}
