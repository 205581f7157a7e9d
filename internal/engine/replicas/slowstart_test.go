package replicas

import (
	"errors"
	"slices"
	"testing"
)

func TestSlowStart(t *testing.T) {
	tests := map[string]struct {
		reason string
		n      int
		fails  []int
		made   int
		sizes  []int
	}{
		"none":           {"nothing to run", 0, nil, 0, nil},
		"seven":          {"1, 2 and 4", 7, nil, 7, []int{1, 2, 4}},
		"ten":            {"the last batch takes what is left", 10, nil, 10, []int{1, 2, 4, 3}},
		"first fails":    {"one failure instead of a thousand", 1000, []int{0}, 1, []int{1}},
		"third fails":    {"its batch is finished, the next not begun", 1000, []int{1}, 3, []int{1, 2}},
		"failure at end": {"reported", 3, []int{2}, 3, []int{1, 2}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var sizes, called []int
			run := func(n int, do func(int)) { sizes = append(sizes, n); Sequential(n, do) }
			made, err := SlowStart(tc.n, run, func(i int) error {
				called = append(called, i)
				if slices.Contains(tc.fails, i) {
					return errors.New("refused")
				}
				return nil
			})
			if made != tc.made || !slices.Equal(sizes, tc.sizes) || (err != nil) != (tc.fails != nil) {
				t.Errorf("%s: made %d in %v, error %v; want %d in %v", tc.reason, made, sizes, err, tc.made, tc.sizes)
			}
			for i, c := range called {
				if c != i {
					t.Errorf("call %d was number %d", i, c)
				}
			}
		})
	}
}
