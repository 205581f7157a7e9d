package version

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/spf13/cobra"
)

func TestOf(t *testing.T) {
	built := func(settings ...debug.BuildSetting) *debug.BuildInfo { return &debug.BuildInfo{Settings: settings} }
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	with := ", " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	for _, c := range []struct {
		reason, release string
		info            *debug.BuildInfo
		want            string
	}{
		{"a release", "v1.2.3", built(revision), "v1.2.3 (0123456789ab" + with},
		{"a commit", "", built(revision), "devel (0123456789ab" + with},
		{"changes on top of one", "", built(revision, debug.BuildSetting{Key: "vcs.modified", Value: "true"}), "devel (0123456789ab+" + with},
		{"sources without their history", "", built(), "devel (no commit" + with},
		{"a program that says nothing", "", nil, "devel (no commit" + with},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := of(c.release, c.info); got != c.want {
				t.Errorf("%s: %q, want %q", c.reason, got, c.want)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		var out bytes.Buffer
		c := &cobra.Command{Use: "program", Run: func(*cobra.Command, []string) { t.Error("the program runs") }}
		AddTo(c)
		c.SetArgs(args)
		c.SetOut(&out)
		if err := c.Execute(); err != nil || !bytes.Contains(out.Bytes(), []byte(String())) {
			t.Errorf("%q: %q, %v", args, out.String(), err)
		}
	}
}
