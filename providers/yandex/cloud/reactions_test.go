package cloud

import (
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/millwright-dev/millwright/provider"
)

// TestReactions: a quota, a zone without capacity or a state is never an error of the spec, which would fail machines for ever.
// The messages are those that users of Yandex Cloud report.
func TestReactions(t *testing.T) {
	for _, r := range []struct {
		code    codes.Code
		message string
		kind    provider.Kind
		scope   provider.Scope
	}{
		{codes.ResourceExhausted, "The limit on maximum number of active operations has exceeded.", provider.Throttled, ""},
		{codes.ResourceExhausted, "Too many requests", provider.Throttled, ""},
		{codes.ResourceExhausted, "The limit on maximum number of instances has exceeded.", provider.Exhausted, provider.ScopeAccount},
		{codes.ResourceExhausted, "The limit on maximum number of cores has exceeded.", provider.Exhausted, provider.ScopeAccount},
		{codes.ResourceExhausted, "The limit on maximum amount of memory has exceeded.", provider.Exhausted, provider.ScopeAccount},
		{codes.ResourceExhausted, "The limit on maximum number of GPU devices has exceeded.", provider.Exhausted, provider.ScopeType},
		{codes.ResourceExhausted, "The limit on total size of network-ssd disks has exceeded.", provider.Exhausted, provider.ScopeType},
		{codes.ResourceExhausted, "Quota limit compute.instanceCores.count exceeded", provider.Exhausted, provider.ScopeAccount},
		{codes.ResourceExhausted, "RESOURCE_EXHAUSTED: Quota limit vpc.externalAddressesCreation.rate exceeded", provider.Exhausted, provider.ScopeAccount},
		{codes.ResourceExhausted, "a text that is not known", provider.Exhausted, provider.ScopeType},
		{codes.FailedPrecondition, "Not enough resources to start the instance", provider.Exhausted, provider.ScopeType},
		{codes.FailedPrecondition, "Instance is in another state", provider.Conflict, ""},
		{codes.InvalidArgument, "Hostname worker-1 is already in use", provider.Conflict, ""},
		{codes.Aborted, "", provider.Conflict, ""},
		{codes.AlreadyExists, "Instance with name a already exists", provider.Conflict, ""},
		{codes.Unauthenticated, "The token is invalid", provider.Denied, ""},
		{codes.PermissionDenied, "Permission denied", provider.Denied, ""},
		{codes.InvalidArgument, "Request validation error", provider.Invalid, ""},
		{codes.OutOfRange, "", provider.Invalid, ""},
		{codes.NotFound, "Operation a not found", provider.Transient, ""},
		{codes.Unavailable, "", provider.Transient, ""},
		{codes.Internal, "", provider.Transient, ""},
		{codes.Unknown, "", provider.Transient, ""},
		{codes.Unimplemented, "", provider.Transient, ""},
		{codes.DeadlineExceeded, "", provider.Transient, ""},
	} {
		if got := reactTo(r.code, r.message); got != (reaction{r.kind, r.scope}) {
			t.Errorf("%s %q: %+v, want %s (%s)", r.code, r.message, got, r.kind, r.scope)
		}
	}
}
