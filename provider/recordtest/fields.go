package recordtest

import (
	"errors"
	"regexp"
	"slices"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

// Renamed is a name of fields that differs between an original and a provider: Name replaces a match of the
// regular expression Form, and $1 in Name is its first group.
type Renamed struct{ Form, Name string }

// Fields compares the fields that a provider names when it refuses a spec with those that the original
// names, for each case that both refuse. Each of the renamed has to be needed, and at least so many cases
// have to be compared.
func Fields(t testing.TB, all []Record, decode func(r Record) error, renamed []Renamed, least int) {
	t.Helper()
	used := make([]int, len(renamed))
	named := func(fields []string) []string {
		fields = slices.Clone(fields)
		for n := range fields {
			for i, r := range renamed {
				if form := regexp.MustCompile(r.Form); form.MatchString(fields[n]) {
					fields[n] = form.ReplaceAllString(fields[n], r.Name)
					used[i]++
				}
			}
		}
		slices.Sort(fields)
		return slices.Compact(fields)
	}
	compared := 0
	for _, r := range all {
		if len(r.Fields) == 0 {
			continue
		}
		err := decode(r)
		if err == nil { // whether it is refused is for [Suite] to compare
			continue
		}
		compared++
		if want, got := named(r.Fields), named(FieldsOf(err)); !slices.Equal(got, want) {
			t.Errorf("%s: the original names %q, this provider %q: %v", r.ID, want, got, err)
		}
	}
	if compared < least {
		t.Errorf("%d specs were compared", compared)
	}
	for i, r := range renamed {
		if used[i] == 0 {
			t.Errorf("no recorded case needs the name %s any more", r.Form)
		}
	}
}

// FieldsOf returns the fields that an error, or the errors joined in it, name.
func FieldsOf(err error) (fields []string) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			fields = append(fields, FieldsOf(one)...)
		}
		return fields
	}
	if e, ok := errors.AsType[*provider.Error](err); ok && e.Kind == provider.Invalid && e.Field != "" {
		fields = append(fields, e.Field)
	}
	return fields
}
