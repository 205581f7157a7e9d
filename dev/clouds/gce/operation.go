package gce

import (
	"fmt"
	"net/http"
)

// newOperation begins an operation on the named resource. The operation is answered at once, and ends after some time or by an
// event.
func newOperation(c *Cloud, kind string, t target, id, request string) resource {
	now := stamp(c.clock.Now())
	c.serial++
	name := fmt.Sprintf("operation-%d-%x", c.clock.Now().UnixMilli(), c.serial)
	op := resource{
		"kind": "compute#operation", "id": newID(c), "name": name, "operationType": kind, "status": "RUNNING", "progress": 0,
		"insertTime": now, "startTime": now, "user": "somebody",
		"targetLink": link("projects", t.project, scopeKind(c, t.scope), t.scope, t.collection, t.name),
	}
	if id != "" {
		op["targetId"] = id
	}
	where := scopeKind(c, t.scope)
	op["selfLink"] = link("projects", t.project, where, t.scope, "operations", name)
	op[where[:len(where)-1]] = link("projects", t.project, where, t.scope)
	if request != "" {
		op["clientOperationId"] = request
	}
	c.operations.Put(name, op)
	return op
}

// scopeKind is "zones" or "regions".
func scopeKind(c *Cloud, scope string) string {
	if isZone(c, scope) {
		return "zones"
	}
	return "regions"
}

// finished ends an operation, with an error unless that is nil.
func finished(c *Cloud, op, err resource) resource {
	done := op.with(resource{"status": "DONE", "progress": 100, "endTime": stamp(c.clock.Now())})
	if err != nil {
		done["error"] = resource{"errors": []resource{err}}
		done["httpErrorStatusCode"], done["httpErrorMessage"] = http.StatusServiceUnavailable, "SERVICE UNAVAILABLE"
		if err.text("code") == "QUOTA_EXCEEDED" {
			done["httpErrorStatusCode"], done["httpErrorMessage"] = http.StatusForbidden, "FORBIDDEN"
		}
	}
	c.operations.Put(op.text("name"), done)
	return done
}

// replay is the answer to an earlier call with the same request ID. IDs are kept for an hour, separately for each zone or
// region.
func replay(c *Cloud, q request) (any, bool) {
	id := q.query("requestId")
	name, ok := c.replies[q.project+"/"+q.scope+"/"+id]
	if id == "" || !ok {
		return nil, false
	}
	op, ok := c.operations.Get(name)
	return op, ok
}

// remember lets the operation answer later calls with the same request ID.
func remember(c *Cloud, q request, op resource) {
	if id := q.query("requestId"); id != "" {
		key := q.project + "/" + q.scope + "/" + id
		c.replies[key] = op.text("name")
		after(c, lifetime, func() { delete(c.replies, key) })
	}
}

func getOperation(c *Cloud, q request) (any, *failure) {
	op, ok := c.operations.Get(q.name)
	if !ok {
		return nil, notFound("projects/" + q.project + "/zones/" + q.scope + "/operations/" + q.name)
	}
	return op, nil
}

func listOperations(c *Cloud, q request) (any, *failure) {
	var all []placed
	for _, op := range c.operations.AllBehind(c.Lag()) {
		scope := tail(op.text("zone") + op.text("region"))
		if q.aggregated || scope == q.scope {
			all = append(all, placed{scopeKind(c, scope) + "/" + scope, op})
		}
	}
	return pageOf(c, q, "operations", all)
}
