package statemetrics_test

import (
	"context"
	"fmt"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/statemetrics"
)

// shelf is a reader of lists that are as they are, however odd.
type shelf struct {
	client.Reader
	fill func(client.ObjectList)
}

func (s shelf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	s.fill(list)
	return nil
}

// TestAnyObjectIsShown: whatever objects say, they break no scrape, because Prometheus would lose all metrics with it. Pointers
// that the original takes for granted are nil in half of the objects.
func TestAnyObjectIsShown(t *testing.T) {
	for seed := range int64(300) {
		fill := randfill.NewWithSeed(seed).NilChance(0.5).NumElements(0, 4).Funcs(
			func(*runtime.RawExtension, randfill.Continue) {}, func(*resource.Quantity, randfill.Continue) {},
		)
		i := 0
		r := shelf{fill: func(list client.ObjectList) {
			fill.Fill(list)
			if err := apimeta.EachListItem(list, func(o runtime.Object) error {
				o.(client.Object).SetName(fmt.Sprintf("o-%d", i))
				i++
				if d, ok := o.(*v1alpha1.MachineDeployment); ok {
					d.Spec.Strategy.Type = v1alpha1.RollingUpdateMachineDeploymentStrategyType
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		}}
		shown(t, r, everything()...)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestTextThatIsNone: what is not UTF-8 cannot be carried; its series is left out, and nothing else.
func TestTextThatIsNone(t *testing.T) {
	r := shelf{fill: func(list client.ObjectList) {
		good, bad := v1alpha1.Machine{}, v1alpha1.Machine{}
		good.Name, bad.Name = "good", "bad"
		bad.Spec.ProviderID = "\xff"
		list.(*v1alpha1.MachineList).Items = []v1alpha1.Machine{good, bad}
	}}
	got := shown(t, r, statemetrics.GardenerMachines())
	if n := len(got["mcm_machine_info"].GetMetric()); n != 1 {
		t.Errorf("%d series of mcm_machine_info, want that of the good machine", n)
	}
	if n := got["mcm_machine_items_total"].GetMetric()[0].GetGauge().GetValue(); n != 2 {
		t.Errorf("%v machines are counted, want 2", n)
	}
}
