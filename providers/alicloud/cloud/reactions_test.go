package cloud

import (
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

// TestReactions: a code of ECS that the table does not have is read by its words. A quota or a state is never an
// error of the spec, which would fail machines for ever.
func TestReactions(t *testing.T) {
	for _, r := range []struct {
		code   string
		status int
		want   reaction
		field  field
	}{
		{"Throttling", 400, throttled, none},
		{"Throttling.ConcurrentLimitExceeded", 400, throttled, none},
		{"SomethingElse", 429, throttled, none},
		{"OperationDenied.NoStock", 403, typeExhausted, none},
		{"QuotaExceed.ElasticQuota", 403, typeExhausted, none},
		{"QuotaExceed.NewQuota", 403, typeExhausted, none},
		{"InvalidSecurityGroup.InstanceLimitExceed", 403, typeExhausted, ofGroups},
		{"InvalidVSwitchId.IpNotEnough", 400, zoneExhausted, ofVSwitch},
		{"InvalidVSwitchId.AddressesNotEnough", 400, typeExhausted, ofVSwitch},
		{"Zone.NotOnSale", 403, zoneExhausted, none},
		{"QuotaExceed.AfterpayInstance", 403, exhausted, none},
		{"InvalidAccountStatus.Frozen", 403, exhausted, none},
		{"InvalidAccessKeyId.NotFound", 404, denied, none},
		{"InvalidAccessKeyId.Disabled", 403, denied, none},
		{"InvalidSecurityToken.Expired", 400, denied, none},
		{"Forbidden.RAM", 403, denied, none},
		{"Forbidden.Other", 403, denied, none},
		{"NewCode", 401, denied, none},
		{"NewCode", 403, transient, none},
		{"IncorrectInstanceStatus", 403, conflict, none},
		{"IncorrectDiskStatus", 403, conflict, none},
		{"InvalidOperation.DeletionProtection", 403, conflict, none},
		{"InvalidStatus.NewStatus", 403, conflict, none},
		{"DependencyViolation.RouteEntry", 403, conflict, none},
		{"IdempotentParameterMismatch", 400, transient, none},
		{"InternalError", 500, transient, none},
		{"InvalidNewThing", 503, transient, none},
		{"", 0, transient, none},
		{"InvalidImageId.NotFound", 404, invalid, ofImage},
		{"ImageNotSupportInstanceType", 403, invalid, ofImage},
		{"InvalidInstanceType.ValueUnauthorized", 403, invalid, ofType},
		{"InvalidSystemDiskCategory.ValueNotSupported", 400, invalid, ofSystemDisk},
		{"InvalidNewParameter", 400, invalid, none},
		{"MissingParameter.SecurityGroupId", 400, invalid, none},
	} {
		if got := reactTo(r.code, r.status); got != r.want {
			t.Errorf("%s (%d): %+v, want %+v", r.code, r.status, got, r.want)
		}
		if got := subjectOf(r.code); got != r.field {
			t.Errorf("%s is about the field %d, want %d", r.code, got, r.field)
		}
	}
	for code, r := range reactions {
		if (r.scope != "") != (r.kind == provider.Exhausted) {
			t.Errorf("%s: %+v", code, r)
		}
	}
}
