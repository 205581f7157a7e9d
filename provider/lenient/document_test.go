package lenient_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

func TestDocument(t *testing.T) {
	name := func(o *lenient.Document) { o.Set("name", "<new>") }
	text := func(o *lenient.Document) { o.In("part").Set("text", "new") }
	entry := func(o *lenient.Document) { o.Entry("parts", 1).Set("text", "new") }
	for _, r := range []struct {
		reason, raw string
		fill        func(*lenient.Document)
		want        string
	}{
		{"nothing is set: every byte stays", ` { "name" : "\u003c" , "x":1.0 } `, func(*lenient.Document) {}, ` { "name" : "\u003c" , "x":1.0 } `},
		{"numbers keep their digits, and characters stay readable", `{ "z":1.50, "a":[12345678901234567890123,1e2,"<&>"] }`, name, `{"a":[12345678901234567890123,1e2,"<&>"],"name":"<new>","z":1.50}`},
		{"null is empty", `null`, name, `{"name":"<new>"}`},
		{"whatever was there", `{"name":"old"}`, name, `{"name":"<new>"}`},
		{"in another case it is set where it is", `{"Name":"","NAME":"a"}`, name, `{"NAME":"a","Name":"<new>"}`},
		{"of several spellings the last one counts", `{"NAME":"a","name":"","naME":null}`, name, `{"NAME":"a","naME":null,"name":"<new>"}`},
		{"null in another case says nothing", `{"NAME":null}`, name, `{"NAME":null,"name":"<new>"}`},
		{"null behind the name takes it away", `{"parT":{"id":"a"},"part":null}`, text, `{"parT":{"id":"a"},"part":{"text":"new"}}`},
		{"an object is made", `{}`, text, `{"part":{"text":"new"}}`},
		{"an object is made of null", `{"part":null}`, text, `{"part":{"text":"new"}}`},
		{"an object keeps what else it has", `{"PART":{"x":[1.0],"TEXT":""}}`, text, `{"PART":{"TEXT":"new","x":[1.0]}}`},
		{"an entry keeps what else it has", `{"parts":[{"id":"a"},{"id":"b","Text":""},null]}`, entry, `{"parts":[{"id":"a"},{"Text":"new","id":"b"},null]}`},
		{"an entry is made of null", `{"PARTS":[{},null]}`, entry, `{"PARTS":[{},{"text":"new"}]}`},
		{"an entry is made with those before it", `{}`, entry, `{"parts":[null,{"text":"new"}]}`},
		{"a name that is a part of no other", `{"":1,"named":2}`, name, `{"":1,"name":"<new>","named":2}`},
	} {
		t.Run(r.reason, func(t *testing.T) {
			_, document, err := lenient.Decode[kinds]([]byte(r.raw))
			if err != nil {
				t.Fatal(err)
			}
			r.fill(document)
			got, err := document.JSON()
			if err != nil || string(got) != r.want {
				t.Errorf("%s, %v; want %s", got, err, r.want)
			}
		})
	}
}

func TestDocumentOfWhatIsNoJSON(t *testing.T) {
	_, document, err := lenient.Decode[kinds]([]byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	document.Set("name", func() {})
	if got, err := document.JSON(); provider.KindOf(err) != provider.Invalid || got != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// TestFillingLosesNothing: in any spec, each value that was set is read, and everything else is unchanged.
func TestFillingLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(written(t, admissiontest.Draw(t, new(kinds))))
		admissiontest.Holds(t, filling{}, admit.Request{Spec: raw, Path: root}, admissiontest.EmptyAndKnown)
		once, err := filling{}.Default(admit.Request{Spec: raw})
		if err != nil {
			return
		}
		s, _, err := lenient.Decode[kinds](once)
		if err != nil || !filled(s) {
			t.Errorf("%s became %s: %v", raw, once, err)
		}
	})
}
