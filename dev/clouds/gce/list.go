package gce

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// placed is a resource of a list, and its scope: "zones/us-east1-b".
type placed struct {
	scope string
	resource
}

// pageOf answers a list, or an aggregated one, by filter, maxResults and pageToken. An aggregated list has an
// entry for each scope, with a warning for an empty one.
func pageOf(c *Cloud, q request, collection string, all []placed) (any, *failure) {
	matches, why := parseFilter(q.query("filter"))
	if why != nil {
		return nil, why
	}
	if q.query("filter") != "" && q.query("orderBy") != "" {
		return nil, failed(http.StatusBadRequest, "invalid", "Invalid value for field 'orderBy': filter and orderBy cannot be combined.")
	}
	var kept []placed
	for _, p := range all {
		if matches(p.resource) && (!q.aggregated || !c.cutOff.hides(p.scope)) {
			kept = append(kept, p)
		}
	}
	after, most, err := bounds(c, q)
	if err != nil {
		return nil, err
	}
	// A token is the key of the last item of a page, so that deletions between two requests do not skip items.
	slices.SortStableFunc(kept, func(a, b placed) int { return strings.Compare(a.key(), b.key()) })
	from := 0
	for after != "" && from < len(kept) && kept[from].key() <= after {
		from++
	}
	to := min(from+most, len(kept))
	kind := "compute#" + collection[:len(collection)-1]
	answer := resource{"kind": kind + "List", "id": "projects/" + q.project + "/" + collection}
	if to < len(kept) {
		answer["nextPageToken"] = base64.RawURLEncoding.EncodeToString([]byte(kept[to-1].key()))
	}
	if q.aggregated {
		answer["kind"], answer["items"] = kind+"AggregatedList", aggregate(c, collection, kept[from:to])
		c.cutOff.tell(answer)
		return answer, nil
	}
	if to > from {
		items := make([]resource, 0, to-from)
		for _, p := range kept[from:to] {
			items = append(items, p.resource)
		}
		answer["items"] = items
	}
	return answer, nil
}

// cutOff is a zone that aggregated lists do not contain, and the form of the warning; the zero value: all lists are
// complete.
type cutOff struct {
	zone string
	form Unreached
}

// Unreached is the form in which a list of all zones reports a missing one.
type Unreached string

// The forms: a field of the list names the zone, the list has a warning, or the entry of the zone has a warning.
const (
	UnreachedNamed   Unreached = "unreachables"
	UnreachedWarning Unreached = "warning"
	UnreachedInScope Unreached = "scope"
)

// CutOff removes a zone from lists of all zones, which report it in the given form; an empty zone: lists are complete.
func (c *Cloud) CutOff(zone string, form Unreached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cutOff = cutOff{zone, form}
}

func (o cutOff) hides(scope string) bool { return o.zone != "" && scope == "zones/"+o.zone }

// tell reports the missing zone in an answer.
func (o cutOff) tell(answer resource) {
	if o.zone == "" {
		return
	}
	scope := "zones/" + o.zone
	warning := resource{"code": "UNREACHABLE", "message": "The scope '" + scope + "' is not reachable."}
	items := answer.part("items")
	delete(items, scope)
	switch o.form {
	case UnreachedNamed:
		answer["unreachables"] = []string{scope}
	case UnreachedWarning:
		answer["warning"] = warning
	case UnreachedInScope:
		items[scope] = resource{"warning": warning}
	}
}

func aggregate(c *Cloud, collection string, kept []placed) resource {
	scopes := map[string][]resource{}
	for _, zone := range c.options.Inventory.zones() {
		scopes["zones/"+zone] = nil
	}
	for _, p := range kept {
		scopes[p.scope] = append(scopes[p.scope], p.resource)
	}
	out := resource{}
	for scope, items := range scopes {
		if len(items) > 0 {
			out[scope] = resource{collection: items}
			continue
		}
		out[scope] = resource{"warning": resource{
			"code": "NO_RESULTS_ON_PAGE", "message": "There are no results for scope '" + scope + "' on this page.",
			"data": []resource{{"key": "scope", "value": scope}},
		}}
	}
	return out
}

// key is the sort key of lists.
func (p placed) key() string {
	return p.scope + "/" + p.text("name") + "/" + p.text("instance") + "/" + p.text("id")
}

// bounds are the key after which a page begins, and its maximum size.
func bounds(c *Cloud, q request) (after string, most int, err *failure) {
	most = c.options.PageSize
	if s := q.query("maxResults"); s != "" {
		n, parseErr := strconv.Atoi(s)
		if parseErr != nil || n < 0 || n > 500 {
			return "", 0, failed(http.StatusBadRequest, "invalidParameter", "Invalid value '%s'. Values must be within the range: [0, 500]", s)
		}
		if n > 0 {
			most = min(most, n)
		}
	}
	if s := q.query("pageToken"); s != "" {
		raw, decoding := base64.RawURLEncoding.DecodeString(s)
		if decoding != nil {
			return "", 0, invalid("pageToken", "'%s'. The page token is invalid.", s)
		}
		after = string(raw)
	}
	return after, most, nil
}
