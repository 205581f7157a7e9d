// Package admissiontest has what the tests of admitters share: checks that apply to each of them, and specs to
// test with.
package admissiontest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admit"
)

// MayFill reports whether Default may replace a value at a path such as ".disks[0].type". A number is
// passed as a [json.Number].
type MayFill func(path string, was any) bool

// Holds checks the rules for any spec: faults are about the spec. A spec that cannot be decoded is refused
// as a whole, and Default returns an error that is [provider.Invalid]. For any other spec Default loses
// nothing, and a second Default changes nothing. It returns the faults, and the spec with its defaults, or
// nil if it cannot be decoded.
func Holds(t rapid.TB, admitter admit.Admitter, a admit.Request, may MayFill) (faults field.ErrorList, once []byte) {
	t.Helper()
	_, faults = admitter.Admit(a)
	root := a.Path.String()
	for _, fault := range faults {
		if fault.Field != root && !strings.HasPrefix(fault.Field, root+".") && !strings.HasPrefix(fault.Field, "spec.") { // some originals begin there
			t.Errorf("%v is not about the spec", fault)
		}
	}
	once, err := admitter.Default(a)
	refused := len(faults) == 1 && faults[0].Field == root && faults[0].Type == field.ErrorTypeInvalid
	if refused != (err != nil) || err != nil && (provider.KindOf(err) != provider.Invalid || once != nil) {
		t.Errorf("%s is defaulted with %v, and admitted with %v", a.Spec, err, faults)
	}
	if err != nil {
		return faults, nil
	}
	if lost := lost(read(t, a.Spec), read(t, once), "", may); lost != "" {
		t.Errorf("%s became %s: lost %s", a.Spec, once, lost)
	}
	a.Spec = once
	if twice, err := admitter.Default(a); err != nil || !bytes.Equal(once, twice) {
		t.Errorf("%s, defaulted again, is %s, %v", once, twice, err)
	}
	return faults, once
}

// lost returns the path of a value that a document had before and no longer has; empty for none.
func lost(before, after any, path string, may MayFill) string {
	switch b := before.(type) {
	case map[string]any:
		a, _ := after.(map[string]any)
		for name, value := range b {
			now, there := a[name]
			if !there {
				return path + "." + name
			}
			if at := lost(value, now, path+"."+name, may); at != "" {
				return at
			}
		}
		if a != nil {
			return ""
		}
	case []any:
		a, there := after.([]any)
		if there && len(a) == len(b) {
			for i := range b {
				if at := lost(b[i], a[i], path+"["+strconv.Itoa(i)+"]", may); at != "" {
					return at
				}
			}
			return ""
		}
	}
	if reflect.DeepEqual(before, after) || may(path, before) {
		return ""
	}
	return path
}

// read decodes JSON, with numbers as they are written; empty input and null are a spec without fields.
func read(t rapid.TB, raw []byte) (value any) {
	t.Helper()
	from := json.NewDecoder(bytes.NewReader(raw))
	from.UseNumber()
	if err := from.Decode(&value); err != nil && len(raw) > 0 {
		t.Fatalf("%v in %s", err, raw)
	}
	if value == nil {
		return map[string]any{}
	}
	return value
}

// EmptyAndKnown lets an admitter fill empty fields, except unknown fields, whose names begin with "x-".
func EmptyAndKnown(path string, was any) bool { return Empty(was) && !strings.Contains(path, ".x-") }

// Empty reports whether a value means the same as an absent one: null, an empty text, zero or an empty
// list.
func Empty(was any) bool {
	switch v := was.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case json.Number:
		f, err := v.Float64()
		return err == nil && f == 0
	case []any:
		return len(v) == 0
	}
	return false
}
