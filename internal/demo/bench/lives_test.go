package bench

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadChanges(t *testing.T) {
	const stream = `{"type":"ADDED","object":{"metadata":{"name":"a"}}}
{"type":"MODIFIED","object":{"metadata":{"name":"a"},"status":{"phase":"Running"}}}
{"type":"MODIFIED","object":{"metadata":{"name":"b"},"status":{"currentStatus":{"phase":"Running"}}}}
{"type":"MODIFIED","object":{"metadata":{"name":"b","deletionTimestamp":"2026-01-02T12:00:00Z"},"status":{"currentStatus":{"phase":"Terminating"}}}}
{"type":"DELETED","object":{"metadata":{"name":"b","deletionTimestamp":"2026-01-02T12:00:00Z"},"status":{"currentStatus":{"phase":"Terminating"}}}}
{"type":"MODIFIED","object":{"metadata":{"na`
	want := []glimpse{
		{name: "a"},
		{name: "a", running: true},
		{name: "b", running: true},
		{name: "b", leaving: true},
		{name: "b", leaving: true, gone: true},
	}
	got, err := readChanges([]byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(glimpse{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := readChanges(nil); len(got) != 0 || err != nil {
		t.Errorf("nothing happened: %v, %v", got, err)
	}
}

func TestReadChangesSaysWhatIsWrong(t *testing.T) {
	cases := []struct{ reason, stream, want string }{
		{"the API server ends the watch with an error", `{"type":"ERROR","object":{"kind":"Status","message":"too old"}}`, "too old"},
		{"a damaged event", `{"type":"ADDED","object"`, "an event"},
		{"something that is no machine", `{"type":"ADDED","object":{"metadata":7}}`, "a machine"},
	}
	for _, c := range cases {
		if _, err := readChanges([]byte(c.stream + "\n")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error that says %q", c.reason, err, c.want)
		}
	}
}

func TestExtremes(t *testing.T) {
	running := func(name string) glimpse { return glimpse{name: name, running: true} }
	coming := func(name string) glimpse { return glimpse{name: name} }
	leaving := func(name string) glimpse { return glimpse{name: name, running: true, leaving: true} }
	gone := func(name string) glimpse { return glimpse{name: name, gone: true} }
	two := []glimpse{running("a"), running("b")}
	cases := []struct {
		reason      string
		before      []glimpse
		changes     []glimpse
		most, least int
	}{
		{"nothing happens", two, nil, 2, 2},
		{"one is replaced within bounds", two, []glimpse{coming("c"), running("c"), leaving("a"), gone("a")}, 3, 2},
		{"one goes before the other works", two, []glimpse{coming("c"), leaving("a"), running("c"), gone("a")}, 3, 1},
		{"one on its way out still takes room", two, []glimpse{coming("c"), running("c"), leaving("a"), coming("d"), gone("a")}, 4, 2},
		{"one that fails is missing until it is back", two, []glimpse{coming("a"), running("a")}, 2, 1},
		{"telling the same twice changes nothing", two, []glimpse{running("a"), leaving("a"), leaving("a"), gone("a"), coming("c"), running("c")}, 2, 1},
		{"there were none", nil, []glimpse{coming("a"), running("a")}, 1, 0},
	}
	for _, c := range cases {
		most, least := extremes(lives{before: c.before, changes: c.changes})
		if most != c.most || least != c.least {
			t.Errorf("%s: most %d, least available %d; want %d and %d", c.reason, most, least, c.most, c.least)
		}
	}
}

func TestRecordingThatEndedEarlyIsAnError(t *testing.T) {
	r := &recording{ended: make(chan struct{}), cancel: func() {}}
	close(r.ended)
	if _, err := r.stop(); err == nil {
		t.Error("what came after the end of the watch is missing, and nobody was told")
	}
}

func TestBeyond(t *testing.T) {
	running := func(name string) glimpse { return glimpse{name: name, running: true} }
	l := lives{
		before: []glimpse{running("a-1-x-y"), running("a-1-x-z"), running("b-x-y")},
		changes: []glimpse{
			{name: "a-1-n-1"}, {name: "a-1-n-2"}, {name: "a-1-x-y", running: true, leaving: true}, {name: "b-x-y", leaving: true}, {name: "b-x-y", gone: true},
		},
	}
	excess, missing := beyond(l, []pool{{name: "a-1", machines: 2}, {name: "b", machines: 1}})
	if excess != 1 || missing != 1 {
		t.Errorf("%d too many, %d missing; want 1 of a-1 and 1", excess, missing)
	}
}

func TestMostLeaving(t *testing.T) {
	l := lives{
		before: []glimpse{{name: "a", running: true}, {name: "b", running: true}},
		changes: []glimpse{
			{name: "a", leaving: true}, {name: "b", leaving: true}, {name: "c"}, {name: "a", leaving: true, gone: true}, {name: "d"}, {name: "b", leaving: true, gone: true},
		},
	}
	if leaving, most := mostLeaving(l); leaving != 2 || most != 3 {
		t.Errorf("%d on their way out, %d at a time; want 2 and 3", leaving, most)
	}
}
