package cloud_test

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/ibmcloud"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/fieldsdoc"
	"github.com/millwright-dev/millwright/providers/ibmcloud/spec"
)

// reached says how a field of a spec reaches IBM Cloud: the part of the request that the simulator receives, or the reason why no
// request has it.
type reached struct {
	// set is merged into the spec, as a JSON merge patch.
	set string
	// in is the operation: create_instance if empty. want is JSON that the body of the request contains, or a parameter
	// with its value.
	in, want string
	// why is the reason for which no request has it.
	why string
}

const (
	typeOfIt = "identifies the type of the spec"
	ignored  = "metadata of the spec has no effect, as with the original"
	byEngine = "Millwright reads the Secret"
)

// machineFields are those of machine.openshift.io.
var machineFields = map[string]reached{
	"kind": {why: typeOfIt}, "apiVersion": {why: typeOfIt}, "metadata": {why: ignored},
	"userDataSecret.name": {why: byEngine}, "credentialsSecret.name": {why: byEngine},
	"region":                                 {why: "it is part of the address of VPC"},
	"zone":                                   {set: `{"zone":"us-south-2","primaryNetworkInterface":{"subnet":"c1-subnet-compute-us-south-2"}}`, want: `{"zone":{"name":"us-south-2"}}`},
	"vpc":                                    {set: `{"vpc":"c1-vpc"}`, want: `{"vpc":{"id":"{vpc}"}}`},
	"image":                                  {set: `{"image":"c1-rhcos"}`, want: `{"image":{"id":"r006-3a2b3c4d-0000-4000-8000-000000000001"}}`},
	"profile":                                {set: `{"profile":"bx2-8x32"}`, want: `{"profile":{"name":"bx2-8x32"}}`},
	"dedicatedHost":                          {set: `{"dedicatedHost":"c1-host"}`, want: `{"placement_target":{"id":"0717-4a2b3c4d-0000-4000-8000-000000000001"}}`},
	"resourceGroup":                          {set: `{"resourceGroup":"c1"}`, want: `{"resource_group":{"id":"0a1b2c3d4e5f60718293a4b5c6d7e8f9"}}`},
	"networkResourceGroup":                   {set: `{"networkResourceGroup":"c1"}`, in: "list_vpcs", want: "resource_group.id=0a1b2c3d4e5f60718293a4b5c6d7e8f9"},
	"primaryNetworkInterface.subnet":         {set: `{}`, want: `{"primary_network_interface":{"subnet":{"id":"{subnet}"}}}`},
	"primaryNetworkInterface.securityGroups": {set: `{"primaryNetworkInterface":{"securityGroups":null}}`, want: `{"primary_network_interface":{"security_groups":null}}`},
	"bootVolume.profile":                     {set: `{"bootVolume":{"profile":"10iops-tier"}}`, want: `{"boot_volume_attachment":{"volume":{"profile":{"name":"10iops-tier"}}}}`},
	"bootVolume.sizeGiB":                     {set: `{"bootVolume":{"sizeGiB":200}}`, want: `{"boot_volume_attachment":{"volume":{"capacity":200,"profile":{"name":"general-purpose"}}}}`},
	"bootVolume.iops":                        {set: `{"bootVolume":{"profile":"custom","iops":3000}}`, want: `{"boot_volume_attachment":{"volume":{"iops":3000}}}`},
	"bootVolume.bandwidth":                   {set: `{"bootVolume":{"profile":"sdp","bandwidth":1000}}`, want: `{"boot_volume_attachment":{"volume":{"bandwidth":1000}}}`},
	"bootVolume.encryptionKey":               {set: `{"bootVolume":{"encryptionKey":"crn:v1:k"}}`, want: `{"boot_volume_attachment":{"volume":{"encryption_key":{"crn":"crn:v1:k"}}}}`},
	"tags[].name":                            {set: `{"tags":[{"name":"team","value":"blue"}]}`, in: "attach_tag", want: `{"tag_names":["team:blue"]}`},
	"tags[].value":                           {set: `{"tags":[{"name":"team","value":"red"}]}`, in: "attach_tag", want: `{"tag_names":["team:red"]}`},
}

func TestEveryFieldReachesIBMCloud(t *testing.T) {
	there := fieldsdoc.Leaves(reflect.TypeFor[spec.ProviderSpec]())
	for _, path := range slices.Sorted(maps.Keys(machineFields)) {
		if _, ok := there[path]; !ok {
			t.Errorf("there is a row for %s, which no spec has", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(there)) {
		row, ok := machineFields[path]
		if !ok {
			t.Errorf("%s has neither a row nor a reason", path)
			continue
		}
		if row.why == "" {
			t.Run(path, row.check)
		}
	}
}

func (r reached) operation() string { return cmp.Or(r.in, "create_instance") }

func (r reached) check(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	s := w.open(t, patched(t, w.class("c1"), r.set))
	i := w.create(t, s, ref)
	maintainer, _ := provider.As[provider.Maintainer](s)
	if err := maintainer.Maintain(t.Context(), ref, i); err != nil {
		t.Fatal(err)
	}
	all := w.Received(r.operation())
	if len(all) != 1 {
		t.Fatalf("%d requests %s", len(all), r.operation())
	}
	if lacks := r.lacking(t, w, all[0]); lacks != "" {
		t.Errorf("%s: %s", r.operation(), lacks)
	}
}

// lacking returns what a request lacks of the expected one.
func (r reached) lacking(t *testing.T, w *world, request ibmcloud.Received) string {
	vpc, subnet := w.Network("c1-vpc", "us-south-1")
	want := strings.NewReplacer("{vpc}", vpc, "{subnet}", subnet).Replace(r.want)
	if strings.HasPrefix(want, "{") {
		return lacking(decoded(t, string(request.Body)), decoded(t, want), "")
	}
	if key, value, _ := strings.Cut(want, "="); request.Query.Get(key) != value {
		return fmt.Sprintf("%s is %q, want %q", key, request.Query.Get(key), value)
	}
	return ""
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

const fieldsFile = "../../../docs/providers/ibmcloud-fields.md"

const fieldsHead = `<!-- Code generated by TestFieldsPage of providers/ibmcloud/cloud from the table of its tests. DO NOT EDIT. -->

# Fields of specs for IBM Cloud

The table shows which field of a request receives each field of a spec, or why no request has the field. The test that generates this page sends
each field to a simulator of IBM Cloud and checks what it receives. [How to use the spec](ibmcloud.md).
`

// TestFieldsPage: the page matches the tests of fields. UPDATE_GOLDEN writes it.
func TestFieldsPage(t *testing.T) {
	of := fieldsdoc.Spec{Title: "machine.openshift.io: providerSpec.value of a Machine"}
	for path, is := range fieldsdoc.Leaves(reflect.TypeFor[spec.ProviderSpec]()) {
		of.Fields = append(of.Fields, fieldsdoc.Field{Path: path, Type: fieldsdoc.TypeName(is), Becomes: machineFields[path].effect(t)})
	}
	fieldsdoc.Page(t, fieldsFile, fieldsHead, of)
}

// effect describes where the field goes, for the page.
func (r reached) effect(t *testing.T) string {
	if r.why != "" {
		return "in no request: " + r.why
	}
	key, _, isParameter := strings.Cut(r.want, "=")
	in := []string{key}
	if !isParameter {
		in = fieldsOf(decoded(t, r.want), "")
		slices.Sort(in)
	}
	return fmt.Sprintf("`%s`: `%s`", r.operation(), strings.Join(in, "`, `"))
}
