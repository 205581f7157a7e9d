package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/millwright-dev/millwright/provider"
)

// response is an error answer of Azure.
func response(status int, header http.Header, body any) error {
	raw, _ := json.Marshal(body)
	if text, ok := body.(string); ok {
		raw = []byte(text)
	}
	req, _ := http.NewRequestWithContext(context.Background(), http.MethodPut, "https://management.azure.com/x", nil)
	return runtime.NewResponseError(&http.Response{StatusCode: status, Status: http.StatusText(status), Header: header, Body: io.NopCloser(bytes.NewReader(raw)), Request: req})
}

func said(status int, code, message string) error {
	return response(status, http.Header{}, map[string]any{"error": map[string]any{"code": code, "message": message}})
}

const quotaText = "Operation could not be completed as it results in exceeding approved %s quota. Additional details - Deployment Model: Resource Manager, Location: eastus, Current Limit: 10, " +
	"Current Usage: 8, Additional Required: 4, (Minimum) New Limit Required: 12."

// TestErrors has a row for each known code, with Azure's text.
func TestErrors(t *testing.T) {
	exhausted, busy, denied, throttled, transient, invalid := provider.Exhausted, provider.Conflict, provider.Denied, provider.Throttled, provider.Transient, provider.Invalid
	for _, row := range []struct {
		reason string
		err    error
		kind   provider.Kind
		scope  provider.Scope
		field  string
	}{
		{"a size is sold out", said(409, "SkuNotAvailable", "The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: Standard_D4s_v3' is currently not available in location 'eastus'."), exhausted, provider.ScopeType, ""},
		{"a size is sold out in a zone", said(409, "ZonalAllocationFailed", "Allocation failed. We do not have sufficient capacity for the requested VM size in this zone."), exhausted, provider.ScopeType, ""},
		{"a size is sold out in a region", said(409, "AllocationFailed", "Allocation failed."), exhausted, provider.ScopeType, ""},
		{"too much is asked of one host", said(409, "OverconstrainedZonalAllocationRequest", "Allocation failed. VM(s) with the following constraints cannot be allocated"), exhausted, provider.ScopeType, ""},
		{"the quota of the region", said(409, "OperationNotAllowed", fmt.Sprintf(quotaText, "Total Regional Cores")), exhausted, provider.ScopeAccount, ""},
		{"the quota of one family: others have theirs", said(409, "OperationNotAllowed", fmt.Sprintf(quotaText, "standardDSv3Family Cores")), exhausted, provider.ScopeType, ""},
		{"the quota of spot: what is on demand has its own", said(409, "OperationNotAllowed", fmt.Sprintf(quotaText, "LowPriorityCores")), exhausted, provider.ScopeType, ""},
		{"a quota by another name", said(409, "ResourceQuotaExceeded", "x"), exhausted, provider.ScopeAccount, ""},
		{"addresses", said(400, "PublicIPCountLimitReached", "Cannot create more than 10 public IP addresses for this subscription in this region."), exhausted, provider.ScopeAccount, ""},
		{"a full subnet", said(400, "SubnetIsFull", "Subnet s with address prefix 10.0.0.0/29 does not have enough capacity for 1 IP addresses."), exhausted, provider.ScopeType, ""},
		{"the original of Gardener counts it as a shortage", said(400, "BadRequest", "The requested VM size is not supported in zone 2."), exhausted, provider.ScopeType, ""},
		{"an operation that is refused for other reasons than a quota", said(409, "OperationNotAllowed", "Operation 'createOrUpdate' is not allowed on VM 'm' since the VM is marked for deletion."), busy, "", ""},
		{"somebody changes the same thing", said(409, "Conflict", "The request failed due to conflict with a concurrent request."), busy, "", ""},
		{"the same, on networks", said(429, "AnotherOperationInProgress", "Another operation on this or dependent resource is in progress."), busy, "", ""},
		{
			"429 that is no throttling: the interface is not ready", response(429, http.Header{}, map[string]any{"error": map[string]any{
				"code": "RetryableError", "message": "A retryable error occurred.", "details": []any{map[string]any{"code": "ReferencedResourceNotProvisioned", "message": "Cannot proceed with operation"}},
			}}), busy, "", "",
		},
		{"an interface that Azure keeps for a machine that failed", said(400, "NicReservedForAnotherVm", "Nic(s) in request is reserved for another Virtual Machine for 180 seconds. Please provide another nic(s) or retry after 180 seconds."), busy, "", ""},
		{"too many requests", response(429, http.Header{"Retry-After": {"17"}}, map[string]any{"error": map[string]any{"code": "OperationNotAllowed", "message": "The server rejected the request because too many requests have been received for this subscription."}}), throttled, "", ""},
		{"a page of HTML with 429", response(429, http.Header{}, "<html>"), throttled, "", ""},
		{"a role that is too small", said(403, "AuthorizationFailed", "The client 'x' does not have authorization to perform action"), denied, "", ""},
		{"a role that is too small for what is referred to", said(403, "LinkedAuthorizationFailed", "The client has permission to perform action"), denied, "", ""},
		{"a token that has expired", said(401, "ExpiredAuthenticationToken", "The access token expiry"), denied, "", ""},
		{"a subscription that is not there: no empty list", said(404, "SubscriptionNotFound", "The subscription 'x' could not be found."), denied, "", ""},
		{"a subscription that is switched off", said(409, "ReadOnlyDisabledSubscription", "The subscription 'x' is disabled"), denied, "", ""},
		{"a lock: its owner takes it away", said(409, "ScopeLocked", "The scope cannot perform delete operation because following scope(s) are locked"), transient, "", ""},
		{"a policy: the spec breaks it", said(403, "RequestDisallowedByPolicy", "Resource 'm' was disallowed by policy."), invalid, "", ""},
		{"a resource group that is not there", said(404, "ResourceGroupNotFound", "Resource group 'x' could not be found."), invalid, "", "resourceGroup"},
		{"an image that is not there", said(404, "PlatformImageNotFound", "The platform image 'a:b:c:d' is not available."), invalid, "", "image"},
		{"a size that there is not", response(400, http.Header{}, map[string]any{"error": map[string]any{"code": "InvalidParameter", "message": "The value x provided for the VM size is not valid.", "target": "vmSize"}}), invalid, "", "vmSize"},
		{"a zone that there is not", said(400, "InvalidAvailabilityZone", "The zone(s) '9' for resource"), invalid, "", "zone"},
		{"a subnet that is not there", said(400, "InvalidResourceReference", "Resource /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/s referenced by resource x was not found."), invalid, "", "subnet"},
		{"a security group that is not there", said(400, "InvalidResourceReference", "Resource /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/networkSecurityGroups/n referenced by x was not found."), invalid, "", "securityGroup"},
		{"terms that nobody has accepted", said(400, "ResourcePurchaseValidationFailed", "User failed validation to purchase resources."), invalid, "", "image"},
		{"Azure's own failure", said(500, "InternalExecutionError", "An internal execution error occurred."), transient, "", ""},
		{"a gateway's", response(502, http.Header{}, "<html>Bad gateway</html>"), transient, "", ""},
		{"busy servers", response(503, http.Header{"Retry-After": {"5"}}, map[string]any{"error": map[string]any{"code": "ServerBusy", "message": "x"}}), transient, "", ""},
		{"a code that is not known, of a client's error", said(400, "SomethingNew", "x"), invalid, "", ""},
		{"a code that is not known, of a conflict", said(409, "SomethingNew", "x"), busy, "", ""},
		{"no answer", errors.New("connection refused"), transient, "", ""},
	} {
		err := openshiftFields.classify(row.err)
		got, _ := errors.AsType[*provider.Error](err)
		if got == nil {
			got = &provider.Error{}
		}
		if provider.KindOf(err) != row.kind || got.Scope != row.scope || got.Field != row.field {
			t.Errorf("%s: %s, scope %q, field %q; want %s, %q, %q: %v", row.reason, provider.KindOf(err), got.Scope, got.Field, row.kind, row.scope, row.field, err)
		}
	}
}

func TestErrorsSayHowLongToWait(t *testing.T) {
	for want, err := range map[time.Duration]error{
		17 * time.Second:        response(429, http.Header{"Retry-After": {"17"}}, "x"),
		1500 * time.Millisecond: response(503, http.Header{"Retry-After-Ms": {"1500"}}, "x"),
		180 * time.Second:       said(400, "NicReservedForAnotherVm", "reserved for another Virtual Machine for 180 seconds."),
	} {
		if got := provider.AfterOf(gardenerFields.classify(err)); got != want {
			t.Errorf("asks to wait %v, want %v", got, want)
		}
	}
}

// TestFaults: the status of an accepted machine has the reason of its failure, and the kind is always a
// final one.
func TestFaults(t *testing.T) {
	for code, want := range map[string]provider.Kind{
		"AllocationFailed": provider.Exhausted, "ZonalAllocationFailed": provider.Exhausted, "SkuNotAvailable": provider.Exhausted, "OverconstrainedAllocationRequest": provider.Exhausted,
		"InternalExecutionError": provider.Invalid, "OSProvisioningClientError": provider.Invalid, "Conflict": provider.Invalid, "": provider.Invalid,
	} {
		got := gardenerFields.fault(&answer{code: code, text: "x", status: 400})
		if got.Kind != want {
			t.Errorf("%s: %s, want %s", code, got.Kind, want)
		}
	}
	if got := openshiftFields.fault(nil); got.Kind != provider.Invalid || got.Err == nil {
		t.Errorf("a failure without a cause is %v", got)
	}
}

// TestStates has a row for each pair of provisioning and power state.
func TestStates(t *testing.T) {
	for _, row := range []struct {
		provisioning, power string
		state               provider.State
		raw                 string
	}{
		{"Creating", "", provider.Pending, "Creating"},
		{"Creating", "running", provider.Pending, "Creating"},
		{"Updating", "", provider.Pending, "Updating"},
		{"Updating", "running", provider.Running, "Running"},
		{"Migrating", "", provider.Pending, "Migrating"},
		{"Deleting", "running", provider.Stopping, "Deleting"},
		{"Succeeded", "", provider.Running, "Running"},
		{"Succeeded", "running", provider.Running, "Running"},
		{"Succeeded", "starting", provider.Pending, "Starting"},
		{"Succeeded", "stopping", provider.Stopped, "Stopping"},
		{"Succeeded", "stopped", provider.Stopped, "Stopped"},
		{"Succeeded", "deallocating", provider.Stopped, "Deallocating"},
		{"Succeeded", "deallocated", provider.Stopped, "Deallocated"},
		{"Succeeded", "new", provider.Running, "Unknown"},
		{"Failed", "", provider.Stopped, "Failed"},
		{"Failed", "running", provider.Running, "Running"},
		{"Canceled", "", provider.Stopped, "Failed"},
	} {
		if state, raw := stateOf(row.provisioning, row.power); state != row.state || raw != row.raw {
			t.Errorf("%s %s is %s %s, want %s %s", row.provisioning, row.power, state, raw, row.state, row.raw)
		}
	}
}
