package cli

import (
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/demo/bench"
	"github.com/millwright-dev/millwright/internal/plugin"
)

func TestBenchOfClouds(t *testing.T) {
	for _, tc := range []struct {
		reason, provider string
		limits           map[string]string
		want             []bench.CloudLimit
		fails            string
	}{
		{"a cloud as it is", "gcp", nil, nil, ""},
		{"limits, in the order of their names", "aws", map[string]string{"RunInstances": "2/5", "*": "0.5/1"}, []bench.CloudLimit{{PerSecond: 0.5, Burst: 1}, {Operation: "RunInstances", PerSecond: 2, Burst: 5}}, ""},
		{"no simulated cloud", "kubemark", nil, nil, "--provider: must be one of alicloud"},
		{"a limit of nothing", "", map[string]string{"*": "2/5"}, nil, "--limit"},
		{"half a limit", "aws", map[string]string{"RunInstances": "2"}, nil, "--limit RunInstances"},
		{"one that accepts no request", "aws", map[string]string{"RunInstances": "2/0"}, nil, "such as 2/5"},
		{"one that never ends", "aws", map[string]string{"RunInstances": "NaN/5"}, nil, "such as 2/5"},
	} {
		b := &benchmark{print: plugin.NewOutput(), backend: "kwok", limits: tc.limits, options: bench.Options{Provider: tc.provider, Machines: []int{1}}}
		err := b.complete()
		switch {
		case tc.fails == "" && err != nil, tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)):
			t.Errorf("%s: %v, want %q", tc.reason, err, tc.fails)
		case tc.fails == "" && len(b.options.CloudLimits) != len(tc.want):
			t.Errorf("%s: %v, want %v", tc.reason, b.options.CloudLimits, tc.want)
		}
		for n, l := range b.options.CloudLimits {
			if tc.fails == "" && l != tc.want[n] {
				t.Errorf("%s: %v, want %v", tc.reason, l, tc.want[n])
			}
		}
	}
}
