package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/millwright-dev/millwright/provider"
)

func answered(code, message string, status int, after string) error {
	return &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: http.Header{"Retry-After": []string{after}}}},
		Err:      &smithy.GenericAPIError{Code: code, Message: message},
	}
}

func TestReactions(t *testing.T) {
	for _, c := range []struct {
		code, message string
		status        int
		kind          provider.Kind
		scope         provider.Scope
		field         string
		reason        string
	}{
		// Codes that the original of machine.sapcloud.io treats as exhausted.
		{code: "InsufficientCapacity", status: 500, kind: provider.Exhausted, scope: provider.ScopeType, reason: "there is none at the moment"},
		{code: "InsufficientAddressCapacity", status: 500, kind: provider.Exhausted, scope: provider.ScopeAccount, reason: "addresses of a region"},
		{code: "InsufficientInstanceCapacity", status: 500, kind: provider.Exhausted, scope: provider.ScopeType, reason: "of that type in that zone"},
		{code: "InsufficientVolumeCapacity", status: 500, kind: provider.Exhausted, scope: provider.ScopeZone, reason: "disks of a zone"},
		{code: "InstanceLimitExceeded", status: 400, kind: provider.Exhausted, scope: provider.ScopeType, reason: "a quota comes with 400, and passes: it is one of a type"},
		{code: "VcpuLimitExceeded", status: 400, kind: provider.Exhausted, scope: provider.ScopeType, reason: "a quota of a family of types: others have their own"},
		{code: "VolumeLimitExceeded", status: 400, kind: provider.Exhausted, scope: provider.ScopeAccount, reason: "a quota"},
		{code: "MaxIOPSLimitExceeded", status: 400, kind: provider.Exhausted, scope: provider.ScopeAccount, reason: "a quota"},
		{code: "RouteLimitExceeded", status: 400, kind: provider.Exhausted, scope: provider.ScopeAccount, reason: "a quota"},
		{code: "Unsupported", status: 400, kind: provider.Exhausted, scope: provider.ScopeType, reason: "the zone has not that type: another may"},
		// Others of capacity and quota.
		{code: "InsufficientFreeAddressesInSubnet", status: 400, kind: provider.Exhausted, scope: provider.ScopeZone, reason: "a subnet is in one zone"},
		{code: "MaxSpotInstanceCountExceeded", status: 400, kind: provider.Exhausted, scope: provider.ScopeType, reason: "a quota that on-demand instances do not count in"},
		{code: "SpotMaxPriceTooLow", status: 400, kind: provider.Exhausted, scope: provider.ScopeType, reason: "the price may fall"},
		{code: "InsufficientHostCapacity", status: 500, kind: provider.Exhausted, scope: provider.ScopeType, reason: "no host is free"},
		{code: "HostLimitExceeded", status: 400, kind: provider.Exhausted, scope: provider.ScopeType, reason: "a quota of a family of hosts"},
		{code: "ReservationCapacityExceeded", status: 400, kind: provider.Exhausted, scope: provider.ScopeType, reason: "a reservation is full"},
		{code: "InsufficientSomethingNew", status: 500, kind: provider.Exhausted, scope: provider.ScopeType, reason: "codes say what they are"},
		{code: "SomethingNewLimitExceeded", status: 400, kind: provider.Exhausted, scope: provider.ScopeType, reason: "codes say what they are, and not how far it reaches"},
		{code: "LimitExceeded", status: 400, kind: provider.Exhausted, scope: provider.ScopeType, reason: "it does not say of what"},
		{code: "NetworkInterfaceLimitExceeded", status: 400, kind: provider.Exhausted, scope: provider.ScopeAccount, reason: "every choice needs one"},
		{code: "InvalidCapacityReservationState", status: 400, kind: provider.Exhausted, scope: provider.ScopeType, reason: "a block of capacity has not begun"},
		{code: "SecurityGroupsPerInterfaceLimitExceeded", status: 400, kind: provider.Invalid, field: "securityGroups", reason: "the spec names too many"},

		{code: "RequestLimitExceeded", status: 503, kind: provider.Throttled, reason: "too many calls"},
		{code: "Throttling", status: 400, kind: provider.Throttled, reason: "load balancers throttle with 400"},
		{code: "SomethingNew", status: 429, kind: provider.Throttled, reason: "the status says it"},

		{code: "AuthFailure", status: 401, kind: provider.Denied, reason: "wrong keys"},
		{code: "UnauthorizedOperation", status: 403, kind: provider.Denied, reason: "a missing permission"},
		{code: "AccessDenied", status: 403, kind: provider.Denied, reason: "a missing permission"},
		{code: "ExpiredToken", status: 403, kind: provider.Denied, reason: "keys that were lent"},
		{code: "OptInRequired", status: 403, kind: provider.Denied, reason: "the account may not use the service"},
		{code: "SomethingNew", status: 403, kind: provider.Denied, reason: "the status says it"},

		{code: "IncorrectInstanceState", status: 400, kind: provider.Conflict, reason: "it is on its way elsewhere"},
		{code: "OperationNotPermitted", status: 400, kind: provider.Conflict, reason: "it is protected from termination"},

		{code: "InvalidAMIID.NotFound", status: 400, kind: provider.Invalid, field: "ami", reason: "no such image"},
		{code: "InvalidSubnetID.NotFound", status: 400, kind: provider.Invalid, field: "subnet", reason: "no such subnet"},
		{code: "InvalidGroup.NotFound", status: 400, kind: provider.Invalid, field: "securityGroups", reason: "no such group"},
		{code: "InvalidParameterValue", message: "Invalid value 'm5.lagre' for InstanceType.", status: 400, kind: provider.Invalid, field: "instanceType", reason: "the text says which"},
		{code: "InvalidParameterValue", message: "Value (x) for parameter iamInstanceProfile.name is invalid.", status: 400, kind: provider.Invalid, field: "iamInstanceProfile", reason: "the text says which"},
		{code: "InvalidSomething.NotFound", status: 400, kind: provider.Invalid, reason: "codes say what they are"},

		{code: "InternalError", status: 500, kind: provider.Transient, reason: "it may pass"},
		{code: "Unavailable", status: 503, kind: provider.Transient, reason: "it may pass"},
		{code: "IdempotentParameterMismatch", status: 400, kind: provider.Transient, reason: "something was made with the token and shows soon, or was refused"},
		{code: "InvalidAMIID.Unavailable", status: 400, kind: provider.Transient, reason: "an image that is being made"},
		{code: "RequestExpired", status: 400, kind: provider.Transient, reason: "a clock is wrong, the credentials are not"},
		{code: "SomethingNew", status: 400, kind: provider.Transient, reason: "what is not known does not end a machine"},
	} {
		err := classify("make an instance", fmt.Errorf("operation error: %w", answered(c.code, c.message, c.status, "")), machineNames)
		e, ok := errors.AsType[*provider.Error](err)
		if !ok || e.Kind != c.kind || e.Scope != c.scope || e.Field != c.field {
			t.Errorf("%s with status %d is %+v, want kind %s, scope %q, field %q: %s", c.code, c.status, e, c.kind, c.scope, c.field, c.reason)
		}
	}
}

func TestReactionsWithoutAnAnswer(t *testing.T) {
	for reason, err := range map[string]error{
		"a caller gave up":  fmt.Errorf("call: %w", context.Canceled),
		"time was over":     context.DeadlineExceeded,
		"nobody is there":   errors.New("dial tcp: connection refused"),
		"a name is unknown": errors.New("dial tcp: lookup ec2.nowhere.amazonaws.com: no such host"),
	} {
		if got := provider.KindOf(classify("x", err, nil)); got != provider.Transient {
			t.Errorf("%s: %s", reason, got)
		}
	}
	if got := provider.KindOf(classify("x", errors.New("get identity: get credentials: failed to refresh cached credentials, no EC2 IMDS role found"), nil)); got != provider.Denied {
		t.Errorf("no credentials at all: %s", got)
	}
}

func TestThrottlingSaysHowLong(t *testing.T) {
	err := classify("x", answered("RequestLimitExceeded", "", 503, "17"), nil)
	if got := provider.AfterOf(err); got != 17*time.Second {
		t.Errorf("asks to wait %v", got)
	}
}

func TestReasonsOfInstances(t *testing.T) {
	for _, c := range []struct {
		code   string
		state  types.InstanceStateName
		kind   provider.Kind
		reason string
	}{
		{"Server.InsufficientInstanceCapacity", types.InstanceStateNameTerminated, provider.Exhausted, "accepted, and there was no room"},
		{"Client.VolumeLimitExceeded", types.InstanceStateNameTerminated, provider.Exhausted, "accepted, and the quota of disks was reached"},
		{"Server.InternalError", types.InstanceStateNameTerminated, provider.Exhausted, "another try may do"},
		{"Client.InternalError", types.InstanceStateNameTerminated, provider.Invalid, "mostly a key that may not be used"},
		{"Client.InvalidSnapshot.NotFound", types.InstanceStateNameShuttingDown, provider.Invalid, "the spec"},
		{"Client.InvalidKMSKey.InvalidState", types.InstanceStateNameTerminated, provider.Invalid, "the spec"},
		{"Client.UserInitiatedShutdown", types.InstanceStateNameTerminated, "", "a person did that"},
		{"Server.SpotInstanceTermination", types.InstanceStateNameTerminated, "", "it ran, and was taken back"},
		{"Server.ScheduledStop", types.InstanceStateNameStopped, "", "it ran"},
	} {
		f := faultOf(types.Instance{
			InstanceId: aws.String("i-1"), State: &types.InstanceState{Name: c.state},
			StateReason: &types.StateReason{Code: aws.String(c.code), Message: aws.String(c.code + ": told")},
		})
		switch {
		case c.kind == "" && f != nil:
			t.Errorf("%s is a fault: %v; %s", c.code, f, c.reason)
		case c.kind != "" && (f == nil || f.Kind != c.kind):
			t.Errorf("%s: fault %v, want %s: %s", c.code, f, c.kind, c.reason)
		}
	}
}

// A quota that fails an accepted instance has the same scope as one that refuses it.
func TestQuotasOfGivenUpInstances(t *testing.T) {
	for code, scope := range map[string]provider.Scope{
		"Client.InstanceLimitExceeded": provider.ScopeType, "Client.VolumeLimitExceeded": provider.ScopeAccount, "Server.InsufficientInstanceCapacity": provider.ScopeType,
	} {
		f := faultOf(types.Instance{
			State: &types.InstanceState{Name: types.InstanceStateNameTerminated}, StateReason: &types.StateReason{Code: aws.String(code), Message: aws.String(code)},
		})
		if f == nil || f.Scope != scope {
			t.Errorf("%s: fault %+v, want scope %q", code, f, scope)
		}
	}
}
