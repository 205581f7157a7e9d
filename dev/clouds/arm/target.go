package arm

import (
	"net/http"
	"strings"
)

// target is the target of a request, by its path.
type target struct {
	// login is "token", "discovery", "instances" or "endpoints" for requests to services other than the
	// Resource Manager.
	login, tenant string

	verb                string
	subscription, group string
	provider            string // "Microsoft.Compute"
	kind                string // "virtualMachines"
	name, action        string
	// parent is the parent of a nested kind: the network of subnets.
	parent string
	// rest are further segments of the path, for kinds whose paths have more.
	rest []string
}

// graph is the kind of Resource Graph's queries.
const graph = "graph"

// parse parses the path of a request.
func parse(r *http.Request) target {
	t := target{verb: r.Method}
	s := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	is := func(at int, word string) bool { return at < len(s) && strings.EqualFold(s[at], word) }
	switch {
	case strings.HasSuffix(r.URL.Path, "/oauth2/v2.0/token"):
		t.login, t.tenant = "token", s[0]
	case strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration"):
		t.login, t.tenant = "discovery", s[0]
	case r.URL.Path == "/common/discovery/instance":
		t.login = "instances"
	case r.URL.Path == "/metadata/endpoints":
		t.login = "endpoints"
	case is(0, "providers") && is(1, "Microsoft.ResourceGraph"):
		t.kind = graph
	case is(0, "subscriptions") && len(s) > 1:
		t.subscription = s[1]
		t.below(s[2:])
	}
	return t
}

// below parses the path below a subscription.
func (t *target) below(s []string) {
	if len(s) > 1 && strings.EqualFold(s[0], "resourceGroups") {
		t.group, s = s[1], s[2:]
		if len(s) == 0 {
			t.kind = "resourceGroups"
			return
		}
	}
	if len(s) < 3 || !strings.EqualFold(s[0], "providers") {
		return
	}
	t.provider, t.kind, t.rest = s[1], s[2], s[3:]
	switch {
	case t.kind == "locations" || t.kind == "offerTypes":
		t.locate()
	case t.kind == "virtualNetworks" && len(t.rest) > 2 && t.rest[1] == "subnets":
		t.kind, t.parent, t.name = "subnets", t.rest[0], t.rest[2]
	case len(t.rest) > 0:
		t.name = t.rest[0]
		if len(t.rest) > 1 {
			t.action = t.rest[1]
		}
	}
}

// locate parses the long paths of images, of terms, and of operations.
func (t *target) locate() {
	switch {
	case len(t.rest) == 3 && t.rest[1] == "operations":
		t.kind, t.name = "operations", t.rest[2]
	case len(t.rest) == 11 && t.rest[1] == "publishers":
		t.kind, t.name = "images", strings.Join([]string{t.rest[2], t.rest[6], t.rest[8], t.rest[10]}, ":")
	case len(t.rest) > 6 && t.rest[1] == "publishers":
		t.kind, t.name = "agreements", strings.Join([]string{t.rest[2], t.rest[4], t.rest[6]}, ":")
	}
}

// method is the HTTP method, or LIST for the read of a collection.
func (t target) method() string {
	if t.verb == http.MethodGet && t.name == "" && t.kind != "resourceGroups" && t.kind != "" {
		return "LIST"
	}
	return t.verb
}

// id is the ID of the resource.
func (t target) id() string {
	return "/subscriptions/" + t.subscription + "/resourceGroups/" + t.group + "/providers/" + t.provider + "/" + t.kind + "/" + t.name
}

// key is the key of the resource in the store.
func (t target) key() string { return strings.ToLower(t.id()) }

// permission is the action that a role must allow: "Microsoft.Compute/virtualMachines/read".
func (t target) permission() string {
	what := t.provider + "/" + t.kind
	switch t.kind {
	case "resourceGroups":
		what = "Microsoft.Resources/subscriptions/resourceGroups"
	case "subnets":
		what = t.provider + "/virtualNetworks/subnets"
	case "images":
		what = t.provider + "/locations/publishers/artifacttypes/offers/skus/versions"
	case "agreements":
		what = t.provider + "/offertypes/publishers/offers/plans/agreements"
	}
	switch {
	case t.action != "" && t.verb == http.MethodPost:
		return what + "/" + t.action + "/action"
	case t.verb == http.MethodPut, t.verb == http.MethodPatch:
		return what + "/write"
	case t.verb == http.MethodDelete:
		return what + "/delete"
	}
	return what + "/read"
}
