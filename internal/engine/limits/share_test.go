package limits_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/engine/limits"
)

func TestLimit(t *testing.T) {
	tests := map[string]struct {
		reason                  string
		limit                   limits.Limit
		total, doomed, approved int
		refused                 bool
	}{
		"a fifth":                  {"6 of 30 is the share itself", limits.DefaultLimit, 30, 6, 0, false},
		"more than a fifth":        {"7 of 30 is more", limits.DefaultLimit, 30, 7, 0, true},
		"rounded down":             {"a fifth of 9 is 1", limits.DefaultLimit, 9, 2, 0, true},
		"one of three":             {"one may always go", limits.DefaultLimit, 3, 1, 0, false},
		"one of one":               {"one may always go", limits.DefaultLimit, 1, 1, 0, false},
		"all":                      {"nobody wants that", limits.DefaultLimit, 100, 100, 0, true},
		"none of none":             {"there is nothing to refuse", limits.DefaultLimit, 0, 0, 0, false},
		"approved":                 {"somebody has counted", limits.DefaultLimit, 30, 12, 12, false},
		"more than approved":       {"12 is not 13", limits.DefaultLimit, 30, 13, 12, true},
		"fewer approved than free": {"an approval does not forbid", limits.DefaultLimit, 30, 6, 2, false},
		"asked for by a user":      {"30 % of 10", limits.Limit{Percent: 30, Min: 1}, 10, 4, 0, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := tc.limit.Refuse(tc.total, tc.doomed, tc.approved, "example/approve")
			if (got != "") != tc.refused {
				t.Errorf("%s: %d of %d, %d approved: %q", tc.reason, tc.doomed, tc.total, tc.approved, got)
			}
			if tc.refused && !strings.Contains(got, `annotation example/approve: "`+strconv.Itoa(tc.doomed)+`"`) {
				t.Errorf("the refusal does not say how to approve: %q", got)
			}
		})
	}
}

// The number in a refusal is the number that may be removed, including approvals.
func TestRefusalSaysHowManyMayGo(t *testing.T) {
	for approved, want := range map[int]string{0: "at most 1 may be", 1: "at most 1 may be", 2: "at most 2 may be"} {
		if got := (limits.Limit{Percent: 30, Min: 1}).Refuse(4, 3, approved, "example/approve"); !strings.HasPrefix(got, "3 of 4 would be removed, and "+want) {
			t.Errorf("%d approved: %q", approved, got)
		}
	}
}

func TestParseLimit(t *testing.T) {
	for text, percent := range map[string]int{"1%": 1, "30%": 30, "100%": 100, "0%": 0, "101%": 0, "-5%": 0, "30": 0, "": 0, "%": 0, "a third": 0} {
		t.Run(text, func(t *testing.T) {
			l, err := limits.ParseLimit(text)
			if (err == nil) != (percent > 0) || l.Percent != percent {
				t.Errorf("%q: %+v, %v", text, l, err)
			}
		})
	}
}
