package serve

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/internal/engine/orphan"
)

func TestOrphanFlags(t *testing.T) {
	tests := map[string]struct {
		reason string
		args   []string
		want   func(*orphan.Policy)
		err    string
	}{
		"none":            {"the defaults", nil, func(*orphan.Policy) {}, ""},
		"period":          {"the original's name of the flag", []string{"--machine-safety-orphan-vms-period=30m"}, func(p *orphan.Policy) { p.Period = 30 * time.Minute }, ""},
		"never":           {"a period of 0 disables the collector", []string{"--machine-safety-orphan-vms-period=0"}, func(p *orphan.Policy) { p.Period = 0 }, ""},
		"grace":           {"a grace period of 0 is valid", []string{"--orphan-grace-period=0"}, func(p *orphan.Policy) { p.Grace = 0 }, ""},
		"report only":     {"the collector deletes no instance", []string{"--orphan-report-only"}, func(p *orphan.Policy) { p.ReportOnly = true }, ""},
		"cap":             {"instances per hour", []string{"--orphan-max-per-hour=3"}, func(p *orphan.Policy) { p.PerHour = 3 }, ""},
		"share":           {"a share of all instances", []string{"--orphan-max-share=35%"}, func(p *orphan.Policy) { p.Limit.Percent = 35 }, ""},
		"share of what":   {"a share must have a percent sign", []string{"--orphan-max-share=35"}, nil, "--orphan-max-share: "},
		"more than all":   {"a share must not exceed 100%", []string{"--orphan-max-share=101%"}, nil, "--orphan-max-share: "},
		"negative period": {"a period must not be negative", []string{"--machine-safety-orphan-vms-period=-1m"}, nil, "--machine-safety-orphan-vms-period: "},
		"negative grace":  {"a grace period must not be negative", []string{"--orphan-grace-period=-1m"}, nil, "--orphan-grace-period: "},
		"negative cap":    {"a number of instances must not be negative", []string{"--orphan-max-per-hour=-1"}, nil, "--orphan-max-per-hour: "},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var m machineFlags
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			m.add(fs)
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			got, err := m.orphans.complete()
			if (err != nil) != (tc.err != "") || err != nil && !strings.HasPrefix(err.Error(), tc.err) {
				t.Fatalf("%s: error %v, want %q", tc.reason, err, tc.err)
			}
			if tc.want == nil {
				return
			}
			want := orphan.DefaultPolicy()
			if tc.want(&want); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: policy %+v, want %+v", tc.reason, got, want)
			}
		})
	}
}
