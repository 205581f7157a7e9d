package cloud_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/openstack/spec"
)

// TestRecordedFields: of a spec that both refuse the same fields are named, in whatever case the original has their names. Those of secrets
// are not compared: credentials that do not suffice are no fault of a spec here. Tags that do not say whose a server is are accepted here: see differences.
func TestRecordedFields(t *testing.T) {
	compared := 0
	for _, r := range recorded(t, provider.Gardener) {
		_, err := spec.DecodeGardener(r.Spec)
		got := faultyFields(err)
		want := slices.DeleteFunc(slices.Clone(r.Fields), func(field string) bool {
			return strings.HasPrefix(field, "data[") || field == "spec.tags" && !slices.Contains(got, field)
		})
		if len(want) == 0 || err == nil {
			continue
		}
		compared++
		if slices.Equal(want, []string{"spec"}) { // which is unknown to a kind that the original does not know either
			want = []string{"apiVersion"}
		}
		if g, w := folded(got), folded(want); !slices.Equal(g, w) {
			t.Errorf("%s: the original names %q, this provider %q: %v", r.ID, w, g, err)
		}
	}
	if compared < 40 {
		t.Errorf("%d specs were compared", compared)
	}
}

// folded are names in small letters, in order, each once.
func folded(names []string) []string {
	all := strings.Split(strings.ToLower(strings.Join(names, " ")), " ")
	slices.Sort(all)
	return slices.Compact(all)
}

// faultyFields are those that an error is about, or the errors that are joined in it.
func faultyFields(err error) (fields []string) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			fields = append(fields, faultyFields(err)...)
		}
		return fields
	}
	if e, ok := errors.AsType[*provider.Error](err); ok && e.Kind == provider.Invalid && e.Field != "" {
		fields = append(fields, e.Field)
	}
	return fields
}
