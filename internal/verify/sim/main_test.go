package sim

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage seldom, as cmd/sim does: worlds are small and short-lived, and the garbage collection took a third
// of the time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(2000)
	os.Exit(m.Run())
}
