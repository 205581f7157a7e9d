package sim

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain has garbage collected seldom, as cmd/sim has: worlds are small and short-lived, and a third of the time
// went into collecting them.
func TestMain(m *testing.M) {
	debug.SetGCPercent(2000)
	os.Exit(m.Run())
}
