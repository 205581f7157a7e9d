package kit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/provider"
)

// level is an object or a list that contains the position of a scan.
type level struct {
	list bool
	at   int    // the index in a list
	key  []byte // the name in an object, quoted
}

// inspect finds what a decoder must not get: values that are nested more than [mostLevels] deep, and
// quantities that take too long to compute. It reads raw once, and accepts text that is not JSON.
func inspect(raw []byte, into reflect.Type) error {
	var open []level
	var text []byte // the last one read
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '{', '[':
			if len(open) == mostLevels {
				return provider.InvalidField(pathOf(open[:deepest]), "has values more than %d levels deep", mostLevels)
			}
			open = append(open, level{list: c == '['})
		case '}', ']':
			open = open[:max(0, len(open)-1)]
		case ':':
			if len(open) > 0 {
				open[len(open)-1].key = text
			}
		case ',':
			if len(open) > 0 {
				open[len(open)-1].at++
			}
		case ' ', '\t', '\r', '\n':
		default:
			end := endOfScalar(raw, i)
			text, i = raw[i:end], end-1
			if !namesValue(raw, end) && enormous(text) && typeAt(into, open) == quantity {
				return provider.InvalidField(pathOf(open[:min(len(open), deepest)]), "%q is no quantity that can be computed", provider.Clip(string(text), 100))
			}
		}
	}
	return nil
}

// endOfScalar is the index after the text, number or word that begins at the given one.
func endOfScalar(raw []byte, begin int) int {
	if raw[begin] != '"' {
		if n := bytes.IndexAny(raw[begin+1:], "{}[]:,\" \t\r\n"); n >= 0 {
			return begin + 1 + n
		}
		return len(raw)
	}
	for i := begin + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// namesValue reports whether the scalar that ends there is the name of a value.
func namesValue(raw []byte, end int) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw[end:], " \t\r\n"), []byte(":"))
}

var quantity = reflect.TypeFor[resource.Quantity]()

// enormous reports whether a quantity of this text takes too long to compute: 1e999999999 is a number of a
// billion digits.
func enormous(scalar []byte) bool {
	text := string(scalar)
	if scalar[0] == '"' && json.Unmarshal(scalar, &text) != nil {
		return false // no JSON
	}
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return len(text) > mostDigits
	}
	// Spaces may follow the digits; they are removed before the text is parsed.
	exponent := strings.TrimLeft(text[i+1:], "+-0")
	digits := len(exponent) - len(strings.TrimLeft(exponent, "0123456789"))
	return len(text) > mostDigits || digits > 3
}

// mostDigits is the longest quantity; the largest useful one has 19 digits.
const mostDigits = 100

// typeAt is the type of the value at the position of a scan; nil if it is not known.
func typeAt(t reflect.Type, open []level) reflect.Type {
	for _, l := range open {
		switch t = pointedAt(t); {
		case t == nil:
			return nil
		case l.list && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
			t = t.Elem()
		case !l.list && t.Kind() == reflect.Map:
			t = t.Elem()
		case !l.list && t.Kind() == reflect.Struct:
			t = fieldOf(t, l.key)
		default:
			return nil
		}
	}
	return pointedAt(t)
}

func pointedAt(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// fieldOf is the type of the field with this JSON name, or nil.
func fieldOf(t reflect.Type, quoted []byte) reflect.Type {
	var name string
	if json.Unmarshal(quoted, &name) != nil {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == cmp.Or(tag, f.Name) {
			return f.Type
		}
	}
	return nil
}

func pathOf(open []level) (path string) {
	for _, l := range open {
		if l.list {
			path += "[" + strconv.Itoa(l.at) + "]"
			continue
		}
		var key string
		if json.Unmarshal(l.key, &key) != nil {
			break // no JSON
		}
		path = join(path, provider.Clip(key, mostPath))
	}
	return provider.Clip(path, mostPath)
}
