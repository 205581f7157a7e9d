package choice_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/choice"
	"github.com/millwright-dev/millwright/provider"
)

// listed returns choices from words "name zone"; "=" before a name says that it is equal to the one before.
func listed(words ...string) (out []provider.Choice) {
	for _, w := range words {
		var c provider.Choice
		if w[0] == '=' {
			c.Equal, w = true, w[1:]
		}
		c.Name, c.Type, c.Zone = w, w[:1], w[1:]
		out = append(out, c)
	}
	return out
}

func TestSpread(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		choices []provider.Choice
		zones   map[string]int
		want    string
	}{
		"none":               {"a spec names none", nil, map[string]int{"a": 1}, "[]"},
		"nobody there":       {"they stay as they are listed", listed("xa", "=xb", "=xc"), nil, "[xa xb xc]"},
		"one there":          {"it comes last", listed("xa", "=xb", "=xc"), map[string]int{"a": 1}, "[xb xc xa]"},
		"fewest first":       {"by how many there are", listed("xa", "=xb", "=xc"), map[string]int{"a": 3, "b": 1, "c": 2}, "[xb xc xa]"},
		"zones of others":    {"the spec does not have them any more", listed("xa", "=xb"), map[string]int{"d": 9}, "[xa xb]"},
		"ranked":             {"best first is a promise", listed("xa", "xb", "xc"), map[string]int{"a": 9}, "[xa xb xc]"},
		"types within zones": {"a better type in a crowded zone comes before a worse one", listed("xa", "=xb", "ya", "=yb"), map[string]int{"a": 1}, "[xb xa yb ya]"},
		"a fallback":         {"it stays behind the equal ones, however few it has", listed("xa", "=xb", "yc"), map[string]int{"a": 2, "b": 1}, "[xb xa yc]"},
		"one zone":           {"equal types in one zone stay as they are listed", listed("xa", "=ya", "=xb"), map[string]int{"b": 1}, "[xa ya xb]"},
		"equal to nothing":   {"the first one is equal to none", listed("=xa", "xb"), map[string]int{"a": 1}, "[xa xb]"},
	} {
		t.Run(name, func(t *testing.T) {
			before := fmt.Sprint(tc.choices)
			if got := fmt.Sprint(names(choice.Spread(tc.choices, tc.zones))); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
			if fmt.Sprint(tc.choices) != before {
				t.Errorf("what is listed is changed in place: %+v", tc.choices)
			}
		})
	}
}

func names(choices []provider.Choice) []string {
	out := []string{}
	for _, c := range choices {
		out = append(out, c.Name)
	}
	return out
}

func TestSpreads(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		choices []provider.Choice
		want    bool
	}{
		{"there is nothing to spread over", nil, false},
		{"one alone is equal to none", listed("=xa"), false},
		{"all are ranked", listed("xa", "xb"), false},
		{"the last two are equal", listed("xa", "xb", "=xc"), true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if got := choice.Spreads(tc.choices); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}

func TestZones(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		siblings []choice.Sibling
		want     map[string]int
	}{
		"nobody":       {"it is the first", nil, map[string]int{}},
		"two in one":   {"each counts", []choice.Sibling{{UID: "1", Zone: "a"}, {UID: "2", Zone: "a"}}, map[string]int{"a": 2}},
		"unknown":      {"nothing was asked for yet, or it says nothing", []choice.Sibling{{UID: "1"}}, map[string]int{}},
		"leaves":       {"what replaces it may take its zone", []choice.Sibling{{UID: "1", Zone: "a", Leaves: true}}, map[string]int{}},
		"told twice":   {"it is one machine", []choice.Sibling{{UID: "1", Zone: "a"}, {UID: "1", Zone: "a"}}, map[string]int{"a": 1}},
		"told late":    {"it is where the first says, who gave it out", []choice.Sibling{{UID: "1", Zone: "b"}, {UID: "1", Zone: "a"}}, map[string]int{"b": 1}},
		"known by one": {"the other does not know yet", []choice.Sibling{{UID: "1"}, {UID: "1", Zone: "a"}}, map[string]int{"a": 1}},
		"leaves by one": {
			"what is remembered does not say that it leaves",
			[]choice.Sibling{{UID: "1", Zone: "a"}, {UID: "1", Leaves: true}},
			map[string]int{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := choice.Zones(tc.siblings); fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestEven: machines that are placed one after the other, without failures or deletions, are spread evenly
// over equal zones, give or take one, for any order of the zones in each machine's spec. When a zone is
// exhausted, the others stay even, and once it has capacity again it is filled up first.
func TestEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zones := rapid.SliceOfNDistinct(rapid.StringMatching("[a-z]"), 2, 6, rapid.ID).Draw(t, "zones")
		shut := rapid.SampledFrom(append([]string{""}, zones...)).Draw(t, "exhausted")
		var siblings []choice.Sibling
		add := func(known choice.Shortages) {
			var choices []provider.Choice
			for n, z := range rapid.Permutation(zones).Draw(t, "as listed") {
				choices = append(choices, provider.Choice{Name: z, Zone: z, Equal: n > 0})
			}
			picked, _ := choice.Pick(start, known, choice.Spread(choices, choice.Zones(siblings)))
			if picked.Err != nil {
				t.Fatal(picked.Err)
			}
			siblings = append(siblings, choice.Sibling{UID: fmt.Sprint(len(siblings)), Zone: picked.Choice.Zone})
		}
		short := choice.Shortages{}
		open := slices.Clone(zones)
		if shut != "" {
			short = known(answer{0, provider.Choice{Name: shut, Zone: shut}, full(provider.ScopeZone)})
			open = slices.DeleteFunc(open, func(z string) bool { return z == shut })
		}
		for range rapid.IntRange(1, 20).Draw(t, "machines") {
			add(short)
			level(t, choice.Zones(siblings), open)
		}
		if n := choice.Zones(siblings)[shut]; shut != "" && n > 0 {
			t.Fatalf("%d machines in %s, which is exhausted", n, shut)
		}
		for range len(siblings) {
			add(choice.Shortages{})
		}
		level(t, choice.Zones(siblings), zones)
	})
}

// level fails if a zone has two more machines than another.
func level(t *rapid.T, count map[string]int, zones []string) {
	t.Helper()
	least, most := count[zones[0]], count[zones[0]]
	for _, z := range zones {
		least, most = min(least, count[z]), max(most, count[z])
	}
	if most-least > 1 {
		t.Fatalf("in zones %v there are %v", zones, count)
	}
}

// TestRankedStay: choices that are not marked as equal are requested in their listed order, and a worse one
// never precedes a better one, for any placement of siblings.
func TestRankedStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"a", "b", "c"})
		var choices []provider.Choice
		rank, ranks := 0, map[string]int{}
		for n := range rapid.IntRange(0, 8).Draw(t, "choices") {
			c := provider.Choice{Name: fmt.Sprint(n), Zone: zone.Draw(t, "zone"), Equal: rapid.IntRange(0, 2).Draw(t, "equal") == 0}
			if !c.Equal {
				rank++
			}
			ranks[c.Name] = rank
			choices = append(choices, c)
		}
		count := rapid.MapOf(zone, rapid.IntRange(0, 5)).Draw(t, "machines")
		got := choice.Spread(choices, count)
		if !choice.Spreads(choices) && !slices.Equal(got, choices) {
			t.Fatalf("%v became %v", names(choices), names(got))
		}
		for n := 1; n < len(got); n++ {
			a, b := got[n-1], got[n]
			switch {
			case ranks[a.Name] > ranks[b.Name]:
				t.Fatalf("%s is worse, and comes before %s: %v", a.Name, b.Name, names(got))
			case ranks[a.Name] == ranks[b.Name] && count[a.Zone] > count[b.Zone]:
				t.Fatalf("%s is more crowded, and comes before %s: %v, %v", a.Name, b.Name, names(got), count)
			}
		}
		if len(got) != len(choices) {
			t.Fatalf("%v became %v", names(choices), names(got))
		}
	})
}

// TestRotate: each machine always begins with the same choice, and unequal choices keep their order.
func TestRotate(t *testing.T) {
	listed := []provider.Choice{
		{Name: "best"}, {Name: "a", Zone: "a"}, {Name: "b", Zone: "b", Equal: true}, {Name: "c", Zone: "c", Equal: true}, {Name: "last"},
	}
	firsts := map[string]int{}
	for n := range 300 {
		uid := fmt.Sprint("uid-", n)
		all := choice.Rotate(listed, uid)
		if again := choice.Rotate(listed, uid); !slices.Equal(all, again) {
			t.Fatalf("%v, and then %v", names(all), names(again))
		}
		if all[0].Name != "best" || all[4].Name != "last" || all[1].Equal || !all[2].Equal || !all[3].Equal || all[4].Equal {
			t.Fatalf("choices %+v", all)
		}
		firsts[all[1].Name]++
	}
	for _, name := range []string{"a", "b", "c"} {
		if n := firsts[name]; n < 60 || n > 140 {
			t.Errorf("%s is first %d times of 300", name, n)
		}
	}
	if all := choice.Rotate(listed, ""); !slices.Equal(all, listed) {
		t.Errorf("of no machine: %+v", all)
	}
}
