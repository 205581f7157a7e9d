package cloud_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/fieldsdoc"
	"github.com/millwright-dev/millwright/providers/metal3/spec"
)

// row says where the host has a field, or why it has no such field.
type row struct{ at, why string }

const (
	decidesNothing = "has no effect"
	chooses        = "selects hosts by their labels: TestSelector"
)

var rows = map[string]row{
	"apiVersion":                          {why: decidesNothing},
	"kind":                                {why: decidesNothing},
	"metadata":                            {why: decidesNothing},
	"image.url":                           {at: "spec.image.url"},
	"image.checksum":                      {at: "spec.image.checksum"},
	"customDeploy.method":                 {at: "spec.customDeploy.method"},
	"hostSelector.matchLabels":            {why: chooses},
	"hostSelector.matchExpressions[].key": {why: chooses},
	"hostSelector.matchExpressions[].operator": {why: chooses},
	"hostSelector.matchExpressions[].values[]": {why: chooses},
	"userData.name":          {why: "names the secret whose key `userData` is in the secret that `spec.userData` of the host names: TestMeant"},
	"userData.namespace":     {why: "the namespace of that secret; default: the machine's namespace"},
	"credentialsSecret.name": {why: "names the secret whose key `kubeconfig` gives access to the hosts' cluster; default: the machine's namespace and cluster: TestNamespaces"},
}

var shapes = map[string]reflect.Type{provider.OpenShift: reflect.TypeFor[spec.OpenShift](), provider.Gardener: reflect.TypeFor[spec.Gardener]()}

// leaves returns the paths and the JSON types of all leaf fields of a type.
func leaves(t reflect.Type, at string) map[string]string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case at == "metadata":
		return map[string]string{at: "object"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.String:
		return leaves(t.Elem(), at+"[]")
	case t.Kind() == reflect.Slice:
		return map[string]string{at + "[]": "list"}
	case t.Kind() == reflect.Map:
		return map[string]string{at: "map"}
	case t.Kind() != reflect.Struct:
		return map[string]string{at: "string"}
	}
	all := map[string]string{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			maps.Copy(all, leaves(f.Type, at))
			continue
		}
		maps.Copy(all, leaves(f.Type, strings.TrimPrefix(at+"."+name, ".")))
	}
	return all
}

var steps = regexp.MustCompile(`([^.[]+)(?:\[(\d+)])?`)

// under returns the value of a document at a path; brackets choose an element of a list.
func under(document any, path string) any {
	raw, _ := json.Marshal(document)
	_ = json.Unmarshal(raw, &document)
	for _, s := range steps.FindAllStringSubmatch(path, -1) {
		fields, ok := document.(map[string]any)
		if !ok {
			return nil
		}
		document = fields[s[1]]
		list, ok := document.([]any)
		if n, err := strconv.Atoi(s[2]); ok && err == nil {
			if n >= len(list) {
				return nil
			}
			document = list[n]
		}
	}
	return document
}

// TestFields sends each field that a host has, and looks for it there. An incomplete image is ignored, as in
// the original.
func TestFields(t *testing.T) {
	for api, shape := range shapes {
		for path := range leaves(shape, "") {
			r, ok := rows[path]
			if !ok {
				t.Errorf("%s: %s has no row", api, path)
			}
			if r.at == "" {
				continue
			}
			b := newBench(t)
			class := b.class(api, "c1")
			class.Spec = []byte(`{"image":{"url":"https://images.example.com/a","checksum":"sum"},"customDeploy":{"method":"own"}}`)
			i, err := b.create(class, machineRef("m"), "x")
			if err != nil {
				t.Fatal(err)
			}
			var sent any
			_ = json.Unmarshal(class.Spec, &sent)
			if got, want := under(b.host(i.ID), r.at), under(sent, path); got != want || want == nil {
				t.Errorf("%s: %s is %v, want %v", api, r.at, got, want)
			}
		}
	}
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	class.Spec = []byte(`{"image":{"url":"https://images.example.com/a"},"customDeploy":{"method":"own"}}`)
	i, err := b.create(class, machineRef("m"), "")
	if err != nil {
		t.Fatal(err)
	}
	if h := b.host(i.ID); h.At("spec", "image") != nil || h.At("spec", "userData") != nil || h.Text("spec", "consumerRef", "apiVersion") != versions[provider.OpenShift] {
		t.Errorf("the host is %v", h["spec"])
	}
}

func TestRowsAreComplete(t *testing.T) {
	for path := range rows {
		if _, ok := leaves(shapes[provider.OpenShift], "")[path]; !ok {
			t.Errorf("there is no field %s", path)
		}
	}
}

// TestSelector: machines get the hosts that either part of the selector selects.
func TestSelector(t *testing.T) {
	b := newBench(t, hosts(worker, one(storage)))
	for _, selector := range []string{
		`{"matchLabels":{"role":"storage"}}`, `{"matchExpressions":[{"key":"role","operator":"NotIn","values":["worker"]}]}`,
		`{"matchExpressions":[{"key":"role","operator":"in","values":["storage","other"]}]}`,
	} {
		class, ref := b.class(provider.Gardener, "c1"), machineRef("m")
		class.Spec = []byte(`{"customDeploy":{"method":"own"},"hostSelector":` + selector + `}`)
		if i, err := b.create(class, ref, "x"); err != nil || i.ID != "demo/storage-1" {
			t.Errorf("%s gets %s, %v", selector, i.ID, err)
		}
		b.removed(class, ref)
	}
}

const fieldsHead = `<!-- Code generated by TestFieldsPage of providers/metal3/cloud from the rows of its tests. DO NOT EDIT. -->

# Fields of specs for Metal3

The table shows which field of the BareMetalHost has the value of each field of a spec, or why none has it. The tests that generate this
page send each field to a simulated API server and check what it receives. [How to use the specs](metal3.md).
`

var testName = regexp.MustCompile(`: Test\w+$`)

// TestFieldsPage: the page has the results of the tests of fields. With UPDATE_GOLDEN set it is written
// again.
func TestFieldsPage(t *testing.T) {
	page := func(api, kind string) fieldsdoc.Spec {
		of := fieldsdoc.Spec{Title: api + ": " + kind}
		for path, kind := range leaves(shapes[api], "") {
			becomes := testName.ReplaceAllString(rows[path].why, "")
			if becomes == "" {
				becomes = "`" + rows[path].at + "`"
			}
			of.Fields = append(of.Fields, fieldsdoc.Field{Path: path, Type: kind, Becomes: becomes})
		}
		return of
	}
	fieldsdoc.Page(t, "../../../docs/providers/metal3-fields.md", fieldsHead,
		page(provider.OpenShift, "BareMetalMachineProviderSpec, in providerSpec.value"), page(provider.Gardener, "providerSpec of a MachineClass"))
}
