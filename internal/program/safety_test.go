package program

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/engine/limits"
)

func TestSafetyFlags(t *testing.T) {
	for _, c := range []struct {
		reason, args string
		want         machineset.Options
		err          string
	}{
		{reason: "the defaults of the original", want: machineset.Options{Margins: &limits.Margins{Up: 2, Down: 1}, FreezePeriod: time.Minute}},
		{
			reason: "all set", args: "--safety-up=5 --safety-down=3 --machine-safety-overshooting-period=10s",
			want: machineset.Options{Margins: &limits.Margins{Up: 5, Down: 3}, FreezePeriod: 10 * time.Second},
		},
		{
			reason: "zero is a margin", args: "--safety-up=0 --safety-down=0 --machine-safety-overshooting-period=0",
			want: machineset.Options{Margins: &limits.Margins{}},
		},
		{reason: "below zero", args: "--safety-up=-1", err: "--safety-up: must not be negative, is -1"},
		{reason: "below zero", args: "--safety-down=-1", err: "--safety-down: must not be negative, is -1"},
		{reason: "back in time", args: "--machine-safety-overshooting-period=-1s", err: "--machine-safety-overshooting-period: must not be negative, is -1s"},
	} {
		var s safety
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		s.addFlags(fs)
		if err := fs.Parse(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		if err := s.check(); c.err != "" || err != nil {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %q: got %v, want %q", c.reason, c.args, err, c.err)
			}
			continue
		}
		var got machineset.Options
		s.apply(&got)
		if *got.Margins != *c.want.Margins || got.FreezePeriod != c.want.FreezePeriod {
			t.Errorf("%s: %q: got %+v every %s", c.reason, c.args, *got.Margins, got.FreezePeriod)
		}
	}
}
