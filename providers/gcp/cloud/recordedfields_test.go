package cloud

import (
	"errors"
	"regexp"
	"slices"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// misnamed are the fields that the original of Gardener calls otherwise than the spec does.
var misnamed = []struct{ original, spec string }{
	{`^networkInterfaces(\[\d+\]\.key)$`, "metadata$1"},
	{`^networkInterfaces\.networkInterfaces$`, "networkInterfaces"},
	{`\.ipv6AccessType$`, ".ipv6accessType"},
	{`^(disks\[\d+\])\.(kmsKeyName|kmsKeyServiceAccount)$`, "$1.encryption.$2"},
}

// TestRecordedFields: of a spec that both refuse the same fields are named.
func TestRecordedFields(t *testing.T) {
	compared, renamed := 0, make([]int, len(misnamed))
	for _, r := range recordtest.Read(t, recordings, provider.Gardener) {
		if len(r.Fields) == 0 {
			continue
		}
		compared++
		want := slices.Clone(r.Fields)
		for n, field := range want {
			for i, m := range misnamed {
				if form := regexp.MustCompile(m.original); form.MatchString(field) {
					want[n] = form.ReplaceAllString(field, m.spec)
					renamed[i]++
				}
			}
		}
		_, err := decode(provider.Gardener, r.Spec)
		got := faultyFields(err)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(slices.Compact(got), want) {
			t.Errorf("%s: the original names %q, this provider %q: %v", r.ID, want, got, err)
		}
	}
	if compared < 40 {
		t.Errorf("%d specs were compared", compared)
	}
	for i, m := range misnamed {
		if renamed[i] == 0 {
			t.Errorf("no recorded case needs the name %s any more", m.original)
		}
	}
}

// faultyFields are those that an error is about, or the errors that are joined in it.
func faultyFields(err error) (fields []string) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		if e, ok := errors.AsType[*provider.Error](err); ok && e.Kind == provider.Invalid && e.Field != "" {
			fields = append(fields, e.Field)
		}
	}
	return fields
}
