package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// TestSpreadOverZones: three machines that a set creates together are in three zones. If there are more, the numbers in the
// zones differ by at most one. A replacement is in the zone of its predecessor.
func TestSpreadOverZones(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		const name = "spread"
		kubectl(t, f, manifest(t, "spread-"+d.name+".yaml", name), "apply", "-f", "-")
		d.spread(t, f, name, 1, 1, 1)
		kubectl(t, f, "", "-n", d.namespace, "scale", d.sets(), name, "--replicas=7")
		before := d.spread(t, f, name, 2, 2, 3)

		one := slices.Sorted(maps.Keys(before))[0]
		kubectl(t, f, "", "-n", d.namespace, "delete", d.machines(), one)
		after := d.spread(t, f, name, 2, 2, 3)
		if fewer, more := count(before), count(after); before[one] != "" && fewer[before[one]] == 2 && more[before[one]] != 2 {
			t.Errorf("%s was in %s; before %v, after %v", one, before[one], fewer, more)
		}
		kubectl(t, f, "", "-n", d.namespace, "delete", d.sets(), name, "--wait=false")
	})
}

// spread waits until the machines of the set are in three zones, with the given number in each, and returns their zones.
func (d dialect) spread(t *testing.T, f *fleet.Fleet, set string, want ...int) (zones map[string]string) {
	t.Helper()
	eventually(t, fmt.Sprintf("machines of %s %v by zone", set, want), func(context.Context) (string, error) {
		out := kubectl(t, f, "", "-n", d.namespace, "get", d.machines(), "-l", "pool="+set, "-o",
			`jsonpath={range .items[*]}{.metadata.name}{"\t"}{.metadata.deletionTimestamp}{"\t"}{.metadata.annotations.millwright\.dev/origin}{"\n"}{end}`)
		zones = map[string]string{}
		for line := range strings.Lines(strings.TrimRight(out, "\n")) {
			fields := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
			var origin struct{ ChosenZone string }
			if err := json.Unmarshal([]byte(fields[2]), &origin); err != nil {
				return "", fmt.Errorf("the origin of %s: %w", fields[0], err)
			}
			if fields[1] != "" || origin.ChosenZone == "" {
				return fields[0] + " leaves, or has no zone yet", nil
			}
			zones[fields[0]] = origin.ChosenZone
		}
		if got := slices.Sorted(maps.Values(count(zones))); !slices.Equal(got, want) {
			if len(zones) == want[0]+want[1]+want[2] {
				t.Fatalf("%d machines are spread as %v, and stay where they are", len(zones), count(zones))
			}
			return fmt.Sprint(count(zones)), nil
		}
		return "", nil
	})
	return zones
}

func count(zones map[string]string) map[string]int {
	out := map[string]int{}
	for _, zone := range zones {
		out[zone]++
	}
	return out
}
