package nova_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/nova"
)

// TestWords: errors have the same status and text as those of a real OpenStack.
func TestWords(t *testing.T) {
	c := newCaller(t, func(o *nova.Options) {
		o.Inventory.Quota = nova.Quota{Instances: 10, Cores: 2, RAM: 4096, Ports: 2, Volumes: 0}
		o.Inventory.Networks[1].Shared = true
	})
	image, flavor := c.find("/image/v2/images?name=rhcos", "images"), c.find("/compute/v2.1/flavors/detail", "flavors")
	_, port := c.port()
	nics := `[{"port":"` + port + `"}]`
	_, second := c.port()
	for _, r := range []struct {
		reason, method, path, body string
		status                     int
		words                      string
	}{
		{"no such flavor", "POST", "/compute/v2.1/servers", order(image, "nope", "nova", nics), 400, `"badRequest":{"code":400,"message":"Flavor nope could not be found."`},
		{"no such image", "POST", "/compute/v2.1/servers", order("nope", flavor, "nova", nics), 400, "Can not find requested image"},
		{"no such zone", "POST", "/compute/v2.1/servers", order(image, flavor, "nope", nics), 400, "The requested availability zone is not available"},
		{"no such port", "POST", "/compute/v2.1/servers", order(image, flavor, "nova", `[{"port":"x"}]`), 400, "Port id x could not be found."},
		{"several networks and none named", "POST", "/compute/v2.1/servers", strings.Replace(order(image, flavor, "nova", "[]"), `"networks":[],`, "", 1), 409, "Multiple possible networks found"},
		{"a key of metadata with a slash", "POST", "/compute/v2.1/servers", strings.Replace(order(image, flavor, "nova", nics), `"a":"b"`, `"a/b":"c"`, 1), 400, "metadata"},
		{"a tag with a slash", "POST", "/compute/v2.1/servers", strings.Replace(order(image, flavor, "nova", nics), `["c1"]`, `["a/b"]`, 1), 400, "does not match"},
		{"accepted", "POST", "/compute/v2.1/servers", order(image, flavor, "nova", nics), 202, `"adminPass"`},
		{"a quota", "POST", "/compute/v2.1/servers", order(image, flavor, "nova", `[{"port":"`+second+`"}]`), 403, "Quota exceeded for cores, ram: Requested 2, 4096, but already used 2, 4096 of 2, 4096 cores, ram"},
		{"a quota of ports", "POST", "/network/v2.0/ports", `{"port":{"network_id":"` + net1 + `"}}`, 409, `"type":"OverQuota"`},
		{"a quota of volumes", "POST", "/volume/v3/p/volumes", `{"volume":{"size":1}}`, 413, "VolumeLimitExceeded"},
		{"a MAC address in somebody else's network", "POST", "/network/v2.0/ports", `{"port":{"mac_address":"fa:00:00:00:00:01","network_id":"5b0f2a35-4a52-4f4e-8d1e-2f0f6a1c9e77"}}`, 403, "rule:create_port:mac_address) is disallowed by policy"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			answer, raw := c.send(r.method, r.path, r.body)
			if answer.StatusCode != r.status || !strings.Contains(string(raw), r.words) {
				t.Errorf("%d %s, want %d with %q", answer.StatusCode, raw, r.status, r.words)
			}
		})
	}
}

// TestMACAddressesAreGivenOnce: the provider relies on unique MAC addresses.
func TestMACAddressesAreGivenOnce(t *testing.T) {
	c := newCaller(t)
	body := `{"port":{"mac_address":"FA:00:00:00:00:01","network_id":"` + net1 + `"}}`
	if answer, raw := c.send("POST", "/network/v2.0/ports", body); answer.StatusCode != http.StatusCreated {
		t.Fatalf("%s", raw)
	}
	if answer, raw := c.send("POST", "/network/v2.0/ports", strings.ToLower(body)); answer.StatusCode != http.StatusConflict || !strings.Contains(string(raw), "MacAddressInUse") {
		t.Errorf("the second port: %d %s", answer.StatusCode, raw)
	}
}

// TestPortsOutliveServers: ports outlive servers unless Nova created them, and are bound only after a while.
func TestPortsOutliveServers(t *testing.T) {
	c := newCaller(t)
	image, flavor := c.find("/image/v2/images?name=rhcos", "images"), c.find("/compute/v2.1/flavors/detail", "flavors")
	_, port := c.port()
	_, raw := c.send("POST", "/compute/v2.1/servers", order(image, flavor, "nova", `[{"port":"`+port+`"},{"uuid":"`+net1+`"}]`))
	server := get(t, raw, "server", "id")
	device := func() string {
		_, raw := c.send("GET", "/network/v2.0/ports/"+port, "")
		return get(t, raw, "port", "device_id")
	}
	if d := device(); d != "" {
		t.Errorf("the port is bound to %s at once", d)
	}
	c.clock.Advance(time.Minute)
	if d := device(); d != server {
		t.Errorf("the port is bound to %q, want %s", d, server)
	}
	c.send("DELETE", "/compute/v2.1/servers/"+server, "")
	c.clock.Advance(time.Minute)
	if d, n := device(), len(c.cloud.Dependants()); d != "" || n != 1 {
		t.Errorf("after its server the port is bound to %q, and there are %d ports", d, n)
	}
}

// TestOnePortOneServer: a second server is refused after the port is bound, and fails if it was accepted
// before.
func TestOnePortOneServer(t *testing.T) {
	c := newCaller(t)
	image, flavor := c.find("/image/v2/images?name=rhcos", "images"), c.find("/compute/v2.1/flavors/detail", "flavors")
	_, port := c.port()
	body := order(image, flavor, "nova", `[{"port":"`+port+`"}]`)
	c.send("POST", "/compute/v2.1/servers", body)
	_, raw := c.send("POST", "/compute/v2.1/servers", body)
	second := get(t, raw, "server", "id")
	c.clock.Advance(time.Minute)
	if answer, raw := c.send("POST", "/compute/v2.1/servers", body); answer.StatusCode != http.StatusConflict {
		t.Errorf("the third server: %d %s", answer.StatusCode, raw)
	}
	running := 0
	for _, i := range c.cloud.Instances() {
		if i.State == "ACTIVE" {
			running++
		}
	}
	_, raw = c.send("GET", "/compute/v2.1/servers/"+second, "")
	if running != 1 {
		t.Errorf("%d servers run on one port; the second is %s", running, raw)
	}
}

func TestPages(t *testing.T) {
	c := newCaller(t, func(o *nova.Options) { o.PageSize = 2 })
	for range 5 {
		c.cloud.Plant(nova.Planted{Name: "w"})
	}
	seen, path := map[string]bool{}, "/compute/v2.1/servers/detail"
	for range 3 {
		_, raw := c.send("GET", path, "")
		v, _ := decoded(t, raw).(map[string]any)
		for _, s := range v["servers"].([]any) {
			seen[get(t, []byte(`{"id":"`+s.(map[string]any)["id"].(string)+`"}`), "id")] = true
		}
		links, ok := v["servers_links"].([]any)
		if !ok {
			break
		}
		path = strings.TrimPrefix(links[0].(map[string]any)["href"].(string), c.url)
	}
	if len(seen) != 5 {
		t.Errorf("%d servers on all pages, want 5", len(seen))
	}
}

func TestTokens(t *testing.T) {
	c := newCaller(t)
	status := func() int {
		answer, _ := c.send("GET", "/compute/v2.1/servers/detail", "")
		return answer.StatusCode
	}
	if got := status(); got != http.StatusOK {
		t.Fatal(got)
	}
	c.clock.Advance(2 * time.Hour)
	if got := status(); got != http.StatusUnauthorized {
		t.Errorf("a token of two hours ago: %d", got)
	}
	c.token = c.login("secret")
	c.cloud.SetPassword("machines", "other")
	if got := status(); got != http.StatusUnauthorized {
		t.Errorf("a token from before the password changed: %d", got)
	}
	if c.login("secret") != "" || c.login("other") == "" {
		t.Error("the old password holds, or the new one does not")
	}
}

func TestAnythingIsAccepted(t *testing.T) {
	c := newCaller(t, func(o *nova.Options) { o.AcceptAny = true })
	image, network := c.find("/image/v2/images?name=mine", "images"), c.find("/network/v2.0/networks?name=mine", "networks")
	c.find("/network/v2.0/subnets?name=mine&network_id="+network, "subnets")
	c.find("/network/v2.0/security-groups?name=mine", "security_groups")
	answer, raw := c.send("POST", "/compute/v2.1/servers", order(image, "huge", "zone-7", `[{"uuid":"`+network+`"}]`))
	if answer.StatusCode != http.StatusAccepted {
		t.Errorf("%d %s", answer.StatusCode, raw)
	}
}

// TestKeystoneAtItsOwnPort: the client of an auth_url without a path first requests the versions of the
// Identity API.
func TestKeystoneAtItsOwnPort(t *testing.T) {
	c := newCaller(t)
	answer, raw := c.send("GET", "/", "")
	if answer.StatusCode != http.StatusMultipleChoices || !strings.Contains(string(raw), "/identity/v3/") {
		t.Errorf("%d %s", answer.StatusCode, raw)
	}
}

func TestGuests(t *testing.T) {
	c := newCaller(t)
	image, flavor := c.find("/image/v2/images?name=rhcos", "images"), c.find("/compute/v2.1/flavors/detail", "flavors")
	_, port := c.port()
	body := strings.Replace(order(image, flavor, "nova", `[{"port":"`+port+`"}]`), `"name":"w9"`, `"name":"w9","user_data":"aGVsbG8="`, 1)
	_, raw := c.send("POST", "/compute/v2.1/servers", body)
	id := get(t, raw, "server", "id")
	if n := len(c.cloud.Guests()); n != 0 {
		t.Errorf("%d guests before the server runs", n)
	}
	c.clock.Advance(time.Minute)
	all := c.cloud.Guests()
	if len(all) != 1 {
		t.Fatalf("%d guests", len(all))
	}
	g := all[0]
	if g.ID != id || g.NodeName != "w9" || g.ProviderID != "openstack:///"+id || string(g.UserData) != "hello" || len(g.Addresses) != 1 || g.VCPUs != 2 || g.Zone != "nova" {
		t.Errorf("the guest is %+v with user data %s", g, g.UserData)
	}
}

// TestAccessRules: a token of an application credential is valid for the requests that one of its rules
// allows, as keystonemiddleware interprets them.
func TestAccessRules(t *testing.T) {
	const flavors = "/compute/v2.1/flavors/detail"
	for _, r := range []struct {
		reason string
		rules  []nova.AccessRule
		status int
	}{
		{"no rules", nil, http.StatusOK},
		{"none at all", []nova.AccessRule{}, http.StatusUnauthorized},
		{"the path as it is", []nova.AccessRule{{Service: "compute", Method: "GET", Path: flavors}}, http.StatusOK},
		{"one part of it", []nova.AccessRule{{Service: "compute", Method: "GET", Path: "/compute/v2.1/flavors/*"}}, http.StatusOK},
		{"a named part", []nova.AccessRule{{Service: "compute", Method: "GET", Path: "/compute/v2.1/flavors/{flavor}"}}, http.StatusOK},
		{"any parts", []nova.AccessRule{{Service: "compute", Method: "GET", Path: "/**/flavors/*"}}, http.StatusOK},
		{"two parts for one", []nova.AccessRule{{Service: "compute", Method: "GET", Path: "/compute/*/detail"}}, http.StatusUnauthorized},
		{"no more than the path", []nova.AccessRule{{Service: "compute", Method: "GET", Path: "/compute/v2.1/flavors"}}, http.StatusUnauthorized},
		{"another method", []nova.AccessRule{{Service: "compute", Method: "POST", Path: flavors}}, http.StatusUnauthorized},
		{"another service", []nova.AccessRule{{Service: "network", Method: "GET", Path: flavors}}, http.StatusUnauthorized},
		{"a rule after others", []nova.AccessRule{{Service: "image", Method: "GET", Path: "/**"}, {Service: "compute", Method: "GET", Path: "/**"}}, http.StatusOK},
	} {
		t.Run(r.reason, func(t *testing.T) {
			c := newCaller(t, func(o *nova.Options) { o.Inventory.Users[0].ApplicationCredentials[0].AccessRules = r.rules })
			if answer, _ := c.send("GET", flavors, ""); answer.StatusCode != http.StatusOK {
				t.Errorf("by password: %d", answer.StatusCode)
			}
			answer, _ := c.send("POST", "/identity/v3/auth/tokens", `{"auth":{"identity":{"methods":["application_credential"],`+
				`"application_credential":{"id":"0d1e7b4f3b0a4d6c8f0d9a1e5c7b2f64","secret":"app-secret"}}}}`)
			c.token = answer.Header.Get("X-Subject-Token")
			if answer, raw := c.send("GET", flavors, ""); answer.StatusCode != r.status {
				t.Errorf("%d %s, want %d", answer.StatusCode, raw, r.status)
			}
		})
	}
}

// TestTagsOneByOne: an existing tag of a server is 204, a missing one 201 or 404, and the number of tags is
// limited.
func TestTagsOneByOne(t *testing.T) {
	c := newCaller(t)
	path := "/compute/v2.1/servers/" + c.cloud.Plant(nova.Planted{Name: "w", Tags: []string{"a"}, Metadata: map[string]string{"k": "v"}})
	for _, r := range []struct {
		method, path string
		status       int
	}{
		{"PUT", "/tags/a", http.StatusNoContent},
		{"PUT", "/tags/b%20c", http.StatusCreated},
		{"DELETE", "/tags/b%20c", http.StatusNoContent},
		{"DELETE", "/tags/b%20c", http.StatusNotFound},
		{"PUT", "/tags/" + strings.Repeat("x", 61), http.StatusBadRequest},
		{"DELETE", "/metadata/k", http.StatusNoContent},
		{"DELETE", "/metadata/k", http.StatusNotFound},
	} {
		if answer, raw := c.send(r.method, path+r.path, ""); answer.StatusCode != r.status {
			t.Errorf("%s %s: %d %s, want %d", r.method, r.path, answer.StatusCode, raw, r.status)
		}
	}
	for n := range 49 {
		c.send("PUT", path+"/tags/"+strings.Repeat("x", n+1), "")
	}
	if answer, raw := c.send("PUT", path+"/tags/last", ""); answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(raw), "per-server limit 50") {
		t.Errorf("the 51st tag: %d %s", answer.StatusCode, raw)
	}
}

// TestRevisions: a write with an outdated revision changes nothing.
func TestRevisions(t *testing.T) {
	c := newCaller(t)
	_, port := c.port()
	path := "/network/v2.0/ports/" + port
	revision := func() string {
		_, raw := c.send("GET", path, "")
		return string(raw[strings.Index(string(raw), `"revision_number"`):])
	}
	before := revision()
	c.send("PUT", path+"/tags/a", "")
	if revision() == before {
		t.Error("a tag is no revision")
	}
	change := func(number string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, c.url+path, strings.NewReader(`{"port":{"security_groups":[]}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Auth-Token", c.token)
		r.Header.Set("If-Match", "revision_number="+number)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.StatusCode
	}
	if old, last := change("1"), change("2"); old != http.StatusPreconditionFailed || last != http.StatusOK {
		t.Errorf("by an old revision %d, by the last one %d", old, last)
	}
}
