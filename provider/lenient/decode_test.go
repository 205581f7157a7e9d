package lenient_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// reading is a document, and the strict document that the originals read as the same.
type reading struct{ reason, raw, want string }

var alike = []reading{
	{"null is an empty spec", ` null `, `{}`},
	{"a name in another case", `{"NAME":"a","PART":{"Id":"b"}}`, `{"name":"a","part":{"id":"b"}}`},
	{"a name that a letter of another alphabet folds to", `{"\u212Ainds":1,"li\u017Ft":["a"]}`, `{"list":["a"]}`},
	{"two fields whose names differ by case only", `{"OWNER":"a","owner":"b"}`, `{"OWNER":"a","owner":"b"}`},
	{"neither of the two: the first", `{"Owner":"a"}`, `{"OWNER":"a"}`},
	{"a field without a tag", `{"UNTAGGED":"a"}`, `{"Untagged":"a"}`},
	{"a field that JSON does not show", `{"Hidden":"a","-":"b"}`, `{}`},
	{"unknown fields", `{"x":[{}],"part":{"rack":1e400},"parts":[{"y":"1e999999999"}]}`, `{"part":{},"parts":[{}]}`},
	{"unknown fields far deeper than known ones may be", `{"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, `{}`},

	{"the last spelling counts", `{"NAME":"a","name":"b","naME":"c"}`, `{"name":"b"}`},
	{"null takes no text away", `{"NAME":"a","name":null}`, `{"name":"a"}`},
	{"null takes an object away that may be missing", `{"OTHER":{"id":"a"},"other":null}`, `{}`},
	{"null leaves one that may not", `{"PART":{"id":"a"},"part":null}`, `{"part":{"id":"a"}}`},
	{"null takes a list away", `{"LIST":["a"],"list":null}`, `{}`},
	{"of two objects the parts count", `{"PART":{"id":"a","text":"b"},"part":{"text":"c"}}`, `{"part":{"id":"a","text":"c"}}`},
	{"of two lists the entries, as far as the last one goes", `{"PARTS":[{"id":"a"},{"id":"b"}],"parts":[{"text":"c"}]}`, `{"parts":[{"id":"a","text":"c"}]}`},
	{"of two maps all keys", `{"LABELS":{"a":"1","b":"1"},"labels":{"b":"2"}}`, `{"labels":{"a":"1","b":"2"}}`},
	{"keys of maps differ by case", `{"labels":{"a":1,"A":2}}`, `{"labels":{"A":"2","a":"1"}}`},

	{"numbers for texts", `{"name":7,"word":-1,"pointer":0,"list":[1,2],"labels":{"a":3}}`, `{"name":"7","word":"-1","pointer":"0","list":["1","2"],"labels":{"a":"3"}}`},
	{"booleans for texts", `{"name":true,"list":[false]}`, `{"name":"true","list":["false"]}`},
	{"whole numbers for texts keep their digits", `{"name":9007199254740993,"word":18446744073709551615}`, `{"name":"9007199254740993","word":"18446744073709551615"}`},
	{"broken ones for texts are written as short as can be", `{"name":0.50,"word":1e3,"list":[-0,1.0,1E+21,12345678901234567890123]}`, `{"name":"0.5","word":"1000","list":["0","1","1e+21","1.2345679e+22"]}`},
	{"what is too large for a number is text", `{"name":1E400,"port":1E400}`, `{"name":"1E400","port":"1E400"}`},
	{"whole numbers in any notation", `{"int":1.28e2,"uint":16.0,"part":{"count":1e0}}`, `{"int":128,"uint":16,"part":{"count":1}}`},
	{"larger than all that are whole as 64 bits with a point", `{"int":1e18}`, `{"int":1000000000000000000}`},
	{"of as many digits as may be", `{"int":-9223372036854775808}`, `{"int":-9223372036854775808}`},
	{"nothing below nothing", `{"uint":-0,"float":-0}`, `{"uint":0,"float":0}`},
	{"numbers of types that read themselves", `{"port":8.0,"size":1e3,"sizes":{"a":1.50}}`, `{"port":8,"size":1000,"sizes":{"a":1.5}}`},
	{"texts of types that read themselves", `{"port":"8.0","size":"1e3","time":"2006-01-02T15:04:05Z"}`, `{"port":"8.0","size":"1e3","time":"2006-01-02T15:04:05Z"}`},
}

func TestDecode(t *testing.T) {
	for _, r := range alike {
		t.Run(r.reason, func(t *testing.T) {
			got, _, err := lenient.Decode[kinds]([]byte(r.raw))
			if err != nil {
				t.Fatal(err)
			}
			var want kinds
			if err := kit.DecodeStrict([]byte(r.want), &want); err != nil {
				t.Fatal(err)
			}
			if g, w := written(t, got), written(t, want); g != w {
				t.Errorf("%s is read as\n%s, want\n%s", r.raw, g, w)
			}
			agrees[kinds](t, normal([]byte(r.raw)))
		})
	}
}

// apart are the documents that the originals read differently, or not at all, and why.
var apart = []struct {
	reason, raw string
	original    bool   // the originals read it
	cause       string // of an error; empty: no error
}{
	{"there is always a spec: whoever has none asks nobody to decode it", ``, true, "there is nothing"},
	{"what is YAML only cannot be in the JSON of an API", `name: a`, true, "invalid character"},
	{"a billion digits take all the time there is", `{"size":"1e4444"}`, true, `size: "\"1e4444\"" is no quantity`},
	{"in another case too, and if it does not count", `{"SIZE":"1e4444","size":"1"}`, true, `size: "\"1e4444\"" is no quantity`},
	{"the type and the version of a spec may be like texts as all others", `{"kind":7,"apiVersion":true}`, false, ""},
	{"an API server leaves no blanks, people do", "\t{\"name\":\"a\"}", false, ""},
	{"nor does it leave pairs of surrogates", `{"name":"\ud83d\ude00"}`, false, ""},
}

func TestDecodeIsApartFromTheOriginals(t *testing.T) {
	for _, r := range apart {
		t.Run(r.reason, func(t *testing.T) {
			if err := yaml.Unmarshal([]byte(r.raw), new(kinds)); r.original != (err == nil) {
				t.Errorf("the originals: %v", err)
			}
			_, _, err := lenient.Decode[kinds]([]byte(r.raw))
			refused(t, r.raw, err, r.cause)
		})
	}
}

// TestDecodeKnown: a document that the original reads is read, and each unknown field is refused.
func TestDecodeKnown(t *testing.T) {
	if got, err := lenient.DecodeKnown[kinds]([]byte(`{"INT":7.0}`)); err != nil || got.Int != 7 {
		t.Errorf("reads %+v, %v", got, err)
	}
	got, err := lenient.DecodeKnown[kinds]([]byte(`{"name":"a","x":1,"part":{"y":2}}`))
	if got != nil || provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), "part.y") || !strings.Contains(err.Error(), "x") {
		t.Errorf("reads %+v, %v", got, err)
	}
}

func TestDecodeNamesTheCause(t *testing.T) {
	for _, r := range []struct{ reason, raw, cause string }{
		{"no object", `[]`, "cannot unmarshal array"},
		{"a text", `"x"`, "cannot unmarshal string"},
		{"a number", `7`, "cannot unmarshal number"},
		{"it ends too early", `{"name": `, "unexpected EOF"},
		{"something behind it", `{} {}`, "more behind the end, at byte 4"},
		{"more levels than any decoder has", `{"part":` + strings.Repeat("[", 20000), "exceeded max depth"},
		{"an object for a text", `{"Part":{"TEXT":{}}}`, "part.text: "},
		{"a text for a number", `{"parts":[{},{"count":"1"}]}`, "parts[1].count: "},
		{"a text for a boolean", `{"yes":"true"}`, "yes: "},
		{"a broken number for a whole one", `{"int":1.5}`, "int: "},
		{"too large a number", `{"part":{"count":4294967296}}`, "part.count: "},
		{"one below nothing", `{"uint":-1}`, "uint: "},
		{"no quantity", `{"sizes":{"a":"big"}}`, "sizes.a: quantities must match"},
		{"a number that takes too long to compute", `{"sizes":{"a":1E+99999999}}`, "sizes.a: "},
		{"a broken number of what is whole or text", `{"port":0.5}`, "port: "},
		{"deeper than a spec may be", `{"time":` + strings.Repeat("[", 1100) + strings.Repeat("]", 1100) + `}`, "levels deep"},
		{"a value that another spelling replaces", `{"NAME":[],"name":"a"}`, "kinds.name"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			got, document, err := lenient.Decode[kinds]([]byte(r.raw))
			if got != nil || document != nil {
				t.Errorf("there is %v, and %v", got, document)
			}
			refused(t, r.raw, err, r.cause)
			said := lenient.Undecodable(field.NewPath("providerSpec"), errors.Join(err, errors.New(strings.Repeat("x", 1<<20))))
			if text := said.Error(); said.Type != field.ErrorTypeInvalid || said.Field != "providerSpec" || !strings.Contains(text, r.cause) || len(text) > 2<<10 {
				t.Errorf("the fault is %.2000s", text)
			}
		})
	}
}

func refused(t *testing.T, raw string, err error, cause string) {
	t.Helper()
	if cause == "" {
		if err != nil {
			t.Errorf("%.100s: %v", raw, err)
		}
		return
	}
	if err == nil || provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), cause) {
		t.Errorf("%.100s: %v, want an Invalid error with %q", raw, err, cause)
	}
}
