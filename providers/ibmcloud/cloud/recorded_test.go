package cloud_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// differences are the intended differences.
var differences = []recordtest.Difference{
	{
		API: provider.OpenShift, How: recordtest.Adds, Key: `^instance (primary_network_interface|boot_volume_attachment|boot_volume_attachment\.volume)\.name$`, Always: true,
		What: "names of parts", Original: "writes none: VPC chooses random words",
		Here: "names the network interface, the boot volume and its attachment", Why: "the names identify the machine, and prevent a second instance",
	},
	{
		API: provider.OpenShift, How: recordtest.Adds, Key: `^instance boot_volume_attachment\.delete_volume_on_instance_delete$`, Always: true,
		What: "the boot volume of a deleted instance", Original: "leaves the setting to VPC, which deletes the volume",
		Here: "requests that", Why: "a remaining volume would cost money",
	},
	{
		API: provider.OpenShift, How: recordtest.Adds, Key: `^instance boot_volume_attachment\.volume\.profile\.name$`, Always: true,
		What: "a spec without a boot volume", Original: "sends no boot volume",
		Here: "requests the profile `general-purpose`", Why: "the name of the volume needs a profile. The original writes the same profile if the spec has any other setting",
	},
	{
		API: provider.OpenShift, How: recordtest.Empties, Key: `^instance user_data$`,
		What: "empty user data", Original: "writes an empty text",
		Here: "omits it", Why: "VPC treats both alike",
	},
	{
		API: provider.OpenShift, How: recordtest.Makes, Has: `"id":"groups-twice"`,
		What: "a security group that is named twice", Original: "finds too few groups, and reports that",
		Here: "uses the group once", Why: "the spec is unambiguous",
	},
	{
		API: provider.OpenShift, How: recordtest.Refuses, Has: `"id":"region-(empty|none)"`,
		What: "a spec without a region", Original: "needs none if the Infrastructure has an endpoint of VPC",
		Here: "refuses it", Why: "capacity is counted by region",
	},
	{
		How:  recordtest.Refuses,
		Has:  `"id":"(zone-empty|zone-none|volume-negative|volume-negative-iops|volume-key-name|tags-no-name)"`,
		What: "a spec that lacks a zone, or has a value out of range", Original: "sends it, and reports VPC's refusal. It ignores tags",
		Here: "refuses it, and names the field", Why: "the error appears before the first request",
	},
}

// play returns the request of the provider for a case, and its error if it sends none.
func (w *world) play(t *testing.T, r recordtest.Record) (map[string]recordtest.Parameters, error) {
	t.Helper()
	var more struct{ UserData *string }
	if err := json.Unmarshal(r.Line, &more); err != nil {
		t.Fatal(err)
	}
	class, data := w.class("c1"), want
	class.Spec = r.Spec
	switch {
	case more.UserData != nil:
		data.UserData = []byte(*more.UserData)
	case !strings.Contains(string(r.Spec), "userDataSecret"): // the engine has none then
		data.UserData = nil
	}
	s, err := w.start().Open(t.Context(), class)
	if err != nil {
		return nil, err
	}
	ref, before := refOf("m-"+r.ID), len(w.Received("create_instance"))
	_, err = s.Create(t.Context(), ref, data)
	sent := w.Received("create_instance")[before:]
	if len(sent) != 1 {
		return nil, err
	}
	return map[string]recordtest.Parameters{"instance": parameters(t, string(sent[0].Body), ref)}, nil
}

// parameters are the fields of a request. Security groups are a set.
func parameters(t *testing.T, body string, ref provider.Ref) recordtest.Parameters {
	t.Helper()
	tree, _ := decoded(t, body).(map[string]any)
	nic, _ := tree["primary_network_interface"].(map[string]any)
	if groups, ok := nic["security_groups"].([]any); ok {
		var ids []any
		for _, g := range groups {
			ids = append(ids, g.(map[string]any)["id"])
		}
		nic["security_groups"] = ids
	}
	p := recordtest.Flatten(any(tree), func(path string) bool { return path == "primary_network_interface.security_groups" })
	for key, value := range p {
		p[key] = strings.ReplaceAll(value, ref.Name, "{machine}")
	}
	return p
}

// TestRecordedRequests compares the requests with those of the original's recordings.
func TestRecordedRequests(t *testing.T) {
	w := newWorld(t)
	recordtest.Suite{
		Package: "providers/ibmcloud/cloud", Folder: "testdata/recorded", Page: "../../../docs/providers/ibmcloud.md", APIs: []string{provider.OpenShift},
		Same: "same requests, except for names of parts and the boot volume", Differences: differences, Play: w.play,
	}.Run(t)
}
