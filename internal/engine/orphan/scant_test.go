package orphan

import (
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

func TestScant(t *testing.T) {
	listed := []provider.Instance{{ID: "i-1", ProviderID: "aws:///eu-1a/i-1"}, {ID: "VM-2", ProviderID: "azure:///x/VM-2"}}
	for _, tt := range []struct {
		reason string
		ids    []string
		want   string
	}{
		{"nobody else can tell", nil, ""},
		{"one other may have gone at the same time", []string{"aws:///eu-1a/i-9"}, ""},
		{"two may not", []string{"aws:///eu-1a/i-8", "aws:///eu-1a/i-9"}, "it shows 0 of the 2 instances that other machines have recorded"},
		{"half of them is enough", []string{"aws:///eu-1a/i-1", "aws:///eu-1a/i-9"}, ""},
		{"in whatever spelling", []string{"aws:///EU-1/I-1", "azure:///y/vm-2", "a/i-7", "a/i-8"}, ""},
		{"less is not", []string{"aws:///eu-1a/i-1", "a/i-7", "a/i-8"}, "it shows 1 of the 3 instances that other machines have recorded"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			if got := Scant(tt.ids, listed); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}
