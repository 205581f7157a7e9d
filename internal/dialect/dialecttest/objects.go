package dialecttest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// fillers are for types whose random content would not survive JSON.
func fillers() []any {
	return []any{
		func(t *metav1.Time, c randfill.Continue) { t.Time = Now.Add(-duration(c)) },
		func(t *metav1.MicroTime, c randfill.Continue) { t.Time = Now.Add(-duration(c)) },
		func(d *metav1.Duration, c randfill.Continue) { d.Duration = duration(c) },
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewQuantity(c.Int63n(1000), resource.DecimalSI)
		},
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawString(`{}`) },
		func(n *intstr.IntOrString, c randfill.Continue) {
			*n = []intstr.IntOrString{intstr.FromInt32(c.Int31n(4)), intstr.FromString("25%"), intstr.FromString("many")}[c.Intn(3)]
		},
		func(e *runtime.RawExtension, c randfill.Continue) {
			e.Raw, e.Object = fmt.Appendf(nil, `{"big":%d,"instanceState":"running"}`, c.Int63()), nil
		},
	}
}

// flatten is the object's JSON as a map from paths to leaves. Lists of objects
// with distinct types are addressed by these, other lists by their index.
func flatten(o any) (map[string]string, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode the object: %w", err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, fmt.Errorf("decode the object: %w", err)
	}
	out := map[string]string{}
	leaves("", tree, out)
	return out, nil
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

func leaves(path string, v any, out map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			leaves(join(path, k), e, out)
		}
	case []any:
		for i, e := range v {
			key := fmt.Sprint(i)
			if o, ok := e.(map[string]any); ok {
				if t, ok := o["type"].(string); ok {
					key = t
				}
			}
			leaves(path+"["+key+"]", e, out)
		}
	default:
		raw, _ := json.Marshal(v) // it came from json.Unmarshal
		out[path] += string(raw)
	}
}

func join(path, key string) string {
	switch {
	case path == "":
		return key
	case plain.MatchString(key) && !strings.HasSuffix(path, "labels") && !strings.HasSuffix(path, "annotations"):
		return path + "." + key
	}
	return path + "[" + key + "]"
}

func changedPaths(before, after any) ([]string, error) {
	a, err := flatten(before)
	if err != nil {
		return nil, err
	}
	b, err := flatten(after)
	if err != nil {
		return nil, err
	}
	var out []string
	for path, v := range a {
		if w, ok := b[path]; !ok || v != w {
			out = append(out, path)
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out, nil
}

// under reports whether the path is one of the roots or below one.
func under(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		rest, ok := strings.CutPrefix(path, root)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

func has(leaves map[string]string, root string) bool {
	for path, v := range leaves {
		if under(path, []string{root}) && v != `""` && v != "null" {
			return true
		}
	}
	return false
}

// overwrite replaces all text that can be reached through pointers, slices and
// maps, in place.
func overwrite(v any) { scribble(reflect.ValueOf(v)) }

func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				scribble(f)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if v.Type().Elem().Kind() == reflect.String {
				v.SetMapIndex(k, reflect.ValueOf("scribbled").Convert(v.Type().Elem()))
			}
		}
	case reflect.String:
		v.SetString("scribbled")
	case reflect.Uint8:
		v.SetUint('x')
	}
}

// duration is up to an hour, in seconds: that precision survives JSON.
func duration(c randfill.Continue) time.Duration { return time.Duration(c.Int63n(3600)) * time.Second }
