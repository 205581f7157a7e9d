package digest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/internal/engine/digest"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/provider"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func ago(hours float64) time.Time { return noon.Add(-time.Duration(hours * float64(time.Hour))) }

func machine(name string) explain.Subject {
	return explain.Subject{API: provider.OpenShift, Kind: "Machine", Namespace: "blue", Name: name}
}

func living(name string, created float64, change ...func(*digest.Machine)) digest.Machine {
	m := digest.Machine{Subject: machine(name), UID: "uid-" + name, Owner: "MachineSet mill", Created: ago(created)}
	for _, c := range change {
		c(&m)
	}
	return m
}

func deleted(hours float64, because string) func(*digest.Machine) {
	return func(m *digest.Machine) { m.Deleted, m.Because = ago(hours), because }
}

func report(name string, hours float64, about digest.About, reason, message string) digest.Report {
	return digest.Report{Subject: machine(name), UID: "uid-" + name, About: about, Event: postmortem.Event{Reason: reason, Message: message, At: ago(hours), By: "machineset-controller"}}
}

func record(name string, hours float64, summary string) postmortem.Record {
	return postmortem.Record{
		API: provider.OpenShift, Namespace: "blue", Name: name, UID: "uid-" + name, Owner: "MachineSet/mill", Cause: postmortem.Unwell, Taken: ago(hours), Summary: summary,
		Moments: []postmortem.Moment{{What: postmortem.MomentCreated, At: ago(hours + 2)}},
	}
}

func of(change func(*digest.Facts)) digest.Digest {
	f := digest.Facts{From: ago(24), To: noon, Place: "namespace blue"}
	change(&f)
	return digest.Of(f)
}

// TestDeleted: which machines were deleted in the period, when, and who says why.
func TestDeleted(t *testing.T) {
	for _, c := range []struct {
		reason string
		facts  func(*digest.Facts)
		want   []string
	}{
		{"it exists, and is not in deletion", func(f *digest.Facts) { f.Machines = []digest.Machine{living("a", 1)} }, nil},
		{"in deletion, by a controller", func(f *digest.Facts) {
			f.Machines = []digest.Machine{living("a", 9, deleted(1, "node n was not ready."))}
		}, []string{"a -1h exists MachineSet mill: node n was not ready (machine)"}},
		{"in deletion, and nothing says why", func(f *digest.Facts) { f.Machines = []digest.Machine{living("a", 9, deleted(1, ""))} }, []string{"a -1h exists MachineSet mill:  ()"}},
		{"in deletion for longer", func(f *digest.Facts) { f.Machines = []digest.Machine{living("a", 99, deleted(25, "x"))} }, nil},
		{"deleted by a set", func(f *digest.Facts) {
			f.Reports = []digest.Report{report("a", 3, digest.Removed, "SuccessfulDelete", "Deleted machine: a (surplus)"), report("a", 2, digest.Ended, "Delete", "Deleted machine a")}
		}, []string{"a -2h: Deleted machine: a (surplus) (machineset-controller)"}},
		{"its set has requested the deletion, and it exists without: a reply was lost, or another has the name", func(f *digest.Facts) {
			f.Machines, f.Reports = []digest.Machine{living("a", 9)}, []digest.Report{report("a", 3, digest.Removed, "SuccessfulDelete", "Deleted machine: a (surplus)")}
		}, nil},
		{"evidence, after the event", func(f *digest.Facts) {
			f.Reports, f.Evidence = []digest.Report{report("a", 2, digest.Ended, "Delete", "Deleted machine a")}, []postmortem.Record{record("a", 3, "node n: Ready is Unknown")}
		}, []string{"a -2h MachineSet mill: node n: Ready is Unknown (evidence)"}},
		{"evidence of a machine that failed and stays", func(f *digest.Facts) {
			f.Machines, f.Evidence = []digest.Machine{living("a", 9)}, []postmortem.Record{record("a", 3, "it failed")}
		}, nil},
		{"evidence without a summary", func(f *digest.Facts) { f.Evidence = []postmortem.Record{record("a", 3, "")} }, []string{"a -3h MachineSet mill: " + string(postmortem.Unwell) + " (evidence)"}},
		{"before the period", func(f *digest.Facts) {
			f.Reports, f.Evidence = []digest.Report{report("a", 25, digest.Ended, "Delete", "")}, []postmortem.Record{record("b", 25, "x")}
		}, nil},
		{"a record of a healthy machine", func(f *digest.Facts) {
			f.Departures = []postmortem.Departure{{API: provider.OpenShift, Namespace: "blue", Name: "a", UID: "uid-a", Owner: "MachineSet/mill", Deleted: ago(2), Cause: "Manual", By: "jane"}, {Name: "b", UID: "uid-b", Deleted: ago(25)}}
		}, []string{"a -2h MachineSet mill: jane requested the deletion (jane)"}},
		{"a record of a machine that exists", func(f *digest.Facts) {
			f.Machines, f.Departures = []digest.Machine{living("a", 9)}, []postmortem.Departure{{Name: "a", UID: "uid-a", Requested: ago(2)}}
		}, nil},
		{"two machines of one name", func(f *digest.Facts) {
			again := report("a", 1, digest.Ended, "Delete", "")
			again.UID = "uid-second"
			f.Reports = []digest.Report{again, report("a", 5, digest.Ended, "Delete", "")}
		}, []string{"a -5h:  ()", "a -1h:  ()"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var got []string
			for _, d := range of(c.facts).Deleted {
				text := fmt.Sprintf("%s -%.0fh", d.Name, noon.Sub(d.At).Hours())
				if d.Exists {
					text += " exists"
				}
				if d.Owner != "" {
					text += " " + d.Owner
				}
				got = append(got, fmt.Sprintf("%s: %s (%s)", text, d.Why, d.By))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", c.reason, diff)
			}
		})
	}
}

// TestCreated: machines that exist and those that left evidence count once each, by their owners.
func TestCreated(t *testing.T) {
	got := of(func(f *digest.Facts) {
		f.Machines = []digest.Machine{living("b", 1), living("a", 2), living("old", 25), living("lone", 1, func(m *digest.Machine) { m.Owner = "" })}
		f.Evidence = []postmortem.Record{record("dead", 3, "x"), record("a", 1, "it failed")}
	}).Created
	want := []digest.Created{
		{API: provider.OpenShift, Namespace: "blue", Owner: "MachineSet mill", Machines: []string{"a", "b", "dead"}},
		{API: provider.OpenShift, Namespace: "blue", Machines: []string{"lone"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestGaps: the digest says from when on it has events.
func TestGaps(t *testing.T) {
	for _, c := range []struct {
		reason  string
		reports []digest.Report
		want    string
	}{
		{"events of the whole period", []digest.Report{report("a", 30, "", "x", "")}, ""},
		{"events of the last hour", []digest.Report{report("a", 1, "", "x", ""), report("a", 0.5, "", "x", "")}, "the events begin at 2026-01-02T11:00:00Z: an API server keeps events for a limited time, so that deletions before may be missing"},
		{"no events", nil, "there are no events: an API server keeps events for a limited time, so that deletions before may be missing"},
	} {
		if got := strings.Join(of(func(f *digest.Facts) { f.Reports = c.reports }).Gaps, ";"); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

// day is a day with everything in it, and hostile texts.
func day(f *digest.Facts) {
	for i := range 7 {
		f.Machines = append(f.Machines, living(fmt.Sprintf("mill-%d", i), 1))
	}
	f.Machines = append(f.Machines, living("mill-x", 30, deleted(2, "node n-1 was not ready for more than 5m0s")), living("mill-y", 30, deleted(1, "")))
	f.Evidence = []postmortem.Record{record("mill-z", 5, "quota **exceeded** <script>alert(1)</script>\n# heading [link](http://example.com)")}
	stopped := report("", 4, digest.Prevented, "RemediationRestricted", "Remediation restricted due to exceeded number of unhealthy machines.")
	stopped.Subject, stopped.Count = explain.Subject{API: provider.OpenShift, Kind: "MachineHealthCheck", Namespace: "blue", Name: "check"}, 3
	scaled := report("", 3.5, digest.Scaled, "ScalingMachineSet", "Scaled down machine set mill-1 to 2 from 3")
	scaled.Subject = explain.Subject{API: provider.OpenShift, Kind: "MachineDeployment", Namespace: "blue", Name: "mill"}
	f.Reports = []digest.Report{stopped, scaled, report("gone", 3, digest.Ended, "Delete", "Deleted machine gone"), report("mill-0", 30, "", "Other", "")}
	f.Answers = []explain.Answer{
		{Subject: machine("mill-1"), State: explain.Healthy, Sentence: "runs"},
		{Subject: machine("mill-2"), State: explain.Progressing, Sentence: "is being created"},
		{Subject: machine("mill-x"), State: explain.Stuck, Reason: "DrainBlocked", Sentence: "Machine blue/mill-x is in deletion for 2h: its drain is blocked.", Next: "raise the budget of web/b"},
		{Subject: machine("mill-3"), State: explain.Failed, Reason: "InvalidConfiguration", Sentence: "Machine blue/mill-3 has no instance.", Next: "correct the spec"},
	}
	f.Gaps = []string{"leases: forbidden"}
}

// TestGolden shows a day in all formats.
func TestGolden(t *testing.T) {
	d := of(day)
	raw, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"day.txt": d.Text(), "day.md": d.Markdown(), "day.json": string(raw) + "\n", "quiet.txt": of(func(*digest.Facts) {}).Text()} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: go test ./internal/engine/digest -update (-want +got)\n%s", name, diff)
		}
	}
}
