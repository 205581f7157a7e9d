package orphan_test

import (
	"slices"
	"testing"

	"github.com/millwright-dev/millwright/internal/engine/orphan"
)

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
