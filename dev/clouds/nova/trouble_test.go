package nova_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/nova"
)

// server is the HTTP status of a GET of a server, and the server's status.
func (c *caller) server(id string) (int, string) {
	c.token = c.login("secret") // the former one may have expired
	answer, raw := c.send("GET", "/compute/v2.1/servers/"+id, "")
	if answer.StatusCode != http.StatusOK {
		return answer.StatusCode, ""
	}
	return answer.StatusCode, get(c.t, raw, "server", "status")
}

// TestDeadHost: a deletion before Nova knows that the host is dead is lost with the host; a later one deletes
// the server at once.
func TestDeadHost(t *testing.T) {
	c := newCaller(t)
	id := c.cloud.Plant(nova.Planted{Name: "w"})
	if err := c.cloud.Do("strand", id); err != nil {
		t.Fatal(err)
	}
	c.send("DELETE", "/compute/v2.1/servers/"+id, "")
	c.clock.Advance(time.Hour)
	if status, _ := c.server(id); status != http.StatusOK {
		t.Errorf("what was deleted on a dead host is gone: %d", status)
	}
	c.send("DELETE", "/compute/v2.1/servers/"+id, "")
	if status, _ := c.server(id); status != http.StatusNotFound {
		t.Errorf("asked again, Nova has it still: %d", status)
	}
}

// TestReclaim: a deleted server that can be restored is shown by its ID, and not in listings, until its time
// is over.
func TestReclaim(t *testing.T) {
	c := newCaller(t, func(o *nova.Options) { o.Reclaim = time.Hour })
	id := c.cloud.Plant(nova.Planted{Name: "w"})
	c.send("DELETE", "/compute/v2.1/servers/"+id, "")
	c.clock.Advance(time.Minute)
	if _, got := c.server(id); got != "SOFT_DELETED" {
		t.Errorf("it is %q", got)
	}
	if _, raw := c.send("GET", "/compute/v2.1/servers/detail", ""); strings.Contains(string(raw), id) {
		t.Error("it is listed")
	}
	c.clock.Advance(2 * time.Hour)
	if status, _ := c.server(id); status != http.StatusNotFound {
		t.Errorf("after its time: %d", status)
	}
}

// TestQuotasOfAllKinds: Keystone's limits, and those of server groups, are 403s with texts of their own.
func TestQuotasOfAllKinds(t *testing.T) {
	for words, quota := range map[string]nova.Quota{
		"is over a limit for [Resource servers is over limit of 1 due to current usage 1 and delta 1]": {Instances: 1, Cores: -1, RAM: -1, Ports: -1, Unified: true},
		"Quota exceeded, too many servers in group":                                                    {Instances: -1, Cores: -1, RAM: -1, Ports: -1, GroupMembers: 1},
	} {
		c := newCaller(t, func(o *nova.Options) { o.Inventory.Quota = quota })
		_, raw := c.send("POST", "/compute/v2.1/os-server-groups", `{"server_group":{"name":"g","policies":["soft-anti-affinity"]}}`)
		group := get(t, raw, "server_group", "id")
		image, flavor := c.find("/image/v2/images?name=rhcos", "images"), c.find("/compute/v2.1/flavors/detail", "flavors")
		ask := func() (int, string) {
			_, port := c.port()
			body := strings.TrimSuffix(order(image, flavor, "nova", `[{"port":"`+port+`"}]`), "}") + `,"os:scheduler_hints":{"group":"` + group + `"}}`
			answer, raw := c.send("POST", "/compute/v2.1/servers", body)
			return answer.StatusCode, string(raw)
		}
		if status, raw := ask(); status != http.StatusAccepted {
			t.Fatalf("the first: %d %s", status, raw)
		}
		if status, raw := ask(); status != http.StatusForbidden || !strings.Contains(raw, words) {
			t.Errorf("the second: %d %s, want %s", status, raw, words)
		}
	}
}

// TestWhatWentMeanwhile: if a page's marker in Neutron, or the port of a floating address, was deleted meanwhile, the error
// names the deleted object.
func TestWhatWentMeanwhile(t *testing.T) {
	c := newCaller(t)
	float := c.find("/network/v2.0/floatingips", "floatingips")
	for path, body := range map[string]string{
		"GET /network/v2.0/ports?limit=1&marker=nope": "", "PUT /network/v2.0/floatingips/" + float: `{"floatingip":{"port_id":"nope"}}`,
	} {
		method, path, _ := strings.Cut(path, " ")
		if answer, raw := c.send(method, path, body); answer.StatusCode != http.StatusNotFound || !strings.Contains(string(raw), `"type":"PortNotFound"`) {
			t.Errorf("%s: %d %s", path, answer.StatusCode, raw)
		}
	}
}

// TestWedgedVolume: Cinder cannot delete the volume, and refuses another deletion.
func TestWedgedVolume(t *testing.T) {
	c := newCaller(t)
	_, raw := c.send("POST", "/volume/v3/p/volumes", `{"volume":{"size":1,"name":"v"}}`)
	path := "/volume/v3/p/volumes/" + get(t, raw, "volume", "id")
	c.clock.Advance(time.Minute)
	if err := c.cloud.Do("wedge", get(t, raw, "volume", "id")); err != nil {
		t.Fatal(err)
	}
	first, _ := c.send("DELETE", path, "")
	second, _ := c.send("DELETE", path, "")
	_, raw = c.send("GET", path, "")
	if s := get(t, raw, "volume", "status"); first.StatusCode != http.StatusAccepted || second.StatusCode != http.StatusBadRequest || s != "error_deleting" {
		t.Errorf("%d, %d, %s", first.StatusCode, second.StatusCode, s)
	}
}
