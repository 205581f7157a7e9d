package cloud

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/gce"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admittest"
)

// record is one case of testdata/recorded: a spec, and what the original of its API sent for it.
type record struct {
	api string
	// ID names the case, and its machine: m-<ID>.
	ID   string `json:"id"`
	Spec json.RawMessage
	// UserData is that of the secret; nil: ignition. Secret changes further keys of it: null takes one out, and an object is the usual file with
	// other fields.
	UserData *string
	Secret   map[string]json.RawMessage
	// Refused: the original sends no request.
	Refused bool
	// Fields are those that the original names as it refuses the spec.
	Fields []string
	// Sent are the fields of what it sends, by operation: "instance".
	Sent map[string]parameters
}

// parameters are the fields of one request, by path: disks.0.boot.
type parameters map[string]string

// recorded are all cases of an API, each whole.
func recorded(t testing.TB, api string) (all []record) {
	t.Helper()
	name := map[string]string{provider.OpenShift: "openshift", provider.Gardener: "gardener"}[api]
	f, err := os.Open("testdata/recorded/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var base map[string]any
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if base == nil {
			base = clone(t, line)
		}
		for _, part := range []string{"spec", "sent"} {
			if patch, ok := line[part].(map[string]any); ok {
				line[part] = patched(clone(t, base[part]), patch)
			}
		}
		if whole, ok := line["whole"]; ok {
			line["spec"] = whole
		}
		raw, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		r := record{api: api}
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// clone is a tree of JSON of its own.
func clone(t testing.TB, tree any) map[string]any {
	t.Helper()
	out := map[string]any{}
	raw, err := json.Marshal(tree)
	if err == nil && tree != nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// patched is a JSON merge patch.
func patched(tree, patch map[string]any) map[string]any {
	for key, value := range patch {
		inner, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(tree, key)
		case isObject:
			there, _ := tree[key].(map[string]any)
			if there == nil {
				there = map[string]any{}
			}
			tree[key] = patched(there, inner)
		default:
			tree[key] = value
		}
	}
	return tree
}

// text is all that the case is made of.
func (r record) text(t testing.TB) string {
	secret, err := json.Marshal(r.Secret)
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Spec) + string(secret)
}

func (r record) ref() provider.Ref { return ref("m-" + r.ID) }

// stage is one Compute Engine for all cases of an API, since keys of accounts take their time.
type stage struct {
	bench    *bench
	recorder double.Recorder
}

func newStage(t *testing.T) *stage {
	on := &stage{bench: newBench(t, func(o *gce.Options) { o.AcceptAny = true })}
	at := httptest.NewServer(on.recorder.Around(on.bench.server))
	t.Cleanup(at.Close)
	on.bench.url = at.URL
	on.bench.issue()
	return on
}

// play is what the provider sends for the case, and the error with which it sends nothing.
func (r record) play(t *testing.T, on *stage) (map[string]parameters, error) {
	b := on.bench
	class := b.class(r.api, "c1")
	class.Spec = r.Spec
	for key, change := range r.Secret {
		var text *string
		switch {
		case json.Unmarshal(change, &text) != nil:
			class.Credentials[key] = admittest.Patched(t, string(b.login), string(change))
		case text == nil:
			delete(class.Credentials, key)
		default:
			class.Credentials[key] = []byte(*text)
		}
	}
	s, err := b.start().Open(t.Context(), class)
	if err != nil {
		return nil, err
	}
	want := provider.Want{UserData: []byte("ignition")}
	if r.UserData != nil {
		want.UserData = []byte(*r.UserData)
	}
	if strings.Contains(string(r.Spec), `"userDataSecret":null`) {
		want.UserData = nil
	}
	_, err = s.Create(t.Context(), r.ref(), want)
	sent := map[string]parameters{}
	for _, request := range on.recorder.With("POST ") {
		path, body, _ := strings.Cut(request, "?")
		if !strings.HasSuffix(path, "/instances") || !strings.Contains(body, `"name":"`+r.ref().Name+`"`) {
			continue
		}
		_, body, _ = strings.Cut(request, " {")
		var tree any
		if err := json.Unmarshal([]byte("{"+body), &tree); err != nil {
			t.Fatalf("%s: %v", request, err)
		}
		p := parameters{}
		p.flatten("", tree)
		for key, value := range p {
			p[key] = strings.ReplaceAll(value, r.ref().Name, "{machine}")
		}
		sent["instance"] = p
	}
	if sent["instance"] != nil {
		return sent, nil
	}
	return sent, err
}

// flatten writes what is under a path. An empty list, an empty object and null are written as such.
func (p parameters) flatten(path string, v any) {
	at := func(key string) string { return strings.TrimPrefix(path+"."+key, ".") }
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			p[path] = "{}"
		}
		for key, one := range v {
			p.flatten(at(key), one)
		}
	case []any:
		if len(v) == 0 {
			p[path] = "[]"
		}
		for n, one := range v {
			p.flatten(at(strconv.Itoa(n)), one)
		}
	case nil:
		p[path] = "null"
	case float64:
		p[path] = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		p[path] = fmt.Sprint(v)
	}
}

// deviation is one parameter that the original and the provider send differently; nil: it is not sent.
type deviation struct {
	operation, key string
	original, ours *string
}

func (d deviation) String() string {
	shown := func(s *string) string {
		if s == nil {
			return "nothing"
		}
		return fmt.Sprintf("%q", *s)
	}
	return fmt.Sprintf("%s %s: the original sends %s, this provider %s", d.operation, d.key, shown(d.original), shown(d.ours))
}

// verdict is the key of a deviation in whether something is made at all.
const verdict = "verdict"

// compare returns how the two differ, and how many parameters were compared.
func (r record) compare(ours map[string]parameters, err error) (all []deviation, compared int) {
	if said := err != nil; said != r.Refused {
		word := map[bool]string{true: "refused", false: "made"}
		original, here := word[r.Refused], word[said]
		return []deviation{{key: verdict, original: &original, ours: &here}}, 1
	}
	if r.Refused {
		return nil, 1
	}
	operations := map[string]parameters{}
	maps.Copy(operations, r.Sent)
	maps.Copy(operations, ours)
	for _, operation := range slices.Sorted(maps.Keys(operations)) {
		keys := map[string]string{}
		maps.Copy(keys, r.Sent[operation])
		maps.Copy(keys, ours[operation])
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			compared++
			one, sends := r.Sent[operation][key]
			other, sendsToo := ours[operation][key]
			if sends && sendsToo && one == other {
				continue
			}
			d := deviation{operation: operation, key: key}
			if sends {
				d.original = &one
			}
			if sendsToo {
				d.ours = &other
			}
			all = append(all, d)
		}
	}
	return all, compared
}
