package cloud_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/millwright-dev/millwright/dev/clouds/yandex"
	"github.com/millwright-dev/millwright/provider/fieldsdoc"
	"github.com/millwright-dev/millwright/providers/yandex/spec"
)

// reached says how a field of a spec reaches Yandex Cloud: the part of the request that the simulator receives, or the reason
// why no request has it.
type reached struct {
	// set is merged into the spec, as a JSON merge patch.
	set string
	// in is a part of the path of the request: Instance.Create if empty. want is JSON that the request contains; a null
	// means that the request has no such field.
	in, want string
	// why is the reason for which no request has it.
	why string
}

const (
	typeOfIt   = "identifies the type of the spec"
	byEngine   = "Millwright reads the secrets that the MachineClass names"
	oneNIC     = `{"networkInterfaceSpecs":[{"subnetID":"e9bother00000000001"`
	withPublic = oneNIC + `,"assignPublicIPAddress":true`
)

// classFields are those of machine.sapcloud.io.
var classFields = map[string]reached{
	"apiVersion":                       {why: typeOfIt},
	"labels":                           {set: `{"labels":{"team":"blue"}}`, want: `{"labels":{"team":"blue","kubernetes-io-cluster-c1":"1"}}`},
	"metadata":                         {set: `{"metadata":{"serial-port-enable":"1","user-data":"of the spec"}}`, want: `{"metadata":{"serial-port-enable":"1","ssh-keys":"ops:ssh-ed25519 A","user-data":"#cloud-config\n"}}`},
	"regionID":                         {why: "the zone decides the region. Without it the region is the zone without its last part"},
	"zoneID":                           {set: `{"zoneID":"kz1-a","networkInterfaceSpecs":[{"subnetID":"f8rother000000000001"}]}`, want: `{"zoneId":"kz1-a"}`},
	"platformID":                       {set: `{"platformID":"standard-v2"}`, want: `{"platformId":"standard-v2"}`},
	"networkType":                      {set: `{"networkType":"SOFTWARE_ACCELERATED"}`, want: `{"networkSettings":{"type":"SOFTWARE_ACCELERATED"}}`},
	"resourcesSpec.cores":              {set: `{"resourcesSpec":{"cores":4}}`, want: `{"resourcesSpec":{"cores":"4"}}`},
	"resourcesSpec.coreFraction":       {set: `{"resourcesSpec":{"coreFraction":50}}`, want: `{"resourcesSpec":{"coreFraction":"50"}}`},
	"resourcesSpec.memory":             {set: `{"resourcesSpec":{"memory":4294967296}}`, want: `{"resourcesSpec":{"memory":"4294967296","coreFraction":null,"gpus":null}}`},
	"resourcesSpec.gpus":               {set: `{"platformID":"gpu-standard-v3","resourcesSpec":{"gpus":1}}`, want: `{"resourcesSpec":{"gpus":"1"}}`},
	"bootDiskSpec.autoDelete":          {set: `{"bootDiskSpec":{"autoDelete":true}}`, want: `{"bootDiskSpec":{"autoDelete":true}}`},
	"bootDiskSpec.typeID":              {set: `{"bootDiskSpec":{"typeID":"network-hdd"}}`, want: `{"bootDiskSpec":{"diskSpec":{"typeId":"network-hdd"}}}`},
	"bootDiskSpec.size":                {set: `{"bootDiskSpec":{"size":10737418240}}`, want: `{"bootDiskSpec":{"diskSpec":{"size":"10737418240"}}}`},
	"bootDiskSpec.imageID":             {set: `{"bootDiskSpec":{"imageID":"fd8other"}}`, want: `{"bootDiskSpec":{"diskSpec":{"imageId":"fd8other"}}}`},
	"networkInterfaceSpecs[].subnetID": {set: oneNIC + `}]}`, want: `{"networkInterfaceSpecs":[{"subnetId":"e9bother00000000001"}]}`},
	"networkInterfaceSpecs[].assignPublicIPAddress": {
		set: withPublic + `}]}`, want: `{"networkInterfaceSpecs":[{"primaryV4AddressSpec":{"oneToOneNatSpec":{"ipVersion":"IPV4","address":null}}}]}`,
	},
	"networkInterfaceSpecs[].publicIPAddresses": {
		set: withPublic + `,"publicIPAddresses":["84.201.128.11"]}]}`, want: `{"networkInterfaceSpecs":[{"primaryV4AddressSpec":{"oneToOneNatSpec":{"address":"84.201.128.11"}}}]}`,
	},
	"schedulingPolicy.preemptible":   {set: `{"schedulingPolicy":{"preemptible":true}}`, want: `{"schedulingPolicy":{"preemptible":true}}`},
	"secretRef.name":                 {why: byEngine},
	"secretRef.namespace":            {why: byEngine},
	"credentialsSecretRef.name":      {why: byEngine},
	"credentialsSecretRef.namespace": {why: byEngine},
}

func TestEveryFieldReachesComputeCloud(t *testing.T) {
	there := fieldsdoc.Leaves(reflect.TypeOf(spec.ProviderSpec{}))
	for _, path := range slices.Sorted(maps.Keys(classFields)) {
		if _, ok := there[path]; !ok {
			t.Errorf("there is a row for %s, which no spec has", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(there)) {
		row, ok := classFields[path]
		if !ok {
			t.Errorf("%s has neither a row nor a reason", path)
			continue
		}
		if row.why == "" {
			t.Run(path, row.check)
		}
	}
}

func (r reached) operation() string { return cmp.Or(r.in, "Instance.Create") }

func (r reached) check(t *testing.T) {
	w := newWorld(t, func(o *yandex.Options) { o.AcceptAny = true })
	if _, err := w.open(t, patched(t, w.class("c1"), r.set)).Create(t.Context(), refOf("worker-1"), want); err != nil {
		t.Fatal(err)
	}
	for _, request := range w.Received(r.operation()) {
		if lacks := lacking(tree(t, asJSON(t, request.Message)), tree(t, []byte(r.want)), ""); lacks != "" {
			t.Errorf("%s: %s", r.operation(), lacks)
		}
	}
	if len(w.Received(r.operation())) != 1 {
		t.Errorf("%d requests %s", len(w.Received(r.operation())), r.operation())
	}
}

func asJSON(t *testing.T, m proto.Message) []byte {
	t.Helper()
	raw, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func tree(t *testing.T, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// lacking returns what a value lacks of the expected one; empty if it contains that.
func lacking(has, expected any, at string) string {
	switch e := expected.(type) {
	case map[string]any:
		object, _ := has.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(e)) {
			if lacks := lacking(object[key], e[key], at+"."+key); lacks != "" {
				return lacks
			}
		}
		return ""
	case []any:
		list, _ := has.([]any)
		if len(list) != len(e) {
			return fmt.Sprintf("%s has %d elements, want %d", at, len(list), len(e))
		}
		for n := range e {
			if lacks := lacking(list[n], e[n], fmt.Sprintf("%s[%d]", at, n)); lacks != "" {
				return lacks
			}
		}
		return ""
	}
	if has != expected {
		return fmt.Sprintf("%s is %v, want %v", at, has, expected)
	}
	return ""
}

const fieldsFile = "../../../docs/providers/yandex-fields.md"

const fieldsHead = `<!-- Code generated by TestFieldsPage of providers/yandex/cloud from the table of its tests. DO NOT EDIT. -->

# Fields of specs for Yandex Cloud

The table shows which field of the request to Compute Cloud receives each field of a spec, or why no request has the field. The test that generates this page sends
each field to a simulator of Yandex Cloud and checks what it receives. [How to use the spec](yandex.md).
`

// TestFieldsPage: the page matches the tests of fields. UPDATE_GOLDEN writes it.
func TestFieldsPage(t *testing.T) {
	of := fieldsdoc.Spec{Title: "machine.sapcloud.io: providerSpec of a MachineClass"}
	for path, is := range fieldsdoc.Leaves(reflect.TypeOf(spec.ProviderSpec{})) {
		of.Fields = append(of.Fields, fieldsdoc.Field{Path: path, Type: fieldsdoc.TypeName(is), Becomes: classFields[path].told(t)})
	}
	fieldsdoc.Page(t, fieldsFile, fieldsHead, of)
}

// told describes where the field goes, for the page.
func (r reached) told(t *testing.T) string {
	if r.why != "" {
		return "in no request: " + r.why
	}
	var in []string
	for _, path := range paths(tree(t, []byte(r.want)), "") {
		if path = "`" + path + "`"; !slices.Contains(in, path) {
			in = append(in, path)
		}
	}
	return fmt.Sprintf("`%s`: %s", r.operation(), strings.Join(in, ", "))
}

// paths are the paths of all values in a value. The keys of a map of texts are no part of a path.
func paths(v any, at string) (all []string) {
	switch v := v.(type) {
	case map[string]any:
		if at == "labels" || at == "metadata" {
			return []string{at}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if v[key] != nil {
				all = append(all, paths(v[key], strings.TrimPrefix(at+"."+key, "."))...)
			}
		}
		if len(all) == 0 { // the row says that there is nothing
			for key := range v {
				all = append(all, strings.TrimPrefix(at+"."+key, "."))
			}
		}
		return all
	case []any:
		return paths(v[0], at+"[]")
	}
	return []string{at}
}
