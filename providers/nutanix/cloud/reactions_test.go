package cloud

import (
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

func TestReactions(t *testing.T) {
	exhausted := func(s provider.Scope) reaction { return reaction{provider.Exhausted, s} }
	for _, r := range []struct {
		status          int
		reason, message string
		want            reaction
		field           string
	}{
		{401, "", "", denied, ""},
		{403, "ACCESS_DENIED", "no quota for you", denied, ""},
		{403, "NEW_REASON", "the quota is exceeded", denied, ""},
		{429, "", "", throttled, ""},
		{503, "TOO_MANY_REQUESTS", "", throttled, ""},
		{409, "", "", conflict, ""},
		{422, "CONCURRENT_REQUESTS_NOT_ALLOWED", "", conflict, ""},
		{409, "ENTITY_ALREADY_EXISTS", "", conflict, ""},
		{422, "INVALID_REQUEST", "Edit conflict: please change the spec_version", conflict, ""},
		{422, "RESOURCE_SHORTAGE", "", exhausted(provider.ScopeType), ""},
		{422, "INVALID_REQUEST", "The resource quota of the project is exceeded", exhausted(provider.ScopeAccount), ""},
		{0, "", "NoHostResources: No host has enough available memory for VM", exhausted(provider.ScopeType), ""},
		{0, "", "No space left in the container", exhausted(provider.ScopeZone), ""},
		{0, "", "There is no free IP address in the pool", exhausted(provider.ScopeZone), ""},
		{0, "", "kInternalError", transient, ""},
		{422, "INVALID_REQUEST", "The image x does not exist", invalid, "image"},
		{422, "INVALID_REQUEST", "subnet_uuid is invalid: subnet unknown", invalid, "subnets"},
		{422, "", "memory_size_mib: memory too small", invalid, "memorySize"},
		{400, "NEW_REASON", "wrong", invalid, ""},
		{404, "ENTITY_NOT_FOUND", "", transient, ""},
		{500, "INTERNAL_ERROR", "the quota service failed", transient, ""},
		{502, "", "", transient, ""},
	} {
		if got := reactTo(r.status, r.reason, r.message); got != r.want {
			t.Errorf("%d %s %q: %+v, want %+v", r.status, r.reason, r.message, got, r.want)
		}
		if got := fieldOf(r.message); r.want == invalid && got != r.field {
			t.Errorf("%q is about %q, want %q", r.message, got, r.field)
		}
	}
	for reason, r := range reactions {
		if (r.scope != "") != (r.kind == provider.Exhausted) {
			t.Errorf("%s: %+v", reason, r)
		}
	}
}
