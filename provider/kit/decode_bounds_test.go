package kit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// budget is far above the time for any document, even on a busy machine: without bounds some of the
// documents below take minutes, or never end.
const budget = 30 * time.Second

// nested is a document of n nested lists or objects.
func nested(open, shut string, n int) string {
	return `{"labels":{"a":` + strings.Repeat(open, n) + "1" + strings.Repeat(shut, n) + `}}`
}

func TestDecodeStrictIsBounded(t *testing.T) {
	cases := []struct {
		reason, raw string
		field       string // the beginning of the path
		parts       int    // the most parts of the path
	}{
		{"lists 900 deep", nested("[", "]", 900), "labels.a", 30},
		{"lists 9000 deep, 18 KB", nested("[", "]", 9000), "labels.a", 30},
		{"objects 900 deep", nested(`{"k":`, "}", 900), "labels.a", 30},
		{"objects 3000 deep", nested(`{"k":`, "}", 3000), "labels.a", 30},
		{"deep in a field that nobody knows", strings.Replace(nested("[", "]", 5000), "labels", "lobels", 1), "lobels.a", 30},
		{"brackets without an end", strings.Repeat("[", 1<<20), "[0]", 30},
		{"a long list with a wrong last value", `{"disks":[` + strings.Repeat(`{"size":1},`, 100_000) + `{"size":"big"}]}`, "disks", 3},
		{"a long map with a wrong last value", `{"labels":{` + many(60_000, `"k%06d":"v",`) + `"z":1}}`, "labels", 2},
		{"a long name around a long list", `{"labels":{"` + strings.Repeat("k", 500_000) + `":[` + strings.Repeat("1,", 250_000) + `1]}}`, "labels.kkk", 5},
		{"a number of a billion digits", `{"memory":"1e999999999"}`, "memory", 1},
		{"one that is computed while it is decoded", `{"memory":"12345678901234567890e999999999"}`, "memory", 1},
		{"one without quotes", `{"memory":1E+99999999}`, "memory", 1},
		{"one in other letters", `{"memory":"1\u0065999999999"}`, "memory", 1},
		{"nothing, a billion times", `{"memory":"0e999999999"}`, "memory", 1},
		{"as many digits behind the point", `{"memory":"0.` + strings.Repeat("0", 1<<20) + `1"}`, "memory", 1},
		{"one with a space behind it", `{"memory":"12345678901234567890e99999999 "}`, "memory", 1},
		{"one with spaces before it", `{"memory":"\t 1e99999999"}`, "memory", 1},
		{"in a list of maps", `{"sizes":[{"a":"1"},{"b":"1e99999"}]}`, "sizes[1].b", 3},
		{"a wrong value before a long text", `{"labels":{"a":1,"b":"` + strings.Repeat("x", 1<<20) + `"}}`, "labels.a", 2},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			var s spec
			at := time.Now()
			err := kit.DecodeStrict([]byte(c.raw), &s)
			if took := time.Since(at); took > budget {
				t.Errorf("took %v for %d bytes", took, len(c.raw))
			}
			e, ok := errors.AsType[*provider.Error](err)
			if !ok || e.Kind != provider.Invalid {
				t.Fatalf("%v is not Invalid", err)
			}
			if !strings.HasPrefix(e.Field, c.field) || strings.Count(e.Field, ".")+strings.Count(e.Field, "[") > c.parts {
				t.Errorf("names the field %.200q", e.Field)
			}
			if len(e.Field) > 4<<10 {
				t.Errorf("names the field with %d bytes", len(e.Field))
			}
		})
	}
}

// many repeats a text n times, each with its number.
func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Everything that an API server stores decodes, whatever its size.
func TestDecodeStrictTakesWhatAnAPIServerStores(t *testing.T) {
	cases := []struct{ reason, raw string }{
		{"many labels", `{"labels":{` + many(70_000, `"k%06d":"value",`) + `"z":"v"}}`},
		{"one long text", `{"size":"` + strings.Repeat("x", 3<<19) + `"}`},
		{"what would be an enormous quantity, in a text", `{"size":"1e999999999","labels":{"a":"12e4567"}}`},
		{"a name like an enormous quantity's", `{"sizes":[{"a":1,"e9999.example.com/x" : 1,"` + strings.Repeat("x", 200) + `":1}]}`},
		{"a large quantity", `{"memory":"1e100"}`},
		{"a small quantity", `{"memory":"1e-100"}`},
		{"brackets in a text", `{"size":"` + strings.Repeat(`[{\"`, 100_000) + `"}`},
		{"many disks", `{"disks":[` + strings.Repeat(`{"size":1},`, 130_000) + `{"size":2}]}`},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			var s spec
			if err := kit.DecodeStrict([]byte(c.raw), &s); err != nil {
				t.Errorf("%.200v", err)
			}
		})
	}
}
