package bench

import (
	"encoding/json"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

// TestPools: machines are spread evenly over sets with different names.
func TestPools(t *testing.T) {
	for _, c := range []struct{ sets, machines int }{{0, 7}, {1, 7}, {3, 7}, {10, 10}, {4, 0}} {
		shape, err := shapeOf(provider.OpenShift, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		shape.Sets = c.sets
		sum, paths := 0, map[string]bool{}
		for _, p := range shape.sets(c.machines) {
			sum += p.machines
			paths[p.path] = true
			if even := c.machines / max(c.sets, 1); p.machines < even || p.machines > even+1 {
				t.Errorf("%v: %s has %d", c, p.path, p.machines)
			}
		}
		if sum != c.machines || len(paths) != max(c.sets, 1) {
			t.Errorf("%v: %d machines in %d sets", c, sum, len(paths))
		}
	}
}

func TestOfSets(t *testing.T) {
	if got := ofSets(json.RawMessage(`{"name":"bench"}`), []string{"a", "b"}); len(got) != 1 {
		t.Errorf("an object that names no set: %s", got)
	}
	got := ofSets(json.RawMessage(`{"name":"SET","selector":"SET-roll"}`), []string{"a", "b"})
	if len(got) != 2 || string(got[1]) != `{"name":"b","selector":"b-roll"}` {
		t.Errorf("one of each set: %s", got)
	}
}
