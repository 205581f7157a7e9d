package dialect_test

import (
	"fmt"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

// TestMemoryFits: what a check remembers while as many machines are remedied as may be fits into an object's annotations, which have room for
// 256 KiB together, and numbers are read as they were written.
func TestMemoryFits(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	m := health.Memory{Counted: []health.Counted{{At: now, Count: 700}, {At: now.Add(5 * time.Minute), Count: 1}}}
	for i := range health.MaxUnderWay + health.MaxFree {
		m.Past = append(m.Past, health.Past{
			Machine: uuid.NewUUID(), Name: fmt.Sprintf("a-pool-with-a-long-name-of-a-large-cluster-z1-%05d", i), Owner: uuid.NewUUID(), At: now, After: now,
			Again: 3, By: uuid.NewUUID(), Settled: true, Free: true,
		})
	}
	c := &machinev1.MachineHealthCheck{}
	dialect.WriteMemory(c, m)
	if n := len(c.Annotations[dialect.RemediationsAnnotation]); n > 240<<10 {
		t.Errorf("the memory takes %d bytes", n)
	}
	if got := dialect.ReadMemory(c); !got.Equal(m) {
		t.Errorf("read %+v", got.Counted)
	}
}
