package arm

import (
	"fmt"
	"net/http"
	"time"
)

// operation is a long-running operation.
type operation struct {
	id            string
	target        target
	began, until  time.Time
	subject, kind string
}

// begin announces an operation in the answer.
func (c *call) begin(kind string, lasts time.Duration) {
	now := c.clock.Now()
	o := operation{id: fmt.Sprintf("00000000-0000-4000-8000-%012d", c.number()), target: c.target, began: now, until: now.Add(lasts), subject: c.key(), kind: kind}
	c.operations.Put(o.id, o)
	c.after = &o
}

// follow writes the headers with the operation's URLs:
// https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations
func (c *call) follow(h http.Header) {
	if c.after == nil {
		return
	}
	link := fmt.Sprintf("https://%s/subscriptions/%s/providers/%s/locations/%s/operations/%s?api-version=2025-04-01", c.r.Host, c.subscription, c.provider, SampleLocation, c.after.id)
	h.Set("Azure-AsyncOperation", link)
	h.Set("Retry-After", "10")
	if c.verb == http.MethodDelete || c.verb == http.MethodPost {
		h.Set("Location", link+"&monitor=true")
	}
}

// operation answers with the state of an operation.
func (c *call) operation() {
	o, ok := c.operations.Get(c.name)
	if !ok {
		refuse(http.StatusNotFound, "NotFound", "Operation %s was not found.", c.name).write(c.w)
		return
	}
	out := map[string]any{"name": o.id, "startTime": o.began.UTC().Format(time.RFC3339), "status": "InProgress"}
	if now := c.clock.Now(); !now.Before(o.until) {
		out["status"], out["endTime"] = "Succeeded", o.until.UTC().Format(time.RFC3339)
		if m, ok := c.vms.Get(o.subject); ok && m.fault != nil && o.kind == "create" {
			out["status"], out["error"] = "Failed", m.fault.wire()
		}
	}
	if c.r.URL.Query().Get("monitor") == "true" && out["status"] == "InProgress" {
		c.w.WriteHeader(http.StatusAccepted)
		return
	}
	answer(c.w, http.StatusOK, out)
}
