package cloud_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// recordings are those of both originals.
const recordings = "testdata/recorded"

// record is one case of the recordings, with the keys that only they have. Its machine is m-<ID>.
type record struct {
	recordtest.Record
	// UserData is that of the secret; nil: that of userData. Secret changes further keys of it: null
	// removes one.
	UserData *string
	Secret   map[string]*string
}

func recordOf(t testing.TB, r recordtest.Record) record {
	t.Helper()
	var more struct {
		UserData *string
		Secret   map[string]*string
	}
	if err := json.Unmarshal(r.Line, &more); err != nil {
		t.Fatal(err)
	}
	return record{r, more.UserData, more.Secret}
}

func (r record) ref() provider.Ref { return ref("m-" + r.ID) }

// userData is the content of the secrets, by API. Requests have it in base64, and records leave it out.
var userData = map[string]string{provider.OpenShift: "ignition", provider.Gardener: "#cloud-config"}

// want returns the class of the case, and the input of the creation.
func (r record) want(b *bench) (provider.Class, provider.Want) {
	class, want := b.class(r.API, "c1"), provider.Want{UserData: []byte(userData[r.API])}
	class.Spec = r.Spec
	if r.UserData != nil {
		want.UserData = []byte(*r.UserData)
	}
	for key, value := range r.Secret {
		switch {
		case key == "userData":
			want.UserData = nil
		case value == nil:
			delete(class.Credentials, key)
		default:
			class.Credentials[key] = []byte(*value)
		}
	}
	return class, want
}

// play returns what the provider sends for the case, and the error with which it creates no server.
func (r record) play(t *testing.T) (map[string]recordtest.Parameters, error) {
	b := newBench(t, recordedInventory(t))
	b.objects[infrastructureRef] = `{"status":{"platformStatus":{"type":"OpenStack","openstack":{"apiServerInternalIPs":["10.9.0.5"],"ingressIPs":["10.9.0.7"]}}}}`
	class, want := r.want(b)
	s, err := b.start().Open(t.Context(), class)
	if err != nil {
		return nil, err
	}
	for range 6 { // volumes take time
		if _, err = s.Create(t.Context(), r.ref(), want); provider.KindOf(err) != provider.Conflict {
			break
		}
		b.clock.Advance(time.Minute)
	}
	sent := sentBy(t, b.sent.With(""), r.ref().Name)
	if sent["server"] != nil {
		return sent, nil
	}
	return sent, err
}

// recordedInventory is the inventory of the cloud at the time of the recording.
func recordedInventory(t *testing.T) func(*nova.Options) {
	raw, err := os.ReadFile("testdata/recorded/inventory.yaml")
	var i nova.Inventory
	if err == nil {
		err = yaml.UnmarshalStrict(raw, &i)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(o *nova.Options) { o.Inventory.Images, o.Inventory.Subnets = i.Images, i.Subnets }
}

// kinds are the requests that create or change an object: their names, and the key of their body's object.
var kinds = []struct {
	path       *regexp.Regexp
	name, body string
}{
	{regexp.MustCompile(`^POST /network/v2.0/ports\?`), "port", "port"},
	{regexp.MustCompile(`^PUT /network/v2.0/ports/[^/]+/tags\?`), "port tags", ""},
	{regexp.MustCompile(`^PUT /network/v2.0/ports/[^/]+\?`), "port update", "port"},
	{regexp.MustCompile(`^POST /network/v2.0/trunks\?`), "trunk", "trunk"},
	{regexp.MustCompile(`^PUT /network/v2.0/trunks/[^/]+/tags\?`), "trunk tags", ""},
	{regexp.MustCompile(`^POST /volume/v3/[^/]+/volumes\?`), "volume", "volume"},
	{regexp.MustCompile(`^POST /compute/v2.1/os-server-groups\?`), "server group", "server_group"},
	{regexp.MustCompile(`^POST /compute/v2.1/servers\?`), "server", "server"},
}

// sentBy returns requests in the form of records. A repeated request counts once.
func sentBy(t *testing.T, requests []string, machine string) map[string]recordtest.Parameters {
	sent, counts, seen := map[string]recordtest.Parameters{}, map[string]int{}, map[string]bool{}
	for _, request := range requests {
		for _, kind := range kinds {
			if !kind.path.MatchString(request) || seen[request] {
				continue
			}
			seen[request] = true
			name := kind.name
			if first, rest, numbered := strings.Cut(kind.name, " "); first != "server" {
				name = first + " " + strconv.Itoa(counts[kind.name])
				if numbered {
					name += " " + rest
				}
			}
			counts[kind.name]++
			_, raw, _ := strings.Cut(request, "? ")
			var all map[string]any
			if err := json.Unmarshal([]byte(raw), &all); err != nil {
				t.Fatalf("%s: %v", request, err)
			}
			var about any = all
			if kind.body != "" {
				about = all[kind.body]
			}
			out := recordtest.Flatten(about, sets)
			if hints, ok := all["os:scheduler_hints"].(map[string]any); ok && hints["group"] != "" {
				out["hints.group"] = "{group}"
			}
			sent[name] = anonymous(out, machine)
		}
	}
	return sent
}

// sets reports the lists whose order has no meaning.
func sets(path string) bool {
	return strings.HasSuffix(path, "tags") || strings.HasSuffix(path, "security_groups")
}

var madeID = map[string]*regexp.Regexp{
	"{port}": regexp.MustCompile(`^networks\.\d+\.port$`), "{volume}": regexp.MustCompile(`^block_device_mapping_v2\.\d+\.uuid$`),
}

// anonymous leaves out values that differ from run to run.
func anonymous(p recordtest.Parameters, machine string) recordtest.Parameters {
	for key, value := range p {
		p[key] = strings.ReplaceAll(value, machine, "{machine}")
		if madeID["{port}"].MatchString(key) {
			p[key] = "{port}"
		}
		if madeID["{volume}"].MatchString(key) && p[strings.TrimSuffix(key, "uuid")+"source_type"] == "volume" {
			p[key] = "{volume}"
		}
	}
	if raw, err := base64.StdEncoding.DecodeString(p["user_data"]); err == nil && slices.Contains(slices.Collect(maps.Values(userData)), string(raw)) {
		delete(p, "user_data")
	}
	delete(p, "port_id")
	return p
}

// TestRecordedRequests compares the provider's requests with the recorded ones of the originals.
func TestRecordedRequests(t *testing.T) {
	recordtest.Suite{
		Package: "providers/openstack/cloud", Folder: recordings, Page: "../../../docs/providers/openstack.md", APIs: bothAPIs,
		Same: "same requests, except for properties of all Millwright servers", Differences: differences, Implied: imply,
		Play: func(t *testing.T, r recordtest.Record) (map[string]recordtest.Parameters, error) {
			return recordOf(t, r).play(t)
		},
	}.Run(t)
}
