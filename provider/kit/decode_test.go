package kit_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

type spec struct {
	Size  string `json:"size"`
	Disks []struct {
		Size int64 `json:"size"`
	} `json:"disks"`
	Latency struct {
		Create metav1.Duration `json:"create"`
	} `json:"latency"`
	Memory resource.Quantity               `json:"memory"`
	Labels map[string]string               `json:"labels"`
	Sizes  []map[string]*resource.Quantity `json:"sizes"`
}

// joined is the interface of the result of errors.Join.
type joined interface {
	error
	Unwrap() []error
}

// fields returns the fields of all classified errors in err, in order.
func fields(t *testing.T, err error) []string {
	t.Helper()
	if all, ok := errors.AsType[joined](err); ok {
		var names []string
		for _, e := range all.Unwrap() {
			names = append(names, fields(t, e)...)
		}
		return names
	}
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || e.Kind != provider.Invalid {
		t.Fatalf("%v is not Invalid", err)
	}
	return []string{e.Field}
}

func TestDecodeStrictNamesTheField(t *testing.T) {
	cases := []struct {
		reason, raw string
		want        []string // none: it decodes
	}{
		{"a whole spec", `{"size":"s","disks":[{"size":1}],"latency":{"create":"1s"},"memory":"1Gi","labels":{"a":"b"}}`, nil},
		{"nothing stands for the zero spec", ``, nil},
		{"an unknown field", `{"sice":"s"}`, []string{"sice"}},
		{"the case of a name counts", `{"Size":"s"}`, []string{"Size"}},
		{"deep inside, with an index", `{"disks":[{"size":1},{"sice":2}]}`, []string{"disks[1].sice"}},
		{"a field given twice", `{"size":"a","size":"b"}`, []string{"size"}},
		{"every unknown field", `{"x":1,"disks":[{"y":2}]}`, []string{"x", "disks[0].y"}},
		{"a wrong type", `{"size":7}`, []string{"size"}},
		{"a wrong type inside a list", `{"disks":[{"size":1},{"size":"big"}]}`, []string{"disks[1].size"}},
		{"a fraction where a whole number belongs", `{"disks":[{"size":1.5}]}`, []string{"disks[0].size"}},
		{"a duration that is none", `{"size":"s","latency":{"create":"soon"}}`, []string{"latency.create"}},
		{"a quantity that is none", `{"memory":"much"}`, []string{"memory"}},
		{"the first of two wrong values", `{"memory":"much","disks":[{"size":"big"}]}`, []string{"disks[0].size"}},
		{"an object where a list belongs", `{"disks":{}}`, []string{"disks"}},
		{"a value of a map", `{"labels":{"a":1}}`, []string{"labels.a"}},
		{"no object at all", `[]`, []string{""}},
		{"no JSON", `{"size":`, []string{""}},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			var s spec
			err := kit.DecodeStrict([]byte(c.raw), &s)
			if len(c.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("decodes")
			}
			if got := fields(t, err); !slices.Equal(got, c.want) {
				t.Errorf("names %q, want %q (%v)", got, c.want, err)
			}
		})
	}
}

func TestDecodeStrictDecodes(t *testing.T) {
	var s spec
	if err := kit.DecodeStrict([]byte(`{"disks":[{"size":9007199254740993}]}`), &s); err != nil {
		t.Fatal(err)
	}
	if s.Disks[0].Size != 9007199254740993 {
		t.Errorf("got %d: large numbers lose digits", s.Disks[0].Size)
	}
	// A large number does not hide another field's fault.
	err := kit.DecodeStrict([]byte(`{"disks":[{"size":9223372036854775807}],"memory":"much"}`), &s)
	if err == nil || !strings.HasPrefix(err.Error(), "memory: ") {
		t.Errorf("got %q", err)
	}
}
