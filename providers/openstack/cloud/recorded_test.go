package cloud_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
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
)

// record is one case of testdata/recorded: a spec, and what the original of its API sent for it.
type record struct {
	api string
	// ID names the case, and its machine: m-<ID>.
	ID   string `json:"id"`
	Spec json.RawMessage
	// UserData is that of the secret; nil: that of userData. Secret changes further keys of it: null takes one out.
	UserData *string
	Secret   map[string]*string
	// Refused: the original asks for no server.
	Refused bool
	// Fields are those that the original names as it refuses the spec.
	Fields []string
	// Sent are the fields of what it sends, by operation: "server", "port 0", "port 0 tags", "volume 0".
	Sent map[string]parameters
}

// parameters are the fields of one request, by path: fixed_ips.0.subnet_id. A tag, or a security group, is a path of its own.
type parameters map[string]string

// recorded are all cases of an API, each whole.
func recorded(t testing.TB, api string) (all []record) {
	t.Helper()
	name := map[string]string{provider.OpenShift: "openshift", provider.Gardener: "gardener"}[api]
	f, err := os.Open("testdata/recorded/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var base map[string]any
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if base == nil {
			base = clone(t, line)
		}
		for _, part := range []string{"spec", "sent"} {
			if patch, ok := line[part].(map[string]any); ok {
				line[part] = patched(clone(t, base[part]), patch)
			}
		}
		if whole, ok := line["whole"]; ok {
			line["spec"] = whole
		}
		raw, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		r := record{api: api}
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		if api == provider.Gardener {
			r.imply()
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// clone is a tree of JSON of its own.
func clone(t testing.TB, tree any) map[string]any {
	t.Helper()
	out := map[string]any{}
	raw, err := json.Marshal(tree)
	if err == nil && tree != nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// patched is a JSON merge patch.
func patched(tree, patch map[string]any) map[string]any {
	for key, value := range patch {
		inner, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(tree, key)
		case isObject:
			there, _ := tree[key].(map[string]any)
			if there == nil {
				there = map[string]any{}
			}
			tree[key] = patched(there, inner)
		default:
			tree[key] = value
		}
	}
	return tree
}

func (r record) ref() provider.Ref { return ref("m-" + r.ID) }

// userData is what secrets have, by API. Requests have it in base64, and records leave it out.
var userData = map[string]string{provider.OpenShift: "ignition", provider.Gardener: "#cloud-config"}

// text is all that the case is made of.
func (r record) text(t testing.TB) string {
	secret, err := json.Marshal(r.Secret)
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Spec) + string(secret)
}

// want is what is asked for of the case, and the class it is asked of.
func (r record) want(b *bench) (provider.Class, provider.Want) {
	class, want := b.class(r.api, "c1"), provider.Want{UserData: []byte(userData[r.api])}
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

// play is what the provider sends for the case, and the error with which it asks for no server.
func (r record) play(t *testing.T) (map[string]parameters, error) {
	b := newBench(t, recordedInventory(t))
	b.objects[infrastructureRef] = `{"status":{"platformStatus":{"type":"OpenStack","openstack":{"apiServerInternalIPs":["10.9.0.5"],"ingressIPs":["10.9.0.7"]}}}}`
	class, want := r.want(b)
	s, err := b.start().Open(t.Context(), class)
	if err != nil {
		return nil, err
	}
	for range 6 { // volumes take their time
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

// recordedInventory is that of the cloud when the records were made.
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

// kinds are the requests that make or change something: what they are called, and the key of what their body is about.
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

// sentBy are requests in the form of records. What is asked again counts once.
func sentBy(t *testing.T, requests []string, machine string) map[string]parameters {
	sent, counts, seen := map[string]parameters{}, map[string]int{}, map[string]bool{}
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
			out := parameters{}
			out.flatten("", about)
			if hints, ok := all["os:scheduler_hints"].(map[string]any); ok && hints["group"] != "" {
				out["hints.group"] = "{group}"
			}
			sent[name] = out.anonymous(machine)
		}
	}
	return sent
}

// flatten writes what is under a path. An empty list, an empty object and null are written as such.
func (p parameters) flatten(path string, v any) {
	at := func(key string) string { return strings.TrimPrefix(path+"."+key, ".") }
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			p[path] = "{}"
		}
		for key, one := range v {
			p.flatten(at(key), one)
		}
	case []any:
		set := strings.HasSuffix(path, "tags") || strings.HasSuffix(path, "security_groups")
		if len(v) == 0 {
			p[path] = "[]"
		}
		for n, one := range v {
			if set {
				p[at(fmt.Sprint(one))] = "yes"
			} else {
				p.flatten(at(strconv.Itoa(n)), one)
			}
		}
	case nil:
		p[path] = "null"
	case float64:
		p[path] = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		p[path] = fmt.Sprint(v)
	}
}

var madeID = map[string]*regexp.Regexp{
	"{port}": regexp.MustCompile(`^networks\.\d+\.port$`), "{volume}": regexp.MustCompile(`^block_device_mapping_v2\.\d+\.uuid$`),
}

// anonymous leaves out what differs from run to run.
func (p parameters) anonymous(machine string) parameters {
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

// deviation is one parameter that the original and the provider send differently; nil: it is not sent.
type deviation struct {
	operation, key string
	original, ours *string
}

func (d deviation) String() string {
	shown := func(s *string) string {
		if s == nil {
			return "nothing"
		}
		return fmt.Sprintf("%q", *s)
	}
	return fmt.Sprintf("%s %s: the original sends %s, this provider %s", d.operation, d.key, shown(d.original), shown(d.ours))
}

// verdict is the key of a deviation in whether something is made at all.
const verdict = "verdict"

// compare returns how the two differ, and how many parameters were compared.
func (r record) compare(ours map[string]parameters, err error) (all []deviation, compared int) {
	if said := err != nil; said != r.Refused {
		word := map[bool]string{true: "refused", false: "made"}
		original, here := word[r.Refused], word[said]
		return []deviation{{key: verdict, original: &original, ours: &here}}, 1
	}
	if r.Refused {
		return nil, 1
	}
	operations := map[string]parameters{}
	maps.Copy(operations, r.Sent)
	maps.Copy(operations, ours)
	for _, operation := range slices.Sorted(maps.Keys(operations)) {
		keys := map[string]string{}
		maps.Copy(keys, r.Sent[operation])
		maps.Copy(keys, ours[operation])
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			compared++
			one, sends := r.Sent[operation][key]
			other, sendsToo := ours[operation][key]
			if sends && sendsToo && one == other {
				continue
			}
			d := deviation{operation: operation, key: key}
			if sends {
				d.original = &one
			}
			if sendsToo {
				d.ours = &other
			}
			all = append(all, d)
		}
	}
	return all, compared
}
