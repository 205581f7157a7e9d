package dialect

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/validation"
)

func TestMachineName(t *testing.T) {
	tests := map[string]struct {
		reason, set, want string
	}{
		"short":        {"the API server's way", "workers", "workers-x7k2p"},
		"just fits":    {"57 characters and the dash", strings.Repeat("a", 57), strings.Repeat("a", 57) + "-x7k2p"},
		"too long":     {"cut to 58 characters, the dash with it", strings.Repeat("a", 58), strings.Repeat("a", 58) + "x7k2p"},
		"cut at a dot": {"the result is a valid name all the same", strings.Repeat("a", 57) + ".b", strings.Repeat("a", 57) + ".x7k2p"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := MachineName(tc.set, "x7k2p")
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
			if errs := validation.NameIsDNSSubdomain(got, false); len(errs) > 0 || len(got) > 63 {
				t.Errorf("%q is no name: %v", got, errs)
			}
		})
	}
}
