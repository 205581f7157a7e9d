package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/proc"
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

// TestReportNamesPrograms: scripts find the API server and metrics in the document, and see who has ended, also where the start failed.
func TestReportNamesPrograms(t *testing.T) {
	self, err := proc.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet.Fleet{Plane: &devplane.ControlPlane{Server: "https://s", KubeconfigPath: "/k"}, Controllers: []*fleet.Controller{
		{Program: "sets", ID: self, Log: "/l", Metrics: "127.0.0.1:1"}, {Program: "ended", Log: "/m", Metrics: "127.0.0.1:2"},
	}}
	var out strings.Builder
	u := &up{print: plugin.NewOutput().As("json")}
	if err := u.report(&out, f, time.Now(), nil, &lateError{what: "it ended", reasons: []string{"why"}}); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	want := []program{
		{Program: "sets", PID: os.Getpid(), Running: true, Metrics: "http://127.0.0.1:1/metrics", Log: "/l"}, {Program: "ended", Log: "/m"},
	}
	if diff := cmp.Diff(want, got.Controllers); diff != "" {
		t.Errorf("controllers (-want +got):\n%s", diff)
	}
	if got.Server != "https://s" || got.Kubeconfig != "/k" || got.Error != "it ended" || len(got.Reasons) != 1 || got.Machines == nil {
		t.Errorf("%+v", got)
	}
}
