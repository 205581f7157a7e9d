package cloud_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/prism"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// differences are the intended differences.
var differences = []recordtest.Difference{
	{
		How: recordtest.Adds, Key: `^vm (metadata\.uuid|spec\.description)$`, Always: true,
		What: "UUID and description", Original: "sends neither",
		Here: "sends a UUID that it has reserved, and marks of the machine in the description", Why: "a repeated request creates no second virtual machine. A mark finds the machine's virtual machine",
	},
	{
		How: recordtest.Omits, Key: `^vm metadata\.spec_version$`, Always: true,
		What: "`spec_version` of a new virtual machine", Original: "sends 1",
		Here: "omits it", Why: "Prism Central assigns it",
	},
	{
		How: recordtest.Empties, Key: `\.user_data\.`, Always: true,
		What: "empty objects in the configuration of Ignition", Original: "adds them, and removes fields that Ignition 3.2 does not have",
		Here: "changes nothing but the host name", Why: "a newer version of Ignition keeps its fields",
	},
	{
		How: recordtest.Alters, Key: `flash_mode$`,
		What: "`diskMode: Flash`", Original: "sends `ON`, which the vendor's description does not have",
		Here: "sends `ENABLED`", Why: "the description has `ENABLED` and `DISABLED`",
	},
	{
		How: recordtest.Omits, Key: `guest_customization`, Has: `"userDataSecret":null|"spec":\{[^}]*\}`, Lacks: "userDataSecret",
		What: "no user data", Original: "sends an empty text",
		Here: "omits the field", Why: "the guest needs no medium with user data",
	},
	{
		How: recordtest.Omits, Key: `user_data\.storage\.files\.1`, Has: `"id":"user-data-hostname"`,
		What: "user data with its own `/etc/hostname`", Original: "adds a second file of this path, which Ignition refuses",
		Here: "keeps the file of the user", Why: "the machine boots",
	},
	{
		How: recordtest.Makes, Has: `"id":"user-data-text"`,
		What: "user data that is no configuration of Ignition", Original: "refuses it, except for machines with the label of Windows",
		Here: "passes it on unchanged", Why: "cloud-init of the guest reads it",
	},
}

// play returns the request of the provider for a case, and its error if it sends none.
func (w *world) play(t *testing.T, r recordtest.Record) (map[string]recordtest.Parameters, error) {
	t.Helper()
	var more struct{ UserData string }
	if err := json.Unmarshal(r.Line, &more); err != nil {
		t.Fatal(err)
	}
	class, data, spec := classOf("", "c1"), want, map[string]json.RawMessage{}
	class.Spec = r.Spec
	if err := json.Unmarshal(r.Spec, &spec); err != nil {
		t.Fatal(err)
	}
	if more.UserData != "" {
		data.UserData = []byte(more.UserData)
	}
	if spec["userDataSecret"] == nil { // as the engine passes them
		data.UserData = nil
	}
	if spec["credentialsSecret"] == nil {
		class.Credentials = nil
	}
	s, err := w.startWith(objects{"Infrastructure": infrastructureOfDomains}).Open(t.Context(), class)
	if err != nil {
		return nil, err
	}
	ref, before := refOf("m-"+r.ID), len(w.Received("POST vms"))
	_, err = s.Create(t.Context(), ref, data)
	w.clock.Advance(time.Minute)
	sent := w.Received("POST vms")[before:]
	if len(sent) != 1 {
		return nil, err
	}
	return map[string]recordtest.Parameters{"vm": parameters(t, sent[0].Body, ref.Name)}, nil
}

const infrastructureOfDomains = `{"spec":{"platformSpec":{"type":"Nutanix","nutanix":{"prismCentral":{"address":"prism.example","port":9440},"failureDomains":[{"name":"fd-b",
"cluster":{"type":"Name","name":"cluster-b"},"subnets":[{"type":"UUID","uuid":"0005f1a0-0000-4000-8000-00000000020b"}]}]}}}}`

// parameters are the fields of a request to create a virtual machine, with decoded user data.
func parameters(t *testing.T, body []byte, name string) recordtest.Parameters {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal(body, &tree); err != nil {
		t.Fatal(err)
	}
	resources := tree["spec"].(map[string]any)["resources"].(map[string]any)
	if custom, ok := resources["guest_customization"].(map[string]any); ok {
		init := custom["cloud_init"].(map[string]any)
		data, err := base64.StdEncoding.DecodeString(init["user_data"].(string))
		if err != nil {
			t.Fatal(err)
		}
		var config map[string]any
		init["user_data"] = string(data)
		if json.Unmarshal(data, &config) == nil {
			init["user_data"] = config
		}
	}
	p := recordtest.Flatten(tree, nil)
	for key, value := range p {
		p[key] = strings.ReplaceAll(strings.ReplaceAll(value, base64.StdEncoding.EncodeToString([]byte(name)), "{machine64}"), name, "{machine}")
	}
	return p
}

// TestRecordedRequests compares the requests with those of the original's recordings.
func TestRecordedRequests(t *testing.T) {
	w := newWorld(t, prism.Options{Inventory: prism.Sample()})
	recordtest.Suite{
		Package: "providers/nutanix/cloud", Folder: "testdata/recorded", Page: "../../../docs/providers/nutanix.md", APIs: []string{provider.OpenShift},
		Same: "same requests, except for Millwright's marks", Differences: differences, Play: w.play,
	}.Run(t)
}
