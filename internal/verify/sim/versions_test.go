package sim

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// TestEarlierVersionHasNothingToWrite: an earlier version does not know some annotations, and sends no patch that would
// have only these.
func TestEarlierVersionHasNothingToWrite(t *testing.T) {
	own := `"` + dialect.OriginAnnotation + `":"x"`
	for _, tc := range []struct{ reason, patch, want string }{
		{"nothing else", `{"metadata":{"annotations":{` + own + `},"resourceVersion":"7"}}`, ""},
		{"an annotation that it knows", `{"metadata":{"annotations":{"a":"b",` + own + `},"resourceVersion":"7"}}`, `{"metadata":{"annotations":{"a":"b"},"resourceVersion":"7"}}`},
		{"a finalizer", `{"metadata":{"annotations":{` + own + `},"finalizers":["f"],"resourceVersion":"7"}}`, `{"metadata":{"finalizers":["f"],"resourceVersion":"7"}}`},
		{"the specification", `{"metadata":{"annotations":{` + own + `},"resourceVersion":"7"},"spec":{"a":1}}`, `{"metadata":{"resourceVersion":"7"},"spec":{"a":1}}`},
		{"nothing of its own", `{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"labels":{"a":"b"}}}`},
	} {
		m := &v1alpha1.Machine{}
		sent, _, err := earlierClient{}.sends(m, client.RawPatch(types.MergePatchType, []byte(tc.patch)))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if sent != nil {
			raw, err := sent.Data(m)
			if err != nil {
				t.Fatal(err)
			}
			got = string(raw)
		}
		if got != tc.want {
			t.Errorf("%s: sends %s, want %s", tc.reason, got, tc.want)
		}
	}
}
