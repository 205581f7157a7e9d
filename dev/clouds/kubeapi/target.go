package kubeapi

import (
	"net/http"
	"strings"
)

// Resource is a kind of objects that a server has.
type Resource struct{ Group, Version, Name, Kind string }

// Namespaces are those of the inventory: no request creates one.
var namespaces = Resource{"", "v1", "namespaces", "Namespace"}

func (r Resource) apiVersion() string { return strings.TrimPrefix(r.Group+"/"+r.Version, "/") }
func (r Resource) full() string       { return strings.TrimSuffix(r.Name+"."+r.Group, ".") }

// target is the target of a path: /apis/<group>/<version>/namespaces/<namespace>/<resource>/<name>, or
// /api/v1/... without a group. Without a namespace, it covers all namespaces.
type target struct {
	Resource
	namespace, object string
	known             bool
}

func (m *Memory) targetOf(path string) (t target) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var group string
	var rest []string
	switch {
	case len(parts) > 2 && parts[0] == "apis":
		group, rest = parts[1], parts[2:]
	case len(parts) > 1 && parts[0] == "api":
		rest = parts[1:]
	default:
		return t
	}
	version, rest := rest[0], rest[1:]
	if len(rest) > 1 && rest[0] == "namespaces" {
		t.namespace = rest[1]
		rest = rest[2:]
	}
	if len(rest) == 0 && t.namespace != "" { // the namespace itself
		rest = []string{"namespaces", t.namespace}
	}
	if len(rest) == 0 || len(rest) > 2 {
		return t
	}
	for _, r := range append([]Resource{namespaces}, m.Resources...) {
		if r.Group == group && r.Version == version && r.Name == rest[0] {
			t.Resource, t.known = r, true
		}
	}
	if len(rest) == 2 {
		t.object = rest[1]
	}
	return t
}

// verb is the RBAC verb of a request.
func (t target) verb(method string) string {
	switch method {
	case http.MethodGet:
		if t.object == "" {
			return "list"
		}
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return strings.ToLower(method)
}
