package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/plugin"
)

// TestReportIsReadable: seconds are printed as they were rounded.
func TestReportIsReadable(t *testing.T) {
	var out strings.Builder
	u := &up{print: plugin.NewOutput().As("json")}
	started := time.Now().Add(-11*time.Second - 200*time.Millisecond)
	if err := u.report(&out, nil, started, []fleet.Machine{{Name: "a", Seconds: round(3472 * time.Millisecond)}}, nil); err != nil {
		t.Fatal(err)
	}
	var dir strings.Builder
	u = &up{print: plugin.NewOutput().As("jsonpath={.dir} {.machines[0].name}"), where: where{dir: "/f"}}
	if err := u.report(&dir, nil, started, []fleet.Machine{{Name: "a"}}, nil); err != nil || dir.String() != "/f a" {
		t.Errorf("%v: %q, want what the path names", err, dir.String())
	}
	for _, want := range []string{`"seconds": 11.2`, `"seconds": 3.47` + "\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %s in\n%s", want, out.String())
		}
	}
}
