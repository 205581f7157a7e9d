package orphan_test

import (
	"fmt"
	"testing"

	"github.com/millwright-dev/millwright/internal/engine/orphan"
)

// BenchmarkSweep judges 5000 instances of 5000 machines, and 200 without a machine.
func BenchmarkSweep(b *testing.B) {
	machines, instances := living(5000)
	for n := range 200 {
		instances = append(instances, inst(fmt.Sprintf("i-%d", n), fmt.Sprintf("uid-%d", n), fmt.Sprintf("m-%d", n)))
	}
	l := orphan.Listing{Cluster: "blue", Instances: instances}
	m := orphan.Sweep(now, orphan.Memory{}, l, machines, orphan.DefaultPolicy()).Memory
	for b.Loop() {
		if p := orphan.Sweep(later, m, l, machines, orphan.DefaultPolicy()); p.Doubt != "" {
			b.Fatal(p.Doubt)
		}
	}
}
