package record

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/checker"
)

// pages are the answers of a console.
type pages map[string]string

func (p pages) Ask(_ context.Context, _, page string, _ []byte) ([]byte, error) {
	return []byte(p[page]), nil
}

// lists are the objects of an API server, by API version and kind.
type lists map[string][]string

func (l lists) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return fmt.Errorf("nothing is read alone")
}

func (l lists) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	u := list.(*unstructured.UnstructuredList)
	for _, raw := range l[u.GetAPIVersion()+" "+u.GetKind()] {
		var o unstructured.Unstructured
		if err := json.Unmarshal([]byte(raw), &o.Object); err != nil {
			return err
		}
		u.Items = append(u.Items, o)
	}
	return nil
}

// TestSimulated: Simulated turns the answers of a console and an API server into the events that the checker reads.
func TestSimulated(t *testing.T) {
	objects := lists{
		"machine.openshift.io/v1beta1 MachineSetList": {`{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"set","uid":"s"},"spec":{"replicas":1},"status":{"replicas":1,"readyReplicas":1,"availableReplicas":1}}`},
		"machine.openshift.io/v1beta1 MachineList":    {`{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"m","uid":"u1","ownerReferences":[{"kind":"MachineSet","uid":"s","controller":true}]},"status":{"phase":"Running","nodeRef":{"name":"n"}}}`},
		"v1 NodeList": {`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"n"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`},
	}
	life := func(id, uid, ended string) string {
		if ended != "" {
			ended = fmt.Sprintf(`,"seen":"2020-01-01T00:00:00Z","ending":%q,"ended":%q`, ended, ended)
		}
		return fmt.Sprintf(`{"id":%q,"name":"m","account":"x","tags":{"cloud.example.com/machine-uid":%q},"since":"2020-01-01T00:00:00Z"%s}`, id, uid, ended)
	}
	for _, test := range []struct{ reason, lives, state, want string }{
		{"all is well", life("a", "u1", "") + "," + life("foreign", "u9", ""), `{}`, ""},
		{"it was another instance before", life("a", "u1", "2020-01-01T00:00:01Z") + "," + life("b", "u1", ""), `{}`, "machine u1 (m) had two instances: x/a from"},
		{"there is another one", life("a", "u1", "") + "," + life("b", "u2", ""), `{}`, "instance x/b (m) has no machine"},
		{"it is gone", life("a", "u1", "2020-01-01T00:00:01Z"), `{}`, "machine m has 0 instances"},
		{"another cluster's is gone", life("a", "u1", "") + "," + life("foreign", "u9", "2020-01-01T00:00:01Z"), `{}`, "instance x/foreign (m), which is of another cluster"},
		{"a disk is left", life("a", "u1", ""), `{"orphans":["disk 1"]}`, "without an instance: disk 1"},
	} {
		run, err := Simulated(t.Context(), objects, pages{"lives": "[" + test.lives + "]", "instances": test.state}, 1, "x/foreign")
		if err != nil {
			t.Fatal(err)
		}
		run.Once = true
		got := checker.Wrong(run, checker.OneInstance, checker.OthersKept, checker.Rest)
		if (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}

// TestLifeEvents: an instance that ended without a request died; the time between the last time that it was listed and the
// discovery of its end does not count as life.
func TestLifeEvents(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	for _, test := range []struct {
		reason string
		life   Life
		want   string
	}{
		{"it lives", Life{Since: at(1), Seen: at(5)}, "made@1"},
		{"its end was requested", Life{Since: at(1), Seen: at(5), Ending: at(3)}, "made@1 ending@3"},
		{"it ended then", Life{Since: at(1), Seen: at(5), Ending: at(3), Ended: at(9)}, "made@1 ending@3 gone@9-5"},
		{"it ended by itself", Life{Since: at(1), Seen: at(5), Ended: at(9)}, "made@1 died@9 gone@9-5"},
	} {
		var got []string
		for _, e := range test.life.events() {
			text := fmt.Sprintf("%s@%d", e.What, e.At.Unix())
			if !e.From.IsZero() {
				text += fmt.Sprintf("-%d", e.From.Unix())
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: %s, want %s", test.reason, text, test.want)
		}
	}
}

// TestWatch: each thing that happens to an instance is reported once.
func TestWatch(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	var w Watch
	var told []string
	for n, all := range [][]Sight{
		{{ID: "a", Made: at(1)}},
		{{ID: "a", Made: at(1)}, {ID: "b", Made: at(2), Ending: at(3)}},
		{{ID: "a", Made: at(1), Ending: at(4)}},
		{{ID: "b", Made: at(6)}},
		{{ID: "b", Made: at(6), Ending: at(7), Over: at(8)}},
		{},
	} {
		for _, e := range w.Look(at(10+n), at(10+n), all) {
			told = append(told, fmt.Sprintf("%d %s %s", e.At.Unix(), e.Instance, e.What))
			if e.What == checker.Gone {
				told[len(told)-1] += fmt.Sprintf(" since %d", e.From.Unix())
			}
		}
	}
	const want = "1 a made, 2 b made, 3 b ending, 4 a ending, 12 b gone since 11, 6 b made, 13 a gone since 12, 7 b ending, 15 b gone since 8"
	if got := strings.Join(told, ", "); got != want {
		t.Errorf("it tells %s, want %s", got, want)
	}
}
