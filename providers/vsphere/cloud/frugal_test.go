package cloud

import (
	"fmt"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

func faultOfKind(k provider.Kind) providertest.Fault { return providertest.Fault{Kind: k} }

// calls returns the requests since the given counts.
func (s *stage) calls(before map[string]int) (writes, reads int, by map[string]int) {
	by = map[string]int{}
	for operation, n := range s.server.Counts() {
		if n -= before[operation]; n > 0 {
			by[operation] = n
		}
	}
	seen := map[string]bool{}
	for _, q := range s.server.Requests() {
		seen[q.Operation] = seen[q.Operation] || q.Writes
	}
	for operation, n := range by {
		if seen[operation] {
			writes += n
		} else {
			reads += n
		}
	}
	return writes, reads, by
}

// Twenty machines: each needs a clone, power, a note that it has started, and the tags, and at the end
// power off and the removal. Afterwards nothing is written.
func TestCalls(t *testing.T) {
	const n, attributes = 20, 2
	for api, marks := range map[string]int{provider.OpenShift: 1, provider.Gardener: attributes} {
		s := newStage(t, vcenter.Options{})
		of := s.open(t, s.class(api, "c"))
		before := s.server.Counts()
		for k := range n {
			s.make(t, of, machineRef(fmt.Sprint("m", k)))
		}
		writes, reads, by := s.calls(before)
		if most := n*(3+marks) + attributes; writes > most {
			t.Errorf("%s: %d changes to make %d machines, want %d: %v", api, writes, n, most, by)
		}
		t.Logf("%s: to make a machine takes %.1f changes and %.1f reads", api, float64(writes)/n, float64(reads)/n)

		before = s.server.Counts()
		listed := 0
		for _, err := range of.List(t.Context()) {
			if listed++; err != nil {
				t.Fatal(err)
			}
		}
		writes, reads, by = s.calls(before)
		if pages := (n+6)/pageSize + 8; writes > 0 || reads > pages || listed != n {
			t.Errorf("%s: at rest a listing of %d takes %d changes and %d reads, want up to %d: %v", api, listed, writes, reads, pages, by)
		}

		before = s.server.Counts()
		for k := range n {
			s.gone(t, of, machineRef(fmt.Sprint("m", k)))
		}
		if writes, _, by = s.calls(before); writes > 2*n {
			t.Errorf("%s: %d changes to remove %d machines: %v", api, writes, n, by)
		}
		s.clock.Advance(time.Second)
	}
}
