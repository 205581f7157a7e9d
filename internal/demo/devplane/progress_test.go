package devplane

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	// A build of 100 packages, one per second; a line that names no package follows each of them.
	cases := []struct {
		reason   string
		terminal bool
		updates  int
	}{
		{"a log gets a line every 15 s", false, 6},
		{"a terminal gets one line that changes with each package", true, 100},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			var out bytes.Buffer
			now := time.Now()
			report := &progress{out: &out, terminal: c.terminal, now: func() time.Time { return now }, began: now, told: now}
			for range 100 {
				now = now.Add(time.Second)
				report.compiled("k8s.io/api/core/v1", 100)
				report.compiled("# a message, not a package", 100)
			}
			if got := strings.Count(out.String(), "of 100 packages"); got != c.updates {
				t.Errorf("%d updates, want %d:\n%s", got, c.updates, &out)
			}
			if lines := strings.Count(out.String(), "\n"); c.terminal && lines != 0 {
				t.Errorf("%d lines on a terminal, want the one that changes", lines)
			}
			if report.packages != 100 {
				t.Errorf("counted %d packages", report.packages)
			}
		})
	}
}
