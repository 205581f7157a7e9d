package machinehealthcheck

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// tracer notes the calls that it gets.
type tracer []string

func (r *tracer) Did(uid, name string, _ time.Time, _ error, about ...any) {
	*r = append(*r, fmt.Sprint(uid, " ", name, " ", about))
}

// TestTraced: the trace of a machine says that a health check deleted it, once it did.
func TestTraced(t *testing.T) {
	w := newWorld(t, append(pairs("a", "b", "c"), checkOf())...)
	var told tracer
	w.r.Tracer = &told
	w.pass()
	w.turns("a", "Unknown")
	w.pass()
	if told != nil {
		t.Errorf("told %q before its time", told)
	}
	w.step(5*time.Minute + time.Second)
	w.pass()
	w.pass()
	want := []string{"a MachineHealthCheck deletes [machine openshift-machine-api/a healthCheck openshift-machine-api/check node node-a]"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
