package fieldsdoc

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// Leaves returns the types of all fields of a spec's type that hold no other fields, by their paths in JSON: "a.b[].c". A list of
// texts or numbers is one field, and so is the metadata of the spec. A field without a name in JSON has its Go name.
func Leaves(t reflect.Type) map[string]reflect.Type { return leaves(t, "") }

func leaves(t reflect.Type, at string) map[string]reflect.Type {
	switch {
	case t.Kind() == reflect.Pointer:
		return leaves(t.Elem(), at)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return leaves(t.Elem(), at+"[]")
	case t.Kind() != reflect.Struct || at == "metadata":
		return map[string]reflect.Type{at: t}
	}
	all := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			maps.Copy(all, leaves(f.Type, at))
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		maps.Copy(all, leaves(f.Type, strings.TrimPrefix(at+"."+name, ".")))
	}
	return all
}

// TypeName returns the type of a field in JSON's words: "list of strings".
func TypeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.Slice:
		return "list of " + TypeName(t.Elem()) + "s"
	case reflect.Map:
		return TypeName(t.Elem()) + "s by name"
	case reflect.Struct:
		return "object"
	}
	return "string"
}

// Patched returns a spec to which a JSON merge patch (RFC 7396) was applied.
func Patched(t testing.TB, spec []byte, patch string) []byte {
	t.Helper()
	out, err := jsonpatch.MergePatch(spec, []byte(patch))
	if err != nil {
		t.Fatalf("patch %s: %v", patch, err)
	}
	return out
}
