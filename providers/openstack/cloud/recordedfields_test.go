package cloud_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
	"github.com/millwright-dev/millwright/providers/openstack/spec"
)

// TestRecordedFields: for a spec that both refuse, both name the same fields, regardless of the case of the
// original's names. Fields of secrets are not compared: incomplete credentials are no fault of a spec here.
// Tags without an owner are accepted here: see differences.
func TestRecordedFields(t *testing.T) {
	compared := 0
	for _, r := range recordtest.Read(t, recordings, provider.Gardener) {
		_, err := spec.DecodeGardener(r.Spec)
		got := recordtest.FieldsOf(err)
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

// folded returns names in lower case, in order, without duplicates.
func folded(names []string) []string {
	all := strings.Split(strings.ToLower(strings.Join(names, " ")), " ")
	slices.Sort(all)
	return slices.Compact(all)
}
