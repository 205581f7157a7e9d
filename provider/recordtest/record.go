// Package recordtest compares a provider with recorded facts: what the original of an API sends to the
// cloud for a spec.
//
// A file of records has one JSON object per line. The first line is complete. In the others "spec" and
// "sent" are JSON merge patches of the first line's. A spec that contains a null has "whole" in place of
// "spec", or "with": fields of the first line's spec that have another value.
package recordtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

// Record is one case: a spec, and what the original of its API sends for it.
type Record struct {
	API string `json:"-"`
	// ID names the case.
	ID   string          `json:"id"`
	Spec json.RawMessage `json:"spec"`
	// Refused: the original sends no request that creates a machine.
	Refused bool `json:"refused"`
	// Fields are those that the original names when it refuses the spec.
	Fields []string `json:"fields"`
	// Sent are the parameters of its requests, by operation.
	Sent map[string]Parameters `json:"sent"`
	// Line is the whole line without "sent", as compact JSON with sorted keys, for keys that only one cloud
	// has.
	Line json.RawMessage `json:"-"`
}

// files are the names of the files, by API.
var files = map[string]string{provider.OpenShift: "openshift.jsonl", provider.Gardener: "gardener.jsonl"}

// mostLine bounds a line, in bytes.
const mostLine = 1 << 22

// Read returns the cases of an API, in order, each with its whole spec. The folder has openshift.jsonl and gardener.jsonl.
func Read(t testing.TB, folder, api string) (all []Record) {
	t.Helper()
	f, err := os.Open(filepath.Join(folder, files[api]))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var base map[string]any
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, mostLine)
	for lines.Scan() {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if base == nil {
			base = clone(line)
		}
		for _, part := range []string{"spec", "sent"} {
			if patch, ok := line[part].(map[string]any); ok {
				line[part] = patched(clone(base[part]), patch)
			}
		}
		if with, ok := line["with"].(map[string]any); ok {
			spec := clone(base["spec"])
			maps.Copy(spec, with)
			line["spec"] = spec
		}
		if whole, ok := line["whole"]; ok {
			line["spec"] = whole
		}
		r := Record{API: api}
		if err := json.Unmarshal(marshalled(line), &r); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		delete(line, "sent")
		delete(line, "with")
		delete(line, "whole")
		r.Line = marshalled(line)
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// marshalled returns a tree of JSON as text. It cannot fail.
func marshalled(tree any) json.RawMessage {
	raw, err := json.Marshal(tree)
	if err != nil {
		panic(err)
	}
	return raw
}

// clone is a copy of an object of JSON, which shares nothing with it.
func clone(tree any) map[string]any {
	out := map[string]any{}
	if err := json.Unmarshal(marshalled(tree), &out); err != nil {
		panic(err)
	}
	return out
}

// patched applies a JSON merge patch.
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

// Parameters are those of one request, by path: "disks.0.boot".
type Parameters map[string]string

// Flatten returns the leaves of a tree of JSON by path. An empty list, an empty object and null are leaves: "[]", "{}", "null". The members
// of a list at a path for which set reports true have the value "yes", whatever their order; set may be nil.
func Flatten(tree any, set func(path string) bool) Parameters {
	p := Parameters{}
	p.flatten("", tree, set)
	return p
}

func (p Parameters) flatten(path string, v any, set func(path string) bool) {
	at := func(key string) string { return strings.TrimPrefix(path+"."+key, ".") }
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			p[path] = "{}"
		}
		for key, one := range v {
			p.flatten(at(key), one, set)
		}
	case []any:
		if len(v) == 0 {
			p[path] = "[]"
		}
		for n, one := range v {
			if set != nil && set(path) {
				p[at(fmt.Sprint(one))] = "yes"
			} else {
				p.flatten(at(strconv.Itoa(n)), one, set)
			}
		}
	case nil:
		p[path] = "null"
	case float64:
		p[path] = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		p[path] = fmt.Sprint(v)
	}
}
