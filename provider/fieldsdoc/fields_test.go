package fieldsdoc_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider/fieldsdoc"
)

type inner struct {
	Sizes []int64 `json:"sizes,omitempty"`
	Bare  bool
}

type outer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	*inner

	Disks   []inner           `json:"disks"`
	One     *inner            `json:"one"`
	Tags    map[string]string `json:"tags"`
	Ignored string            `json:"-"`
	hidden  int
}

func TestLeaves(t *testing.T) {
	got := map[string]string{}
	for path, of := range fieldsdoc.Leaves(reflect.TypeFor[*outer]()) {
		got[path] = fieldsdoc.TypeName(of)
	}
	if want := map[string]string{
		"apiVersion": "string", "kind": "string", "metadata": "object", "sizes": "list of integers", "Bare": "boolean", "tags": "strings by name",
		"disks[].sizes": "list of integers", "disks[].Bare": "boolean", "one.sizes": "list of integers", "one.Bare": "boolean",
	}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	_ = outer{}.hidden
}

func TestPatched(t *testing.T) {
	var got any
	if err := json.Unmarshal(fieldsdoc.Patched(t, []byte(`{"a":{"b":1,"c":2},"d":[1],"e":3}`), `{"a":{"b":null,"f":4},"d":[2,3],"e":null}`), &got); err != nil {
		t.Fatal(err)
	}
	if want := map[string]any{"a": map[string]any{"c": 2.0, "f": 4.0}, "d": []any{2.0, 3.0}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
