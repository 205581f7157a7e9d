package recordtest

import (
	"errors"
	"regexp"
	"slices"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

// Renamed is a form of names of fields that an original and a provider have differently: what matches the regular expression Form stands for
// Name, in which $1 is its first group.
type Renamed struct{ Form, Name string }

// Fields holds the fields that a provider names as it refuses a spec to those that the original names, of each case that both refuse. Each of
// the renamed has to be needed, and at least so many cases have to be compared.
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

// FieldsOf are the fields that an error, or the errors that are joined in it, is about.
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
