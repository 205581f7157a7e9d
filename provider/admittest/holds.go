// Package admittest has what tests of admitters share: what holds of each of them, and specs to try it on.
package admittest

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

// MayFill says whether Default may put something in the place of a value, at a path such as ".disks[0].type". Of numbers it is
// given a [json.Number].
type MayFill func(path string, was any) bool

// Holds checks what is true of any spec, whatever it says: faults are about it, one that cannot be decoded is refused as a whole
// and defaulted with an error that is [provider.Invalid], and of any other one Default loses nothing and leaves nothing to fill in.
// It returns the faults, and the spec with its defaults, nil if it cannot be decoded.
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

// lost is the path of what was in a document and is not there any more; empty for nothing.
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

// read is the value of JSON, with numbers as they are written; nothing and null are a spec without fields.
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

// EmptyAndKnown lets an admitter fill in what is empty, but in fields that no type has, whose names begin with "x-".
func EmptyAndKnown(path string, was any) bool { return Empty(was) && !strings.Contains(path, ".x-") }

// Empty reports whether a value says nothing in a place where no value is the same as nothing: null, no text, zero or a list of none.
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
