package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/fleet"
)

// TestReportIsReadable: seconds are printed as they were rounded.
func TestReportIsReadable(t *testing.T) {
	var out strings.Builder
	if err := printReport(&out, 11*time.Second+204*time.Millisecond, []fleet.Machine{{Name: "a", Seconds: round(3472 * time.Millisecond)}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"seconds": 11.2,`, `"seconds": 3.47`} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("want %s in\n%s", want, out.String())
		}
	}
}
