package spec_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/libvirt/spec"
)

func encoded(t rapid.TB, value any) []byte {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// FuzzDecode: any input is decoded, or refused as Invalid.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(good))
	for _, r := range wrong {
		f.Add([]byte(r.patch))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, decode := range []func([]byte) (*spec.Config, error){spec.DecodeOpenShift, spec.DecodeGardener} {
			c, err := decode(raw)
			if err != nil && provider.KindOf(err) != provider.Invalid {
				t.Errorf("%q: %v", raw, err)
			}
			if err == nil && (c.Pool() == "" || c.DomainMemory < 1) {
				t.Errorf("%q is read as %+v", raw, c)
			}
		}
	})
}
