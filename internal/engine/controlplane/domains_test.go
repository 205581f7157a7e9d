package controlplane

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// placed parses machines: "m-0=a m-1=b! m-2=c" with ! for those under deletion, created in this order.
func placed(text string) (out []Placed) {
	for i, word := range strings.Fields(text) {
		name, domain, _ := strings.Cut(word, "=")
		domain, deleting := strings.CutSuffix(domain, "!")
		out = append(out, Placed{Name: name, Domain: domain, Deleting: deleting, Created: start.Add(time.Duration(i) * time.Minute)})
	}
	return out
}

func spreadText(m map[int32]string) string {
	var out []string
	for _, index := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%d=%s", index, m[index]))
	}
	return strings.Join(out, " ")
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		about, domains, machines string
		replicas                 int32
		want                     string
	}{
		{"no machines", "c b a", "", 3, "0=a 1=b 2=c"},
		{"no machines, 5 replicas", "a b c", "", 5, "0=a 1=b 2=c 3=a 4=b"},
		{"as they are", "a b c", "m-0=c m-1=a m-2=b", 3, "0=c 1=a 2=b"},
		{"repeated failure domains count once", "a a b", "", 3, "0=a 1=b 2=a"},
		{"a new failure domain moves none that is not in excess", "a b c d", "m-0=a m-1=b m-2=c", 3, "0=a 1=b 2=c"},
		{"of two in one, one moves", "a b c", "m-0=a m-1=a m-2=b", 3, "0=a 1=c 2=b"},
		{"OCPBUGS-7921: no move to an earlier failure domain without need", "a b c d", "m-0=d m-1=b m-2=c", 3, "0=d 1=b 2=c"},
		{"one is removed: its index moves", "a c", "m-0=a m-1=b m-2=c", 3, "0=a 1=a 2=c"},
		{"aabbc and abbcc are balanced", "a b c", "m-0=a m-1=b m-2=b m-3=c m-4=c", 5, "0=a 1=b 2=b 3=c 4=c"},
		{"other indexes", "a b c", "m-3=a m-4=b m-5=c", 3, "3=a 4=b 5=c"},
		{"one index is missing", "a b c", "m-0=a m-2=c", 3, "0=a 1=b 2=c"},
		{"lowest missing indexes", "a b c", "m-3=b", 3, "0=a 1=c 3=b"},
		{"of one index the newer machine counts, although its failure domain is later", "a b c d", "m-0=a m-1=b m-2=c n-1=d", 3, "0=a 1=d 2=c"},
		{"of one index the newer machine counts", "a b c", "m-0=a m-1=a m-2=b n-1=c", 3, "0=a 1=c 2=b"},
		{"machines under deletion keep theirs after the others", "a b", "m-0=a! m-1=a m-2=a", 3, "0=b 1=a 2=a"},
		{"names without a number do not count", "a b c", "x=c y=b z=a", 3, "0=a 1=b 2=c"},
		{"without failure domains", "", "m-0=a", 3, ""},
	} {
		machines := placed(c.machines)
		if got := spreadText(Spread(c.replicas, strings.Fields(c.domains), machines)); got != c.want {
			t.Errorf("%s: %s, want %s", c.about, got, c.want)
		}
	}
}

func TestAssign(t *testing.T) {
	for _, c := range []struct {
		about, domains, machines, want string
	}{
		{"by number", "a b c", "m-0=c m-7=a", "m-0=0 m-7=7"},
		{"by failure domain", "a b c", "x=c y=a z=b", "x=2 y=0 z=1"},
		{"K6: several in one failure domain", "a", "x=a y=a z=a", "x=0 y=1 z=2"},
		{"an old machine beside its replacement", "a b c", "x=a y=b z=c n-0=a", "n-0=0 x=0 y=1 z=2"},
		{"in no failure domain of the set", "a b c", "x=d m-1=b", "m-1=1"},
		{"without failure domains, any index", "", "x= y= m-1=", "m-1=1 x=0 y=2"},
	} {
		machines := placed(c.machines)
		spread := Spread(3, strings.Fields(c.domains), machines)
		for range 2 {
			got := Assign(3, machines, spread)
			var out []string
			for _, name := range slices.Sorted(maps.Keys(got)) {
				out = append(out, fmt.Sprintf("%s=%d", name, got[name]))
			}
			if text := strings.Join(out, " "); text != c.want {
				t.Errorf("%s: %s, want %s", c.about, text, c.want)
			}
			slices.Reverse(machines)
		}
	}
}

// TestSpreadIsBalancedAndStable: no failure domain has more than its share, the order of the input has no effect, and once machines are where
// they should be, no index moves.
func TestSpreadIsBalancedAndStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		domains := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 5).Draw(t, "domains")
		replicas := rapid.SampledFrom([]int32{3, 5}).Draw(t, "replicas")
		var machines []Placed
		for i := range rapid.IntRange(0, 7).Draw(t, "machines") {
			machines = append(machines, Placed{
				Name: fmt.Sprintf("m%d-%d", i, rapid.IntRange(0, int(replicas)-1).Draw(t, "index")), Domain: rapid.SampledFrom([]string{"a", "b", "c", "x", ""}).Draw(t, "domain"),
				Created: start.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "created")) * time.Minute), Deleting: rapid.Bool().Draw(t, "deleting"),
			})
		}
		got := Spread(replicas, domains, machines)
		distinct := slices.Compact(slices.Sorted(slices.Values(domains)))
		most := (int(replicas) + len(distinct) - 1) / len(distinct)
		count := map[string]int{}
		for _, domain := range got {
			count[domain]++
			if !slices.Contains(domains, domain) || count[domain] > most {
				t.Fatalf("%v with %v: %s", domains, machines, spreadText(got))
			}
		}
		if len(got) != int(replicas) {
			t.Fatalf("%d indexes", len(got))
		}
		mixed := rapid.Permutation(machines).Draw(t, "other order")
		if again := Spread(replicas, rapid.Permutation(domains).Draw(t, "other domains"), mixed); !maps.Equal(got, again) {
			t.Fatalf("%s, in another order %s", spreadText(got), spreadText(again))
		}
		var moved []Placed
		for index, domain := range got {
			moved = append(moved, Placed{Name: fmt.Sprintf("n-%d", index), Domain: domain, Created: start})
		}
		if again := Spread(replicas, domains, moved); !maps.Equal(got, again) {
			t.Fatalf("%s, and then %s", spreadText(got), spreadText(again))
		}
	})
}
