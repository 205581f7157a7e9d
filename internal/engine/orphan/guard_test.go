package orphan_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/engine/orphan"
)

func TestLimit(t *testing.T) {
	tests := map[string]struct {
		reason                  string
		limit                   orphan.Limit
		total, doomed, approved int
		refused                 bool
	}{
		"a fifth":                  {"6 of 30 is the share itself", orphan.DefaultLimit, 30, 6, 0, false},
		"more than a fifth":        {"7 of 30 is more", orphan.DefaultLimit, 30, 7, 0, true},
		"rounded down":             {"a fifth of 9 is 1", orphan.DefaultLimit, 9, 2, 0, true},
		"one of three":             {"one may always go", orphan.DefaultLimit, 3, 1, 0, false},
		"one of one":               {"one may always go", orphan.DefaultLimit, 1, 1, 0, false},
		"all":                      {"nobody wants that", orphan.DefaultLimit, 100, 100, 0, true},
		"none of none":             {"there is nothing to refuse", orphan.DefaultLimit, 0, 0, 0, false},
		"approved":                 {"somebody has counted", orphan.DefaultLimit, 30, 12, 12, false},
		"more than approved":       {"12 is not 13", orphan.DefaultLimit, 30, 13, 12, true},
		"fewer approved than free": {"an approval does not forbid", orphan.DefaultLimit, 30, 6, 2, false},
		"asked for by a user":      {"30 % of 10", orphan.Limit{Percent: 30, Min: 1}, 10, 4, 0, true},
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

// What a refusal says may go is what may go, approvals included.
func TestRefusalSaysHowManyMayGo(t *testing.T) {
	for approved, want := range map[int]string{0: "at most 1 may be", 1: "at most 1 may be", 2: "at most 2 may be"} {
		if got := (orphan.Limit{Percent: 30, Min: 1}).Refuse(4, 3, approved, "example/approve"); !strings.HasPrefix(got, "3 of 4 would be removed, and "+want) {
			t.Errorf("%d approved: %q", approved, got)
		}
	}
}

func TestParseLimit(t *testing.T) {
	for text, percent := range map[string]int{"1%": 1, "30%": 30, "100%": 100, "0%": 0, "101%": 0, "-5%": 0, "30": 0, "": 0, "%": 0, "a third": 0} {
		l, err := orphan.ParseLimit(text)
		if (err == nil) != (percent > 0) || l.Percent != percent {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
}

func TestParseApproval(t *testing.T) {
	for text, want := range map[string]int{"": 0, "0": 0, "12": 12, "-1": -1, "true": -1, "12 ": -1, "all": -1} {
		n, err := orphan.ParseApproval(map[string]string{"example/approve": text, "example/other": "99"}, "example/approve")
		if want < 0 && (err == nil || !strings.Contains(err.Error(), "example/approve")) || want >= 0 && (err != nil || n != want) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}

func TestParseOrphanApproval(t *testing.T) {
	tests := map[string]struct {
		reason, text string
		count        int
		named        []string
		bad          bool
	}{
		"none":       {"nothing is approved", "", 0, nil, false},
		"a number":   {"so many at once", "12", 12, nil, false},
		"an ID":      {"the very instance", "aws:///eu-1a/i-1", 0, []string{"aws:///eu-1a/i-1"}, false},
		"both":       {"as a list is written", "aws:///eu-1a/i-1, 3 ,azure:///x/VM-1,", 3, []string{"aws:///eu-1a/i-1", "azure:///x/VM-1"}, false},
		"a word":     {"neither number nor ID", "true", 0, nil, true},
		"one bad":    {"who mistypes one may have mistyped all", "12,i-1", 0, nil, true},
		"negative":   {"nothing is brought back", "-1", 0, nil, true},
		"everything": {"a wildcard is no name", "*", 0, nil, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			count, named, err := orphan.ParseOrphanApproval(map[string]string{orphan.ApproveAnnotation: tc.text})
			if count != tc.count || !slices.Equal(named, tc.named) || (err != nil) != tc.bad {
				t.Errorf("%s: %d, %q, %v", tc.reason, count, named, err)
			}
		})
	}
}
