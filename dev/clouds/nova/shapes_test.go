package nova_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
)

// caller calls the simulator as curl would.
type caller struct {
	t     *testing.T
	url   string
	clock *double.Clock
	cloud *nova.Cloud
	token string
}

func newCaller(t *testing.T, change ...func(*nova.Options)) *caller {
	t.Helper()
	o := nova.Options{Inventory: nova.Sample()}
	for _, c := range change {
		c(&o)
	}
	clock := &double.Clock{}
	cloud := nova.New(clock, o)
	s := httptest.NewServer(double.NewServer(clock, cloud))
	t.Cleanup(s.Close)
	c := &caller{t: t, url: s.URL, clock: clock, cloud: cloud}
	c.token = c.login("secret")
	return c
}

func (c *caller) login(password string) string {
	c.t.Helper()
	r, _ := c.send("POST", "/identity/v3/auth/tokens", tokenRequest(password))
	return r.Header.Get("X-Subject-Token")
}

func tokenRequest(password string) string {
	return fmt.Sprintf(`{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"machines","password":%q,"domain":{"name":"Default"}}}},
		"scope":{"project":{"name":"demo","domain":{"id":"default"}}}}}`, password)
}

// reply is the status and the headers of an answer.
type reply struct {
	StatusCode int
	Header     http.Header
}

func (c *caller) send(method, path, body string) (reply, []byte) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", c.token)
	r.Header.Set("OpenStack-API-Version", "compute 2.53")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return reply{answer.StatusCode, answer.Header}, raw
}

// get is the value of an answer at a path of names.
func get(t *testing.T, raw []byte, names ...string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	for _, n := range names {
		v = v.(map[string]any)[n]
	}
	return fmt.Sprint(v)
}

const net1, sub1 = "9dc8b730-e135-4551-9687-f176ba5bdf03", "6b7de768-d267-48b1-b917-31e861472aa4"

func (c *caller) port() (raw []byte, id string) {
	c.t.Helper()
	_, raw = c.send("POST", "/network/v2.0/ports", `{"port":{"name":"w9","network_id":"`+net1+`","fixed_ips":[{"subnet_id":"`+sub1+`"}]}}`)
	return raw, get(c.t, raw, "port", "id")
}

func order(image, flavor, zone, networks string) string {
	return fmt.Sprintf(`{"server":{"name":"w9","imageRef":%q,"flavorRef":%q,"availability_zone":%q,"networks":%s,"metadata":{"a":"b"},"tags":["c1"]}}`, image, flavor, zone, networks)
}

// TestShapes: every answer has exactly the fields of a real OpenStack's answer, each of the same kind.
func TestShapes(t *testing.T) {
	c := newCaller(t)
	image, flavor := c.find("/image/v2/images?name=rhcos", "images"), c.find("/compute/v2.1/flavors/detail", "flavors")
	answers := map[string][]byte{}
	ask := func(name, method, path, body string) {
		_, answers[name] = c.send(method, path, body)
	}
	ask("keystone-token", "POST", "/identity/v3/auth/tokens", tokenRequest("secret"))
	ask("token-bad", "POST", "/identity/v3/auth/tokens", tokenRequest("wrong"))
	ask("nova-version", "GET", "/compute/v2.1/", "")
	ask("azs", "GET", "/compute/v2.1/os-availability-zone", "")
	ask("flavors", "GET", "/compute/v2.1/flavors/detail", "")
	ask("images", "GET", "/image/v2/images?name=gardenlinux", "")
	ask("networks", "GET", "/network/v2.0/networks?name=net1", "")
	ask("subnets", "GET", "/network/v2.0/subnets?name=sub1", "")
	ask("security-groups", "GET", "/network/v2.0/security-groups", "")
	raw, port := c.port()
	answers["port-create"] = raw
	nics := `[{"port":"` + port + `"}]`
	ask("server-bad-flavor", "POST", "/compute/v2.1/servers", order(image, "nope", "nova", nics))
	ask("server-bad-image", "POST", "/compute/v2.1/servers", order("nope", flavor, "nova", nics))
	ask("server-bad-az", "POST", "/compute/v2.1/servers", order(image, flavor, "nope", nics))
	ask("server-bad-net", "POST", "/compute/v2.1/servers", order(image, flavor, "nova", `[{"uuid":"00000000-0000-0000-0000-000000000000"}]`))
	ask("server-create", "POST", "/compute/v2.1/servers", order(image, flavor, "nova", nics))
	server := "/compute/v2.1/servers/" + get(t, answers["server-create"], "server", "id")
	ask("server-get-building", "GET", server, "")
	c.clock.Advance(time.Minute)
	ask("server-get-active", "GET", server, "")
	ask("servers-list", "GET", "/compute/v2.1/servers/detail?name=w9&tags=c1", "")
	ask("server-interfaces", "GET", server+"/os-interface", "")
	ask("port-bound", "GET", "/network/v2.0/ports/"+port, "")
	c.send("DELETE", server, "")
	c.clock.Advance(time.Minute)
	ask("server-404", "GET", server, "")
	ask("server-get-deleted", "GET", server, "")
	if err := c.cloud.Do("exhaust", "nova"); err != nil {
		t.Fatal(err)
	}
	ask("server-create-nvh", "POST", "/compute/v2.1/servers", order(image, flavor, "nova", nics))
	c.clock.Advance(time.Minute) // the cause follows the state
	ask("server-error-novalidhost", "GET", "/compute/v2.1/servers/"+get(t, answers["server-create-nvh"], "server", "id"), "")

	for _, path := range fixtures(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.HasPrefix(answers[name], []byte("<")) {
				t.Fatalf("%s", answers[name])
			}
			alike(t, "", decoded(t, answers[name]), decoded(t, want))
		})
	}
}

func (c *caller) find(path, kind string) string {
	c.t.Helper()
	_, raw := c.send("GET", path, "")
	var all map[string]json.RawMessage
	var rows []struct{ ID string }
	if err := json.Unmarshal(raw, &all); err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(all[kind], &rows); err != nil || len(rows) == 0 {
		c.t.Fatalf("%s: %v: %s", path, err, raw)
	}
	return rows[0].ID
}

func fixtures(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*.json")
	if err != nil || len(all) != 24 {
		t.Fatalf("%d recorded answers, want 24 (error %v)", len(all), err)
	}
	return all
}

func decoded(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %.300s", err, raw)
	}
	return v
}

// free are objects with arbitrary keys.
var free = []string{".metadata", ".extra_specs", ".profile", ".addresses"}

// alike checks that both have the same keys, and values of the same kind. Of lists it compares the first
// entries; null matches anything.
func alike(t *testing.T, path string, got, want any) {
	t.Helper()
	if want == nil || got == nil {
		return
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s is %T, was an object", path, got)
			return
		}
		if slices.ContainsFunc(free, func(f string) bool { return strings.HasSuffix(path, f) }) {
			return
		}
		for key := range w {
			if _, ok := g[key]; !ok {
				t.Errorf("%s has no %q", path, key)
				continue
			}
			alike(t, path+"."+key, g[key], w[key])
		}
		for key := range g {
			if _, ok := w[key]; !ok {
				t.Errorf("%s has %q, which the real one had not", path, key)
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok {
			t.Errorf("%s is %T, was a list", path, got)
			return
		}
		if len(g) > 0 && len(w) > 0 {
			alike(t, path+"[0]", g[0], w[0])
		}
	default:
		if fmt.Sprintf("%T", got) != fmt.Sprintf("%T", want) {
			t.Errorf("%s is %T, was %T", path, got, want)
		}
	}
}
