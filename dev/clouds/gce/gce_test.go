package gce

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

func TestFilters(t *testing.T) {
	r := resource{
		"name": "m-1", "status": "RUNNING", "labels": map[string]any{"a-b": "c", "empty": ""},
		"scheduling": map[string]any{"preemptible": true}, "targetLink": "https://www.googleapis.com/compute/v1/projects/p",
	}
	for filter, want := range map[string]bool{
		"":                               true,
		`name = "m-1"`:                   true,
		`name="m-10"`:                    false,
		`name != "m-1"`:                  false,
		"labels.a-b:*":                   true,
		"labels.b:*":                     false,
		`(labels.a-b = "c")`:             true,
		`(name = "x") OR (name = "m-1")`: true,
		`(name = "x") OR (name = "m-1") AND (status = "STOPPED")`:         false,
		`(status = "RUNNING") ((name = "x") OR (labels.a-b = "c"))`:       true,
		`(scheduling.preemptible = true) AND (status != "DONE")`:          true,
		`targetLink : "projects/p"`:                                       false,
		`targetLink = "https://www.googleapis.com/compute/v1/projects/p"`: true,
		"name eq m-.*": true,
		"name eq m":    false,
	} {
		m, err := parseFilter(filter)
		if err != nil {
			t.Errorf("%s: %s", filter, err.message)
			continue
		}
		if m(r) != want {
			t.Errorf("%s lets it through: %t", filter, !want)
		}
	}
	for _, broken := range []string{"name", "name =", `(name = "a"`, `name > "a"`, "name eq (", `name = "a")`} {
		if _, err := parseFilter(broken); err == nil {
			t.Errorf("%s is read", broken)
		}
	}
}

func TestOperationsAreNamedAsTheAPIDoes(t *testing.T) {
	for request, want := range map[string]string{
		"POST /compute/v1/projects/p/zones/z/instances":                      "instances.insert",
		"GET /compute/v1/projects/p/zones/z/instances":                       "instances.list",
		"GET /compute/v1/projects/p/zones/z/instances?pageToken=x":           "instances.list page",
		"GET /compute/v1/projects/p/aggregated/instances":                    "instances.aggregatedList",
		"DELETE /compute/v1/projects/p/zones/z/instances/i":                  "instances.delete",
		"GET /compute/v1/projects/p/zones/z/instances/i/serialPort":          "instances.getSerialPortOutput",
		"POST /compute/v1/projects/p/zones/z/instances/i/setLabels":          "instances.setLabels",
		"GET /compute/v1/projects/p/global/images/family/f":                  "images.getFromFamily",
		"GET /compute/v1/projects/p/zones/z":                                 "zones.get",
		"GET /compute/v1/projects/p/regions":                                 "regions.list",
		"GET /compute/v1/projects/p":                                         "projects.get",
		"PUT /compute/v1/projects/p/regions/r/backendServices/b":             "backendServices.update",
		"POST /compute/v1/projects/p/zones/z/instanceGroups/g/listInstances": "instanceGroups.listInstances",
		"GET /v3/tagValues/namespaced?name=p/k/v":                            "tagValues.getNamespaced",
		"POST /token": "token",
	} {
		method, url, _ := strings.Cut(request, " ")
		got, writes := (&Cloud{}).Operation(httptest.NewRequestWithContext(t.Context(), method, url, nil), nil)
		reads := method == http.MethodGet || strings.HasSuffix(url, "listInstances") || url == "/token"
		if got != want || writes == reads {
			t.Errorf("%s is %s, and writes: %t", request, got, writes)
		}
	}
}

// TestTokensAreSigned: a token request without a key of a service account is refused.
func TestTokensAreSigned(t *testing.T) {
	clock := &double.Clock{}
	c := New(clock, Options{Inventory: Sample()})
	ask := func(method, url, body string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer forged")
		w := httptest.NewRecorder()
		c.Serve(w, r, []byte(body))
		return w.Code
	}
	if code := ask(http.MethodGet, "/compute/v1/projects/rehearsal", ""); code != http.StatusUnauthorized {
		t.Errorf("a forged token is answered with %d", code)
	}
	// The signature of another key: {"alg":"RS256","kid":"k"} of an existing account.
	assertion := "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJpc3MiOiJtYWNoaW5lc0ByZWhlYXJzYWwuaWFtLmdzZXJ2aWNlYWNjb3VudC5jb20ifQ.c2lnbmVk"
	if code := ask(http.MethodPost, "/token", "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion="+assertion); code != http.StatusBadRequest {
		t.Errorf("a forged assertion is answered with %d", code)
	}
	if _, err := c.IssueKey("nobody@rehearsal.iam.gserviceaccount.com", ""); err == nil {
		t.Error("a key is given to nobody")
	}
}

func TestVerbs(t *testing.T) {
	c := New(&double.Clock{}, Options{Inventory: Sample(), Boot: time.Second})
	body := map[string]any{
		"name": "m", "machineType": "zones/us-east1-b/machineTypes/n1-standard-4",
		"disks": []any{map[string]any{"boot": true}}, "networkInterfaces": []any{map[string]any{}},
	}
	if err := c.Plant("us-east1-b", body); err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		name, on string
		ok       bool
	}{
		{"stop", "m", true},
		{"fail", "m", false},
		{"interrupt", "m", false},
		{"exhaust", "us-east1-b/n1-standard-4", true},
		{"quota", "us-east1/CPUS=4", true},
		{"quota", "CPUS", false},
		{"lag", "5s", true},
		{"lag", "soon", false},
		{"terminate", "m", true},
		{"terminate", "m", false},
		{"dance", "m", false},
	} {
		if err := c.Do(v.name, v.on); (err == nil) != v.ok {
			t.Errorf("%s %s: %v", v.name, v.on, err)
		}
	}
	if got := c.Exhausted(); len(got) != 1 || got[0] != "us-east1-b/n1-standard-4" {
		t.Errorf("exhausted are %v", got)
	}
	if orphans := c.Orphans(); len(orphans) != 1 || len(c.Instances()) != 0 {
		t.Errorf("there are %v and %v", c.Instances(), orphans)
	}
}

// ordered is a request for an instance with disks of the names; an empty name is generated.
func ordered(name string, disks ...string) map[string]any {
	var all []any
	for n, d := range disks {
		all = append(all, map[string]any{"boot": n == 0, "initializeParams": map[string]any{"diskName": d, "sourceImage": "global/images/new"}})
	}
	return map[string]any{
		"name": name, "machineType": "zones/us-east1-b/machineTypes/n2-standard-4", "disks": all,
		"networkInterfaces": []any{map[string]any{"network": "global/networks/prod-network"}},
	}
}

// TestDisksAreUsedOnce: no instance has two disks of one name, or a disk that another instance uses.
func TestDisksAreUsedOnce(t *testing.T) {
	c := New(&double.Clock{}, Options{Inventory: Sample()})
	if err := c.Plant("us-east1-b", ordered("first", "a", "b")); err != nil {
		t.Fatal(err)
	}
	c.Leave("us-east1-b", "left", nil)
	for _, r := range []struct {
		name, reason string
		disks        []string
	}{
		{"twice", "invalid", []string{"x", "x"}},
		{"made-up", "invalid", []string{"", "made-up"}},
		{"used", "resourceInUseByAnotherResource", []string{"y", "b"}},
		{"found", "", []string{"left", ""}},
	} {
		q := request{target: target{project: "rehearsal", scope: "us-east1-b", collection: "instances"}, query: func(string) string { return "" }, body: ordered(r.name, r.disks...)}
		_, err := insertInstance(c, q)
		if (err == nil) != (r.reason == "") || err != nil && err.reason != r.reason {
			t.Errorf("%q: %+v", r.disks, err)
		}
	}
}

// TestSeriesAreCounted: the CPUs of a series count for its quota and for that of all CPUs.
func TestSeriesAreCounted(t *testing.T) {
	c := New(&double.Clock{}, Options{Inventory: Sample()})
	if err := c.Plant("us-east1-b", ordered("m", "")); err != nil {
		t.Fatal(err)
	}
	if used := usage(c, "us-east1"); used["CPUS"] != 4 || used["N2_CPUS"] != 4 || used["PREEMPTIBLE_CPUS"] != 0 {
		t.Errorf("it counts for %v", used)
	}
}
