package serve

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/internal/controller/statemetrics"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/provider"
)

// TestEveryAPIIsServed: the table of this process has the rows of the table of APIs.
func TestEveryAPIIsServed(t *testing.T) {
	var got []string
	for _, row := range apiTable {
		got = append(got, row.api)
	}
	if !slices.Equal(got, apis.Names()) {
		t.Errorf("rows for %v, want %v", got, apis.Names())
	}
}

// TestObjectsAreShown: each API has the metrics of the original program that this program replaces.
func TestObjectsAreShown(t *testing.T) {
	want := map[string][]string{
		provider.OpenShift: nil, // machine-controller-manager serves them
		provider.Gardener:  {"mcm_machine_items_total"},
	}
	reader := fake.NewClientBuilder().WithScheme(run.Scheme()).Build()
	for _, row := range apiTable {
		registry := prometheus.NewRegistry()
		registry.MustRegister(statemetrics.New(statemetrics.Options{Reader: reader, Kinds: row.shown("aws")}))
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range families {
			if strings.Contains(f.GetName(), "_items") {
				got = append(got, f.GetName())
			}
		}
		if !slices.Equal(got, want[row.api]) {
			t.Errorf("%s: metrics %v, want %v", row.api, got, want[row.api])
		}
	}
}
