package bench

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
)

func TestCallsAreCounted(t *testing.T) {
	// Twenty creations, two a second, and a listing which is refused once.
	var calls []call
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for n := range 20 {
		calls = append(calls, call{At: start.Add(time.Duration(n) * 500 * time.Millisecond), Operation: "Create", Writes: true})
	}
	calls = append(calls,
		call{At: start.Add(2900 * time.Millisecond), Operation: "List", Throttled: true},
		call{At: start.Add(2100 * time.Millisecond), Operation: "List"}, call{At: start.Add(9 * time.Second), Operation: "Describe"})
	p := CloudPhase{Phase: "created"}
	p.count(calls, 10)
	want := CloudPhase{
		Phase: "created", Changes: 2, Reads: 0.3, Throttled: 1, PeakPerSecond: 4,
		Operations: []Operation{
			{Name: "Create", Changes: true, Calls: 20, PerMachine: 2}, {Name: "List", Calls: 2, PerMachine: 0.2}, {Name: "Describe", Calls: 1, PerMachine: 0.1},
		},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	none := CloudPhase{}
	none.count(nil, 10)
	if none.PeakPerSecond != 0 || none.Reads != 0 {
		t.Errorf("of nothing: %+v", none)
	}
}

func TestSharesAreAll(t *testing.T) {
	for _, machines := range []int{1, 2, 7, 1000} {
		sum := 0
		for _, n := range shares(apis.Names(), machines) {
			sum += n
			if n < machines/2 || n > machines/2+1 {
				t.Errorf("%d of %d machines are no half", n, machines)
			}
		}
		if sum != machines {
			t.Errorf("%d machines of %d", sum, machines)
		}
	}
}

func TestOneInstanceForEach(t *testing.T) {
	const a, b = `{"name":"a","state":"running"}`, `{"name":"b","state":"Provisioning"}`
	for _, tc := range []struct {
		reason    string
		instances []string
		names     []string
		wrong     bool
	}{
		{"each has one, and what has ended is none", []string{a, b, `{"name":"a","state":"terminated"}`, `{"name":"x","state":"DELETED"}`}, []string{"a", "b"}, false},
		{"one has two", []string{a, b, a}, []string{"a", "b"}, true},
		{"one has none", []string{a}, []string{"a", "b"}, true},
		{"somebody else has one", []string{a, b, `{"name":"c","state":"running"}`}, []string{"a", "b"}, true},
		{"one is of another name", []string{a, `{"name":"c","state":"running"}`}, []string{"a", "b"}, true},
		{"a machine is missing", []string{a}, []string{"a"}, true},
	} {
		var state fleet.CloudState
		if err := json.Unmarshal(fmt.Appendf(nil, `{"instances":[%s]}`, strings.Join(tc.instances, ",")), &state); err != nil {
			t.Fatal(err)
		}
		if err := oneEach(tc.names, living(state), 2); (err != nil) != tc.wrong {
			t.Errorf("%s: %v", tc.reason, err)
		}
	}
	if err := orphans(fleet.CloudState{Orphans: []string{"disk-1"}}); err == nil || !strings.Contains(err.Error(), "disk-1") {
		t.Errorf("what is left behind is not told: %v", err)
	}
}

// TestCloudTableFits: the table fits into 80 columns.
func TestCloudTableFits(t *testing.T) {
	var operations []Operation
	for n := range 9 {
		operations = append(operations, Operation{Name: fmt.Sprintf("%d tag-association attach-multiple-tags-to-object", n), Changes: n%2 == 0, Calls: 123456, PerMachine: 12.345})
	}
	r := Report{Clouds: []CloudCalls{{
		Provider: "openstack", APIs: apis.Names(), Machines: 10000, Limits: []CloudLimit{{Operation: "RunInstances", PerSecond: 2, Burst: 5}, {PerSecond: 20, Burst: 100}},
		Phases: []CloudPhase{{
			Phase: "restarted", Seconds: 12345.6, Instances: 10000, Looks: 123.45, Changes: 12.345, Reads: 123.456, Throttled: 12345, PeakPerSecond: 12345, Operations: operations,
		}},
	}}}
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{"2 a second of RunInstances", "20 a second of everything", "123.456", "12345.6", "5 tag-association", "change  123456 12.345"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "6 tag-association") || strings.Contains(out.String(), "writes per minute") {
		t.Errorf("more is told than the six that were asked for most often:\n%s", out.String())
	}
}
