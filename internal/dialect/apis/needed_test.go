package apis_test

import (
	"slices"
	"testing"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/provider"
)

// TestNeeded: while CRDs are installed one after the other, no program begins with a part of what it cannot do without; the
// original of machine.openshift.io has no deployments.
func TestNeeded(t *testing.T) {
	for name, want := range map[string][]string{
		provider.OpenShift: {"Machine", "MachineSet"},
		provider.Gardener:  {"Machine", "MachineSet", "MachineClass"},
	} {
		t.Run(name, func(t *testing.T) {
			api, _ := apis.Of(name)
			var got []string
			for _, k := range api.Needed() {
				got = append(got, k.Name)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s needs %q, want %q", name, got, want)
			}
		})
	}
}
