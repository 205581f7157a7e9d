package gce

import (
	"net/http"
	"slices"
	"strings"
)

// target is the target of a request of the compute API.
type target struct {
	project string
	// scope is the zone or region; empty for global resources, and for aggregated lists.
	scope      string
	collection string // instances, disks, ...
	name       string
	verb       string // setLabels, ...
	aggregated bool
}

const computePath = "/compute/v1/projects/"

// parse parses the path of a request. The name of an image family has its prefix: family/rhcos.
func parse(path string) (t target, ok bool) {
	rest, ok := strings.CutPrefix(path, computePath)
	if !ok {
		return t, false
	}
	parts := strings.Split(rest, "/")
	t.project, parts = parts[0], parts[1:]
	if len(parts) == 0 {
		t.collection = "projects"
		return t, true
	}
	switch kind := parts[0]; {
	case kind == "aggregated":
		t.aggregated, parts = true, parts[1:]
	case kind == "global":
		parts = parts[1:]
	case (kind == "zones" || kind == "regions") && len(parts) > 2:
		t.scope, parts = parts[1], parts[2:]
	}
	if len(parts) > 2 && parts[0] == "images" && parts[1] == "family" {
		parts = []string{"images", "family/" + parts[2]}
	}
	for i, into := range []*string{&t.collection, &t.name, &t.verb} {
		if i < len(parts) {
			*into = parts[i]
		}
	}
	return t, t.collection != "" && len(parts) <= 3
}

// method is the API's name of the request: "instances.insert".
func (t target) method(r *http.Request) string {
	switch {
	case t.verb == "serialPort":
		return "instances.getSerialPortOutput"
	case t.verb != "":
		return t.collection + "." + t.verb
	case t.aggregated:
		return t.collection + ".aggregatedList"
	case strings.HasPrefix(t.name, "family/"):
		return "images.getFromFamily"
	}
	verb := map[string]string{http.MethodPost: "insert", http.MethodDelete: "delete", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodGet: "get"}[r.Method]
	if r.Method == http.MethodGet && t.name == "" && t.collection != "projects" {
		verb = "list"
	}
	return t.collection + "." + verb
}

// reads are methods that change nothing although they use POST.
var reads = []string{"instanceGroups.listInstances", "operations.wait"}

// Operation implements [double.Cloud]. Later pages of a list are an operation of their own: "instances.list
// page".
func (*Cloud) Operation(r *http.Request, _ []byte) (name string, writes bool) {
	switch t, ok := parse(r.URL.Path); {
	case ok:
		name = t.method(r)
		writes = r.Method != http.MethodGet && !slices.Contains(reads, name)
		if r.URL.Query().Get("pageToken") != "" {
			name += " page"
		}
		return name, writes
	case strings.HasPrefix(r.URL.Path, tagValuesPath):
		return "tagValues.getNamespaced", false
	case r.URL.Path == tokenPath, r.URL.Path == exchangePath, strings.HasPrefix(r.URL.Path, impersonationPath):
		return "token", false
	case strings.Contains(r.URL.Path, "/computeMetadata/"):
		return "metadata", false
	}
	return r.Method + " " + r.URL.Path, r.Method != http.MethodGet
}
