package postmortem_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func record() postmortem.Record {
	return postmortem.Record{
		API: "machine.test", Namespace: "blue", Name: "mill-a", UID: "u-1", Owner: "MachineSet/mill",
		Cause: postmortem.GivenUp, Taken: start, Phase: "Failed", Summary: "Machine mill-a failed to join the cluster in 20 minutes.",
		Moments:  []postmortem.Moment{{What: "created", At: start.Add(-20 * time.Minute)}, {What: "instance created", At: start.Add(-19 * time.Minute)}},
		Said:     []postmortem.Statement{{About: "lastOperation", Status: "Failed", Message: "no node", Since: start}},
		Instance: &postmortem.Instance{ID: "i-1", ProviderID: "test:///i-1", State: "Running", Addresses: []string{"10.0.0.1"}, Created: start.Add(-19 * time.Minute)},
		Requests: []postmortem.Request{{Name: "csr-1", Node: "n-1", Verdict: "Refuse", Reason: "UnexpectedUsages", Message: "usages", Created: start}},
		Events:   []postmortem.Event{{Type: "Warning", Reason: "FailedCreate", Message: "no room", At: start, Count: 3}},
		Console:  "boot\nkubelet: x509: certificate signed by unknown authority\n",
		Gaps:     []string{"node: cannot be looked up: timeout"},
	}
}

func TestEncodeKeepsAll(t *testing.T) {
	want := record()
	raw, err := postmortem.Encode(want, postmortem.NewRedactor(), 8<<10)
	if err != nil {
		t.Fatal(err)
	}
	got, err := postmortem.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("encoding changes a record that is short and harmless:\n got %+v\nwant %+v", got, want)
	}
	if !reflect.DeepEqual(want, record()) {
		t.Error("encoding changes its argument")
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, raw, "", "  "); err != nil {
		t.Fatal(err)
	}
	const file = "testdata/record.json"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, append(pretty.Bytes(), '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(golden)) != pretty.String() {
		t.Errorf("the form of records that are stored in clusters changed:\n%s", pretty.String())
	}
}

// TestCutsTheConsoleFirst: the most significant parts are cut last.
func TestCutsTheConsoleFirst(t *testing.T) {
	r := record()
	r.Console = strings.Repeat("a line of the console\n", 1000) + "the last line"
	raw, err := postmortem.Encode(r, postmortem.NewRedactor(), 8<<10)
	if err != nil {
		t.Fatal(err)
	}
	got, err := postmortem.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 8<<10 || !slices.Equal(got.Cut, []string{"console"}) {
		t.Errorf("%d bytes, cut %v, want at most 8192 and the console only", len(raw), got.Cut)
	}
	if !strings.HasPrefix(got.Console, "...a line") || !strings.HasSuffix(got.Console, "the last line") {
		t.Errorf("the console is %q ... %q, want its end, from the beginning of a line", got.Console[:20], got.Console[len(got.Console)-20:])
	}
	r.Console = ""
	got.Console, got.Cut = "", nil
	if !reflect.DeepEqual(got, r) {
		t.Errorf("something else than the console changed:\n got %+v\nwant %+v", got, r)
	}
}

// TestSizeHolds: no record is longer than the limit, for any content, and a cut record still names the
// machine.
func TestSizeHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			strings.Repeat("long ", 2000), strings.Repeat("\x00", 3000), strings.Repeat("<ä\n", 1500),
		}))
		many := func(name string) int { return rapid.SampledFrom([]int{0, 1, 3, 60}).Draw(t, name) }
		r := postmortem.Record{
			API: texts.Draw(t, "api"), Namespace: texts.Draw(t, "namespace"), Name: "mill-a", UID: texts.Draw(t, "uid"), Owner: texts.Draw(t, "owner"),
			Cause: postmortem.Unwell, Taken: start, Phase: texts.Draw(t, "phase"), Summary: texts.Draw(t, "summary"), Console: texts.Draw(t, "console"),
			Instance: &postmortem.Instance{RawState: texts.Draw(t, "state")}, Node: &postmortem.Node{Name: texts.Draw(t, "node")},
		}
		for n := range many("said") {
			r.Said = append(r.Said, postmortem.Statement{About: fmt.Sprint(n), Message: texts.Draw(t, "said")})
		}
		for range many("events") {
			r.Events = append(r.Events, postmortem.Event{Message: "event"})
		}
		for range many("conditions") {
			r.Node.Conditions = append(r.Node.Conditions, postmortem.Statement{Message: strings.Repeat("condition", 50)})
		}
		for range many("gaps") {
			r.Gaps = append(r.Gaps, "gap")
		}
		limit := rapid.IntRange(0, 12<<10).Draw(t, "limit")
		raw, err := postmortem.Encode(r, postmortem.NewRedactor([]byte("long long")), limit)
		if err != nil {
			t.Fatal(err)
		}
		if most := max(limit, postmortem.SmallestLimit); len(raw) > most {
			t.Fatalf("%d bytes, %d are allowed", len(raw), most)
		}
		if got, err := postmortem.Decode(raw); err != nil || got.Name != "mill-a" {
			t.Fatalf("what is left does not name the machine: %v %v", got.Name, err)
		}
	})
}

func node(ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
}

func TestWorth(t *testing.T) {
	for _, test := range []struct {
		name   string
		f      postmortem.Facts
		age    time.Duration // at the deletion; 0: it is wanted
		want   postmortem.Cause
		worth  bool
		reason string
	}{
		{"failed", postmortem.Facts{Machine: lifecycle.Machine{Stage: lifecycle.StageFailed}}, 0, postmortem.GivenUp, true, "its set will delete it at any moment"},
		{"running", postmortem.Facts{Machine: lifecycle.Machine{Stage: lifecycle.StageRunning}, Node: node("False"), Looked: true}, 0, "", false, "it may recover"},
		{"lost", postmortem.Facts{Machine: lifecycle.Machine{Stage: lifecycle.StageLost}}, 0, "", false, "it may recover"},
		{"scaled down", postmortem.Facts{Was: lifecycle.StageRunning, Node: node("True"), Looked: true}, time.Hour, "", false, "nothing was wrong with it"},
		{"remedied", postmortem.Facts{Was: lifecycle.StageRunning, Node: node("Unknown"), Looked: true}, time.Hour, postmortem.Unwell, true, "a health check sent it away"},
		{"node gone", postmortem.Facts{Was: lifecycle.StageRunning, Looked: true}, time.Hour, postmortem.Unwell, true, "its node was deleted"},
		{"node deleted, and still there", postmortem.Facts{Was: lifecycle.StageRunning, Node: node("True"), Looked: true, Replaced: true}, time.Hour, postmortem.NodeDeleted, true, "a finalizer holds the node, which looks healthy to the end"},
		{"node not seen", postmortem.Facts{Was: lifecycle.StageRunning}, time.Hour, "", false, "a failed look-up says nothing"},
		{"lost and deleted", postmortem.Facts{Was: lifecycle.StageLost}, time.Hour, postmortem.Unwell, true, "the API says so itself"},
		{"failed and deleted", postmortem.Facts{Was: lifecycle.StageFailed}, time.Hour, postmortem.GivenUp, true, "in case it was not seen before"},
		{"update failed", postmortem.Facts{Was: lifecycle.StageUpdateFailed, Node: node("True"), Looked: true}, time.Hour, postmortem.Unwell, true, "its node looks healthy all the same"},
		{"never joined", postmortem.Facts{Was: lifecycle.StageJoining}, 10 * time.Minute, postmortem.NeverJoined, true, "a health check gave it its time"},
		{"no time to join", postmortem.Facts{Was: lifecycle.StageJoining}, 30 * time.Second, "", false, "a scale-down took it back"},
		{"no instance", postmortem.Facts{Was: lifecycle.StageCrashing}, 30 * time.Second, postmortem.NeverJoined, true, "attempts failed"},
		{"restarted in a deletion, node unwell", postmortem.Facts{Was: lifecycle.StageDeleting, Node: node("False"), Looked: true}, time.Hour, postmortem.Unwell, true, "better late than never"},
		{"restarted in a deletion, node gone", postmortem.Facts{Was: lifecycle.StageDeleting, Looked: true}, time.Hour, "", false, "it goes in every deletion"},
		{"without nodes", postmortem.Facts{Was: lifecycle.StageDetached}, time.Hour, "", false, "there is nothing to know"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := test.f
			f.Machine.Created = start
			if test.age > 0 {
				f.Machine.Deleted, f.Machine.Stage = start.Add(test.age), lifecycle.StageDeleting
			}
			cause, worth := postmortem.Worth(f)
			if worth != test.worth || worth && cause != test.want {
				t.Errorf("%s: got %q %v, want %q %v", test.reason, cause, worth, test.want, test.worth)
			}
		})
	}
}

func TestAdmit(t *testing.T) {
	p := postmortem.Policy{For: 7 * 24 * time.Hour, PerNamespace: 3, Storm: time.Hour}
	old := func(name string, age time.Duration) postmortem.Kept {
		return postmortem.Kept{Name: name, Taken: start.Add(-age)}
	}
	for _, test := range []struct {
		name   string
		kept   []postmortem.Kept
		drop   []string
		ok     bool
		reason string
	}{
		{"room", []postmortem.Kept{old("a", time.Minute), old("b", 0)}, nil, true, "three are allowed"},
		{"expired", []postmortem.Kept{old("a", 8*24*time.Hour), old("b", time.Hour)}, []string{"a"}, true, "seven days are over"},
		{"just expired", []postmortem.Kept{old("a", 7*24*time.Hour)}, []string{"a"}, true, "the seventh day has ended"},
		{"full", []postmortem.Kept{old("c", time.Hour), old("a", 3*time.Hour), old("b", 2*time.Hour)}, []string{"a"}, true, "the oldest makes room"},
		{"storm", []postmortem.Kept{old("a", 50*time.Minute), old("b", time.Minute), old("c", 0)}, nil, false, "the beginning of a storm is kept"},
		{"too full", []postmortem.Kept{old("a", 5*time.Hour), old("b", 4*time.Hour), old("c", 3*time.Hour), old("d", 2*time.Hour)}, []string{"a", "b"}, true, "the cap was higher before"},
		{"own expiry", []postmortem.Kept{{Name: "a", Taken: start, Expires: start.Add(-time.Second)}}, []string{"a"}, true, "a person may shorten it"},
		{"own longer expiry", []postmortem.Kept{{Name: "a", Taken: start.Add(-9 * 24 * time.Hour), Expires: start.Add(time.Hour)}}, nil, true, "or prolong it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			drop, ok := p.Admit(start, test.kept)
			if ok != test.ok || !slices.Equal(drop, test.drop) {
				t.Errorf("%s: got %v %v, want %v %v", test.reason, drop, ok, test.drop, test.ok)
			}
		})
	}
}

// TestCapHolds: after dropping the names of Admit and adding a record there are never more than allowed, if
// Admit allows one.
func TestCapHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := postmortem.DefaultPolicy()
		p.PerNamespace = rapid.IntRange(0, 10).Draw(t, "cap")
		var kept []postmortem.Kept
		for n := range rapid.IntRange(0, 25).Draw(t, "kept") {
			kept = append(kept, postmortem.Kept{
				Name:  fmt.Sprint(n),
				Taken: start.Add(-time.Duration(rapid.IntRange(-10, 12*24).Draw(t, "hours")) * time.Hour),
			})
		}
		drop, ok := p.Admit(start, kept)
		if ok && len(kept)-len(drop)+1 > p.PerNamespace {
			t.Fatalf("%d of %d are dropped for one more, %d are allowed", len(drop), len(kept), p.PerNamespace)
		}
		for _, k := range kept {
			if start.Sub(k.Taken) >= p.For && !slices.Contains(drop, k.Name) {
				t.Fatalf("%v is kept after %v", k, p.For)
			}
		}
	})
}
