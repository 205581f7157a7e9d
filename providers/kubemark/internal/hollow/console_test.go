package hollow

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

func TestConsole(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("line\n", n) }
	for _, c := range []struct {
		reason, log string
		limit       int
		want        string
	}{
		{"all of it", "a\nb\n", 100, "a\nb\n"},
		{"nothing was written", "", 100, ""},
		{"20 lines at most", "first\n" + lines(20), 1000, lines(20)},
		{"20 lines are 20", lines(20), 1000, lines(20)},
		{"the last line is not ended", "first\n" + lines(19) + "end", 1000, lines(19) + "end"},
		{"exactly as long as may be", "ab\ncd\n", 6, "ab\ncd\n"},
		{"one byte too long", "ab\ncd\n", 5, "cd\n"},
		{"a line that fits just", "ab\ncd\n", 3, "cd\n"},
		{"part of a line alone", "abcdef", 3, "def"},
		{"part of a line alone, ended", "abcdef\n", 3, "ef\n"},
		{"no room", "ab\n", 0, ""},
	} {
		b := &Body{Dir: t.TempDir()}
		if err := os.MkdirAll(filepath.Join(b.Dir, "i-1"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(b.Dir, "i-1", logFile), []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := b.Console(cloud.Record{ID: "i-1"}, c.limit)
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.reason, got, err, c.want)
		}
	}
}
