package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// TestReportIsReadable: seconds are printed as they were rounded.
func TestReportIsReadable(t *testing.T) {
	var out strings.Builder
	u := &up{output: "json"}
	started := time.Now().Add(-11*time.Second - 200*time.Millisecond)
	if err := u.report(&out, nil, started, []fleet.Machine{{Name: "a", Seconds: round(3472 * time.Millisecond)}}, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"seconds": 11.2`, `"seconds": 3.47` + "\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %s in\n%s", want, out.String())
		}
	}
}
