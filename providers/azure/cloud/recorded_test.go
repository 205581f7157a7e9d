package cloud_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/millwright-dev/millwright/dev/clouds/arm"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
	"github.com/millwright-dev/millwright/providers/azure/cloud"
)

// recordings are those of both originals.
const recordings = "testdata/recorded"

// home is the prefix of users' home paths. Files of this repository have none, so that none of a
// developer's is in them.
const home = "/" + "home/"

// circumstances are the keys of a record besides its spec.
type circumstances struct {
	// Machine is the machine's name; empty: m-<ID>.
	Machine string
	// Tags are those of the Infrastructure. Secret replaces keys of the secret: null removes them.
	Tags   map[string]string
	Secret map[string]*string
}

func circumstancesOf(t *testing.T, r recordtest.Record) (c circumstances) {
	t.Helper()
	if err := json.Unmarshal(r.Line, &c); err != nil {
		t.Fatal(err)
	}
	if c.Machine == "" {
		c.Machine = "m-" + r.ID
	}
	return c
}

// recordedInventory is the inventory of the cloud at the time of the recording.
func recordedInventory(t *testing.T) func(*arm.Options) {
	t.Helper()
	raw, err := os.ReadFile(recordings + "/inventory.json")
	var i arm.Inventory
	if err == nil {
		err = json.Unmarshal(raw, &i)
	}
	if err != nil {
		t.Fatal(err)
	}
	i.Accounts = arm.Sample().Accounts
	return func(o *arm.Options) { o.Inventory = i }
}

// recorded is a new process in the cluster of a case, the class, and the machine.
func recorded(t *testing.T, w *world, r recordtest.Record) (provider.Provider, provider.Class, provider.Ref) {
	t.Helper()
	around := circumstancesOf(t, r)
	infra := configv1.Infrastructure{Status: configv1.InfrastructureStatus{PlatformStatus: &configv1.PlatformStatus{Azure: &configv1.AzurePlatformStatus{
		CloudName: configv1.AzurePublicCloud, ResourceGroupName: group,
	}}}}
	for key, value := range around.Tags {
		infra.Status.PlatformStatus.Azure.ResourceTags = append(infra.Status.PlatformStatus.Azure.ResourceTags, configv1.AzureResourceTag{Key: key, Value: value})
	}
	p := cloud.New(cloud.Options{
		Clock: w.clock, Endpoint: w.url, CABundle: w.ca, Objects: objects{"Infrastructure cluster": infra}, Getenv: func(string) string { return "" },
	})
	spec := strings.ReplaceAll(string(r.Spec), "{home}/", home)
	c := provider.Class{API: r.API, Cluster: "c1", Spec: []byte(spec), Credentials: secrets(r.API, arm.SampleSecret)}
	for key, value := range around.Secret {
		if delete(c.Credentials, key); value != nil {
			c.Credentials[key] = []byte(*value)
		}
	}
	ref := machine(1)
	ref.Name = around.Machine
	return p, c, ref
}

// playRecord returns what the provider sends for a case, and the error with which it creates no virtual
// machine.
func playRecord(t *testing.T, r recordtest.Record) (map[string]recordtest.Parameters, error) {
	w := newWorld(t, recordedInventory(t))
	p, c, ref := recorded(t, w, r)
	s, err := p.Open(t.Context(), c)
	if err != nil {
		return nil, err
	}
	data := provider.Want{UserData: []byte("ignition")}
	if strings.Contains(string(r.Spec), `"userDataSecret":null`) {
		data.UserData = nil
	}
	_, err = s.Create(t.Context(), ref, data)
	sent := sentBy(t, w.sent.With("PUT "), ref.Name)
	if sent["virtual machine"] != nil {
		return sent, nil
	}
	return sent, err
}

// kinds are the kinds of resources, by the last kind in the path of their IDs.
var kinds = map[string]string{
	"virtualMachines": "virtual machine", "networkInterfaces": "network interface", "publicIPAddresses": "public address", "availabilitySets": "availability set",
	"disks": "disk", "agreements": "terms",
}

// sentBy returns requests in the form of records.
func sentBy(t *testing.T, requests []string, machine string) map[string]recordtest.Parameters {
	t.Helper()
	sent, disks := map[string]recordtest.Parameters{}, 0
	for _, request := range requests {
		target, _, _ := strings.Cut(request, "?")
		_, body, _ := strings.Cut(request, " {")
		path := strings.Split(target, "/")
		name := kinds[path[len(path)-2]]
		if name == "disk" {
			name += " " + strconv.Itoa(disks)
			disks++
		}
		var tree any
		if err := json.Unmarshal([]byte("{"+body), &tree); err != nil || name == "" {
			t.Fatalf("%s: %v", request, err)
		}
		sent[name] = anonymous(recordtest.Flatten(tree, nil), target, machine)
	}
	return sent
}

var (
	groupsInID = regexp.MustCompile(`(?i)/resourcegroups/`)
	password   = regexp.MustCompile(`<Value>[^<]*</Value>`)
)

// anonymous leaves out values that differ from run to run, and writes IDs in one way. The path has the name
// and the group of the resource.
func anonymous(p recordtest.Parameters, target, machine string) recordtest.Parameters {
	out := recordtest.Parameters{}
	write := func(text string) string {
		text = strings.NewReplacer(machine, "{machine}", "/subscriptions/"+arm.SampleSubscription, "{subscription}", home, "{home}/").Replace(text)
		return groupsInID.ReplaceAllString(text, "/resourceGroups/")
	}
	for key, value := range p {
		key, value = write(key), write(value)
		switch {
		case strings.HasSuffix(key, ".keyData") && !slices.Contains(givenKeys, strings.TrimSpace(value)):
			value = "{key}"
		case strings.HasSuffix(key, ".adminPassword"):
			value = "{password}"
		case strings.HasSuffix(key, ".content"):
			value = setup(password.ReplaceAllString(value, "<Value>{password}</Value>"))
		}
		out[key] = value
	}
	_, id, _ := strings.Cut(target, " ")
	out["id"] = write(id)
	delete(out, "name")
	return out
}

// givenKeys are those of specs: any other was generated.
var givenKeys = []string{"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQCtest core@example", "ssh-ed25519 AAAA", "no key", "not base64"}

// element is an XML element without nested ones.
var element = regexp.MustCompile(`<(\w+)>([^<>]*)</\w+>`)

// setup is the content of a part of an answer file, whatever the order and the spaces: its elements except
// descriptions.
func setup(xml string) string {
	var all []string
	for _, m := range element.FindAllStringSubmatch(xml, -1) {
		if m[1] != "Description" {
			all = append(all, m[1]+"="+m[2])
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestRecordedRequests compares the provider's requests with the recorded ones of the originals.
func TestRecordedRequests(t *testing.T) {
	recordtest.Suite{
		Package: "providers/azure/cloud", Folder: recordings, Page: "../../../docs/providers/azure.md", APIs: both,
		Same: "same requests, except for properties of all Millwright virtual machines", Differences: differences, Play: playRecord,
	}.Run(t)
}
