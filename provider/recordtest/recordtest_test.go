package recordtest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

const lines = `{"id":"base","spec":{"size":"s","net":{"a":"1","b":"2"}},"sent":{"vm":{"size":"s","empty":"","net":"1"}}}
{"id":"patched","spec":{"size":"l","net":{"b":null}},"sent":{"vm":{"size":"l","net":null}}}
{"id":"with","with":{"net":{"a":null}},"sent":{"vm":{"net":null}}}
{"id":"whole","whole":{"size":null},"refused":true,"machine":"m-1"}
`

func records(t *testing.T) []Record {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "openshift.jsonl"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(t, folder, provider.OpenShift)
}

// TestRead: each line is complete, in whichever form it is written.
func TestRead(t *testing.T) {
	all := records(t)
	for n, want := range []string{
		`{"net":{"a":"1","b":"2"},"size":"s"}`, `{"net":{"a":"1"},"size":"l"}`, `{"net":{"a":null},"size":"s"}`, `{"size":null}`,
	} {
		if string(all[n].Spec) != want || !json.Valid(all[n].Line) || strings.Contains(string(all[n].Line), `"sent"`) {
			t.Errorf("%s has the spec %s and the line %s", all[n].ID, all[n].Spec, all[n].Line)
		}
	}
	if got := all[1].Sent["vm"]; got["size"] != "l" || got["empty"] != "" || len(got) != 2 || !all[3].Refused {
		t.Errorf("sent %v, refused %t", got, all[3].Refused)
	}
}

// TestFlatten: each leaf has its path, and sets have no order.
func TestFlatten(t *testing.T) {
	var tree any
	if err := json.Unmarshal([]byte(`{"a":[{"b":1.5},{}],"tags":["x","y"],"n":null,"l":[],"t":true}`), &tree); err != nil {
		t.Fatal(err)
	}
	got := Flatten(tree, func(path string) bool { return path == "tags" })
	want := Parameters{"a.0.b": "1.5", "a.1": "{}", "tags.x": "yes", "tags.y": "yes", "n": "null", "l": "[]", "t": "true"}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s is %q", key, got[key])
		}
	}
}

// TestDifferences: a row explains exactly its own differences, and each unexplained one is a deviation.
func TestDifferences(t *testing.T) {
	base, refused := records(t)[0], records(t)[3]
	sends := func(p Parameters) map[string]Parameters { return map[string]Parameters{"vm": p} }
	for _, r := range []struct {
		reason string
		record Record
		ours   map[string]Parameters
		err    error
		row    Difference
		rest   int // deviations that the row does not explain
	}{
		{"the same", base, sends(Parameters{"size": "s", "empty": "", "net": "1"}), nil, Difference{}, 0},
		{"one more", base, sends(Parameters{"size": "s", "empty": "", "net": "1", "x": "1"}), nil, Difference{How: Adds, Key: "^vm x$"}, 0},
		{"one more under another key", base, sends(Parameters{"size": "s", "empty": "", "net": "1", "y": "1"}), nil, Difference{How: Adds, Key: "^vm x$"}, 1},
		{"one less", base, sends(Parameters{"size": "s", "empty": ""}), nil, Difference{How: Omits, Key: "^vm net$"}, 0},
		{"one less of a row that adds", base, sends(Parameters{"size": "s", "empty": ""}), nil, Difference{How: Adds, Key: "^vm net$"}, 1},
		{"another value", base, sends(Parameters{"size": "l", "empty": "", "net": "1"}), nil, Difference{How: Alters, Key: "size"}, 0},
		{"another value of another spec", base, sends(Parameters{"size": "l", "empty": "", "net": "1"}), nil, Difference{How: Alters, Key: "size", Has: `"size":"l"`}, 1},
		{"another value, and the spec lacks nothing", base, sends(Parameters{"size": "l", "empty": "", "net": "1"}), nil, Difference{How: Alters, Key: "size", Lacks: `"size"`}, 1},
		{"nothing instead of what is empty", base, sends(Parameters{"size": "s", "net": "1"}), nil, Difference{How: Empties}, 0},
		{"a value instead of what is empty", base, sends(Parameters{"size": "s", "empty": "x", "net": "1"}), nil, Difference{How: Empties}, 1},
		{"of the other API", base, sends(Parameters{"size": "s", "empty": ""}), nil, Difference{API: provider.Gardener, How: Differs}, 1},
		{"refused alone", base, nil, errors.New("no"), Difference{How: Refuses}, 0},
		{"refused alone, and a row that makes", base, nil, errors.New("no"), Difference{How: Makes}, 1},
		{"refused alone, and a row of parameters", base, nil, errors.New("no"), Difference{How: Differs}, 1},
		{"both refuse", refused, nil, errors.New("no"), Difference{}, 0},
		{"made alone", refused, sends(nil), nil, Difference{How: Makes, Has: `"machine":"m-1"`}, 0},
		{"made alone, and a row that refuses", refused, sends(nil), nil, Difference{How: Refuses}, 1},
	} {
		t.Run(r.reason, func(t *testing.T) {
			all, _ := r.record.compare(r.ours, r.err)
			rest := slices.DeleteFunc(all, func(d deviation) bool { return r.row.explains(r.record, d) })
			if len(rest) != r.rest {
				t.Errorf("%s: %v is left", r.reason, rest)
			}
		})
	}
}

// failures records the failures of a test that is expected to fail.
type failures struct {
	testing.TB
	said []string
}

func (f *failures) Errorf(format string, _ ...any) { f.said = append(f.said, format) }
func (f *failures) Helper()                        {}

// TestPage: the table of a page is written on request, matches afterwards, and no longer matches once a row
// has changed.
func TestPage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	text := "# Page\n\n<!-- differences: generated by TestRecordedRequests of providers/x. DO NOT EDIT. -->\n<!-- end of differences -->\n\nmore\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Suite{Package: "providers/x", Page: page, APIs: []string{provider.OpenShift}, Differences: []Difference{{What: "size", Original: "a", Here: "b", Why: "c"}}}
	table := s.table(map[string]*tally{provider.OpenShift: {specs: 7}})
	f := &failures{TB: t}
	if s.hold(f, table); len(f.said) != 1 {
		t.Errorf("a page without the table holds: %v", f.said)
	}
	t.Setenv("UPDATE_GOLDEN", "1")
	s.hold(t, table)
	t.Setenv("UPDATE_GOLDEN", "")
	s.hold(t, table)
	has, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(has), "| size | both | a | b | c |") || !strings.HasSuffix(string(has), "\n\nmore\n") {
		t.Errorf("%s, error %v", has, err)
	}
	if s.hold(f, table+"| another |\n"); len(f.said) != 2 {
		t.Errorf("a page without a row holds: %v", f.said)
	}
}

// TestBroken: each field is missing once and of another type several times, and the original spec does not
// change.
func TestBroken(t *testing.T) {
	spec := records(t)[0].Spec
	before := string(spec)
	seen := map[string]string{}
	for _, v := range Broken(spec) {
		if _, twice := seen[v.What]; twice {
			t.Errorf("%s twice", v.What)
		}
		seen[v.What] = string(v.Spec)
	}
	for what, want := range map[string]string{
		"net removed": `{"size":"s"}`, "net.a removed": `{"net":{"b":"2"},"size":"s"}`, "net.a is null": `{"net":{"a":null,"b":"2"},"size":"s"}`,
		"size is []": `{"net":{"a":"1","b":"2"},"size":[]}`, "net is true": `{"net":true,"size":"s"}`, "empty": "", "no JSON": "{",
	} {
		if got, ok := seen[what]; !ok || got != want {
			t.Errorf("%s is %q", what, got)
		}
	}
	if _, ok := seen["size is -1"]; ok || string(spec) != before {
		t.Errorf("a number for a text %t, the spec is %s", ok, spec)
	}
}

// TestFields: fields that differ from those of the original are reported, and so is a name that no case
// needs.
func TestFields(t *testing.T) {
	refuses := func(fields ...string) func(Record) error {
		return func(Record) error {
			var all []error
			for _, f := range fields {
				all = append(all, provider.InvalidField(f, "is wrong"))
			}
			return errors.Join(all...)
		}
	}
	all := []Record{{ID: "one", Fields: []string{"disks.size"}}, {ID: "accepted by the original"}}
	index := []Renamed{{Form: `\[\d+\]`}}
	for _, r := range []struct {
		reason string
		decode func(Record) error
		names  []Renamed
		said   int
	}{
		{"the same", refuses("disks.size"), nil, 0},
		{"the same by another name", refuses("disks[0].size", "disks[1].size"), index, 0},
		{"another field", refuses("size"), nil, 1},
		{"one more", refuses("disks.size", "size"), nil, 1},
		{"a name that is not needed", refuses("disks.size"), index, 1},
		{"nothing is compared", func(Record) error { return nil }, nil, 1},
	} {
		t.Run(r.reason, func(t *testing.T) {
			f := &failures{TB: t}
			if Fields(f, all, r.decode, r.names, 1); len(f.said) != r.said {
				t.Errorf("%s: %v", r.reason, f.said)
			}
		})
	}
}
