package lenient_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// kinds has a field of each kind that decoding distinguishes.
type kinds struct {
	metav1.TypeMeta `json:",inline"`
	Name            string                       `json:"name"`
	Word            word                         `json:"word,omitempty"`
	Pointer         *string                      `json:"pointer"`
	Yes             bool                         `json:"yes"`
	Int             int64                        `json:"int"`
	Uint            uint8                        `json:"uint"`
	Float           float64                      `json:"float"`
	Size            resource.Quantity            `json:"size"`
	Sizes           map[string]resource.Quantity `json:"sizes"`
	Port            intstr.IntOrString           `json:"port"`
	Time            metav1.Time                  `json:"time"`
	Labels          map[string]string            `json:"labels"`
	List            []string                     `json:"list"`
	Part            part                         `json:"part"`
	Other           *part                        `json:"other"`
	Parts           []part                       `json:"parts"`
	Others          []*part                      `json:"others"`
	Hidden          string                       `json:"-"`
	Untagged        string
	OWNER           string `json:"OWNER"`
	Owner           string `json:"owner"`
}

type word string

type part struct {
	ID    *string           `json:"id"`
	Text  string            `json:"text"`
	Count *int32            `json:"count"`
	Tags  map[string]string `json:"tags"`
}

// agrees checks that a document which the originals read, as YAML into the type, has the same result here.
func agrees[T any](t rapid.TB, raw []byte) {
	t.Helper()
	var want T
	if yaml.Unmarshal(raw, &want) != nil {
		return
	}
	got, _, err := lenient.Decode[T](raw)
	if err != nil {
		if !bounded(err) {
			t.Errorf("%.1000s: %v", raw, err)
		}
		return
	}
	if g, w := written(t, *got), written(t, want); g != w || !equality.Semantic.DeepEqual(*got, want) {
		t.Errorf("%s is read as\n%s, want\n%s", raw, g, w)
	}
}

// bounded reports whether a spec is refused because of its size or cost. The originals have no bounds.
func bounded(err error) bool {
	e, ok := errors.AsType[*provider.Error](err)
	return ok && (strings.Contains(e.Err.Error(), "no quantity that can be computed") || strings.Contains(e.Err.Error(), "levels deep"))
}

func TestDecodeReadsWhatTheOriginalsRead(t *testing.T) {
	t.Run("every kind of field", tries[kinds])
	t.Run("AWS", tries[machinev1beta1.AWSMachineProviderConfig])
	t.Run("Azure", tries[machinev1beta1.AzureMachineProviderSpec])
	t.Run("GCP", tries[machinev1beta1.GCPMachineProviderSpec])
	t.Run("vSphere", tries[machinev1beta1.VSphereMachineProviderSpec])
	t.Run("Nutanix", tries[machinev1.NutanixMachineProviderConfig])
	t.Run("Power VS", tries[machinev1.PowerVSMachineProviderConfig])
}

func tries[T any](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		agrees[T](t, []byte(written(t, admissiontest.Draw(t, new(T)))))
	})
}

func FuzzDecodeReadsWhatTheOriginalsRead(f *testing.F) {
	for _, row := range alike {
		f.Add([]byte(row.raw))
	}
	for _, row := range apart {
		f.Add([]byte(row.raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if raw = normal(raw); raw != nil {
			agrees[kinds](t, raw)
			agrees[machinev1.NutanixMachineProviderConfig](t, raw)
		}
	})
}

// normal is JSON as an API server writes it, without the parts that YAML reads differently: spaces and
// surrogate pairs. Nil: it is not JSON.
func normal(raw []byte) []byte {
	var tree any
	from := json.NewDecoder(bytes.NewReader(raw))
	from.UseNumber()
	if !utf8.Valid(raw) || !json.Valid(raw) || from.Decode(&tree) != nil {
		return nil
	}
	out, err := json.Marshal(tree)
	if err != nil {
		return nil
	}
	return out
}

func written(t rapid.TB, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("%v in %#v", err, value)
	}
	return string(raw)
}
