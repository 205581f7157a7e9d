package admitters

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/internal/plugin/infrastructures"
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/kit"
)

// TestAdmitters: each infrastructure with a platform has rules, and they detect unknown fields. The other ones have none.
func TestAdmitters(t *testing.T) {
	byPlatform := ByPlatform()
	bare := []string{"AlibabaCloud", "BareMetal", "KubeVirt", "Libvirt", "OpenStack"} // the originals have no rules for these infrastructures; Millwright only warns
	for _, i := range infrastructures.All {
		name, a := i.Platform, byPlatform[i.Platform]
		if name == "" {
			continue
		}
		if a == nil {
			t.Errorf("%s has no rules for the kind %s", name, i.OpenShift.Kind)
			continue
		}
		empty := admit.Request{Spec: []byte(`{}`), Path: field.NewPath("providerSpec")}
		if _, faults := a.Admit(empty); (len(faults) == 0) != slices.Contains(bare, name) {
			t.Errorf("%s: the faults of an empty spec are %v", name, faults)
		}
		if kind := a.Kinds()[0].Kind; !strings.HasPrefix(strings.ToLower(kind), strings.ToLower(name)) {
			t.Errorf("%s has the rules of %s", name, kind)
		}
		shaper, ok := a.(admit.SpecShaper)
		if !ok {
			t.Errorf("%s does not detect unknown fields", name)
			continue
		}
		known := cmp.Or(map[string]string{
			"Libvirt": `"ignition": {"userDataSecret": "a"}`, "BareMetal": `"userData": {"name": "a"}`,
		}[name], `"userDataSecret": {"name": "a"}`)
		if err := kit.DecodeStrict([]byte(`{`+known+`, "nothing": 1}`), shaper.SpecShape()); err == nil || !strings.Contains(err.Error(), "nothing") || strings.Contains(err.Error(), "userDataSecret") {
			t.Errorf("%s: error %v, want one about the field nothing", name, err)
		}
	}
	if len(all) != len(byPlatform) {
		t.Errorf("%d rules for %d platforms", len(all), len(byPlatform))
	}
}
