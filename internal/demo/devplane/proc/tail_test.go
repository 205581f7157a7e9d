package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTailShowsTheCause: the cause is shown although a stack and further lines of the program follow it.
func TestTailShowsTheCause(t *testing.T) {
	const cause = `{"level":"panic","msg":"failed to create WAL: no space left on device"}`
	chatter := strings.Repeat("{\"level\":\"info\"}\n", 40)
	stack := "goroutine 1 [running]:\n" + strings.Repeat("main.main()\n", 40)
	for name, text := range map[string]string{
		"a stack follows": cause + "\n" + stack,
		"chatter follows": cause + "\n" + chatter,
		"both follow":     chatter + cause + "\n" + chatter + stack,
	} {
		path := filepath.Join(t.TempDir(), "etcd.log")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := Tail(path)
		if !strings.Contains(got, "no space left") || strings.Contains(got, "main.main") || strings.Count(got, "\n") > 20 {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := Tail(filepath.Join(t.TempDir(), "none")); got != "" {
		t.Errorf("of no log: %q", got)
	}
}
