package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/millwright-dev/millwright/provider"
)

// reaction is the meaning of a code of AWS.
type reaction struct {
	kind  provider.Kind
	scope provider.Scope
	field field
}

// field is a part of a request; each API has its own name for it.
type field int

const (
	none field = iota
	ofImage
	ofType
	ofSubnet
	ofGroups
	ofKey
	ofProfile
	ofZone
	ofDisks
	ofTags
	ofHost
	ofReservation
	ofGroup
	ofMarket
	ofUserData
	ofNetwork
)

// reactions are those to codes of EC2, Elastic Load Balancing and STS. A quota, or exhausted capacity, is
// never an error of the spec, whatever its HTTP status is. EC2 counts vCPUs, instances and hosts by
// families of types, and spot instances separately: such a quota does not concern other choices. The
// account's are those that every choice shares.
var reactions = map[string]reaction{
	"RequestLimitExceeded": {kind: provider.Throttled}, "Throttling": {kind: provider.Throttled}, "ThrottlingException": {kind: provider.Throttled},
	"ThrottledException": {kind: provider.Throttled}, "TooManyRequestsException": {kind: provider.Throttled}, "EC2ThrottledException": {kind: provider.Throttled},
	"RequestThrottled": {kind: provider.Throttled}, "SlowDown": {kind: provider.Throttled}, "BandwidthLimitExceeded": {kind: provider.Throttled},
	"RequestThrottledException": {kind: provider.Throttled}, "ResourceCountExceeded": {kind: provider.Throttled},

	"InsufficientInstanceCapacity":          {kind: provider.Exhausted, scope: provider.ScopeType},
	"InsufficientCapacity":                  {kind: provider.Exhausted, scope: provider.ScopeType},
	"InsufficientHostCapacity":              {kind: provider.Exhausted, scope: provider.ScopeType},
	"InsufficientCapacityOnHost":            {kind: provider.Exhausted, scope: provider.ScopeType},
	"InsufficientReservedInstanceCapacity":  {kind: provider.Exhausted, scope: provider.ScopeType},
	"InsufficientReservedInstancesCapacity": {kind: provider.Exhausted, scope: provider.ScopeType},
	"ReservationCapacityExceeded":           {kind: provider.Exhausted, scope: provider.ScopeType},
	"SpotMaxPriceTooLow":                    {kind: provider.Exhausted, scope: provider.ScopeType},
	"Unsupported":                           {kind: provider.Exhausted, scope: provider.ScopeType},
	"UnfulfillableCapacity":                 {kind: provider.Exhausted, scope: provider.ScopeType},
	"InsufficientFreeAddressesInSubnet":     {kind: provider.Exhausted, scope: provider.ScopeZone},
	"InsufficientVolumeCapacity":            {kind: provider.Exhausted, scope: provider.ScopeZone},
	"InsufficientAddressCapacity":           {kind: provider.Exhausted, scope: provider.ScopeAccount},
	"VcpuLimitExceeded":                     {kind: provider.Exhausted, scope: provider.ScopeType},
	"InstanceLimitExceeded":                 {kind: provider.Exhausted, scope: provider.ScopeType},
	"MaxSpotInstanceCountExceeded":          {kind: provider.Exhausted, scope: provider.ScopeType},
	"MaxSpotFleetRequestCountExceeded":      {kind: provider.Exhausted, scope: provider.ScopeType},
	"VolumeLimitExceeded":                   {kind: provider.Exhausted, scope: provider.ScopeAccount},
	"MaxIOPSLimitExceeded":                  {kind: provider.Exhausted, scope: provider.ScopeAccount},
	"RouteLimitExceeded":                    {kind: provider.Exhausted, scope: provider.ScopeAccount},
	"AddressLimitExceeded":                  {kind: provider.Exhausted, scope: provider.ScopeAccount},
	"NetworkInterfaceLimitExceeded":         {kind: provider.Exhausted, scope: provider.ScopeAccount},
	"HostLimitExceeded":                     {kind: provider.Exhausted, scope: provider.ScopeType},
	"PendingSnapshotLimitExceeded":          {kind: provider.Exhausted, scope: provider.ScopeAccount},
	"CreditsExceeded":                       {kind: provider.Exhausted, scope: provider.ScopeAccount},
	"LimitExceeded":                         {kind: provider.Exhausted, scope: provider.ScopeType},

	"AuthFailure": {kind: provider.Denied}, "UnauthorizedOperation": {kind: provider.Denied}, "AccessDenied": {kind: provider.Denied},
	"AccessDeniedException": {kind: provider.Denied}, "InvalidClientTokenId": {kind: provider.Denied}, "SignatureDoesNotMatch": {kind: provider.Denied},
	"ExpiredToken": {kind: provider.Denied}, "ExpiredTokenException": {kind: provider.Denied}, "MissingAuthenticationToken": {kind: provider.Denied},
	"OptInRequired": {kind: provider.Denied}, "PendingVerification": {kind: provider.Denied}, "Blocked": {kind: provider.Denied},
	"InvalidIdentityToken": {kind: provider.Denied}, "IDPRejectedClaim": {kind: provider.Denied}, "RegionDisabledException": {kind: provider.Denied},
	"IncompleteSignature": {kind: provider.Denied}, "UnrecognizedClientException": {kind: provider.Denied},

	"IncorrectInstanceState": {kind: provider.Conflict}, "IncorrectState": {kind: provider.Conflict}, "DependencyViolation": {kind: provider.Conflict},
	"OperationNotPermitted": {kind: provider.Conflict}, "InvalidTarget": {kind: provider.Conflict}, "IncorrectSpotRequestState": {kind: provider.Conflict},
	"ConcurrentTagAccess": {kind: provider.Conflict}, "InvalidInstance": {kind: provider.Conflict},

	// The token was used with other parameters: an instance exists and will be visible soon, or the request
	// was refused.
	"IdempotentParameterMismatch": {kind: provider.Transient}, "IdempotentInstanceTerminated": {kind: provider.Transient},
	"RequestExpired": {kind: provider.Transient}, "InvalidInstanceID.NotFound": {kind: provider.Transient},
	"InvalidNetworkInterfaceID.NotFound": {kind: provider.Transient}, "InvalidHostID.NotFound": {kind: provider.Invalid, field: ofHost},

	"InvalidAMIID.NotFound": {kind: provider.Invalid, field: ofImage}, "InvalidAMIID.Malformed": {kind: provider.Invalid, field: ofImage},
	"InvalidAMIID.Unavailable": {kind: provider.Transient}, "InvalidInstanceType": {kind: provider.Invalid, field: ofType},
	"InvalidSubnetID.NotFound": {kind: provider.Invalid, field: ofSubnet}, "InvalidSubnetID.Malformed": {kind: provider.Invalid, field: ofSubnet},
	"InvalidSubnet": {kind: provider.Invalid, field: ofSubnet}, "InvalidGroup.NotFound": {kind: provider.Invalid, field: ofGroups},
	"InvalidGroupId.Malformed": {kind: provider.Invalid, field: ofGroups}, "InvalidSecurityGroupID.NotFound": {kind: provider.Invalid, field: ofGroups},
	"SecurityGroupsPerInstanceLimitExceeded":  {kind: provider.Invalid, field: ofGroups},
	"SecurityGroupsPerInterfaceLimitExceeded": {kind: provider.Invalid, field: ofGroups}, "InvalidKeyPair.NotFound": {kind: provider.Invalid, field: ofKey},
	"InvalidPlacementGroup.Unknown": {kind: provider.Invalid, field: ofGroup}, "InvalidPlacementGroupId.Malformed": {kind: provider.Invalid, field: ofGroup},
	"InvalidCapacityReservationId.NotFound": {kind: provider.Invalid, field: ofReservation}, "InvalidCapacityReservationId.Malformed": {kind: provider.Invalid, field: ofReservation},
	"InvalidCapacityReservationState": {kind: provider.Exhausted, scope: provider.ScopeType}, "InvalidHostConfiguration": {kind: provider.Invalid, field: ofHost},
	"InvalidHostId.Malformed": {kind: provider.Invalid, field: ofHost}, "InvalidBlockDeviceMapping": {kind: provider.Invalid, field: ofDisks},
	"InvalidSnapshot.NotFound": {kind: provider.Invalid, field: ofDisks}, "TagLimitExceeded": {kind: provider.Invalid, field: ofTags},
	"TagPolicyViolation": {kind: provider.Invalid, field: ofTags}, "InvalidTagKey.Malformed": {kind: provider.Invalid, field: ofTags},
	"InvalidUserData.Malformed": {kind: provider.Invalid, field: ofUserData}, "AttachmentLimitExceeded": {kind: provider.Invalid, field: ofNetwork},
	"InvalidInterface.IpAddressLimitExceeded": {kind: provider.Invalid, field: ofNetwork}, "UnsupportedOperation": {kind: provider.Invalid},
	"InvalidParameter": {kind: provider.Invalid}, "InvalidParameterValue": {kind: provider.Invalid}, "InvalidParameterCombination": {kind: provider.Invalid},
	"MissingParameter": {kind: provider.Invalid}, "InvalidAction": {kind: provider.Invalid}, "UnknownParameter": {kind: provider.Invalid},
	"InvalidInput": {kind: provider.Invalid}, "ValidationError": {kind: provider.Invalid}, "VPCIdNotSpecified": {kind: provider.Invalid, field: ofSubnet},
	"DefaultVpcDoesNotExist": {kind: provider.Invalid, field: ofSubnet}, "MissingInput": {kind: provider.Invalid}, "LoadBalancerNotFound": {kind: provider.Invalid},
	"TargetGroupNotFound": {kind: provider.Invalid}, "TooManyTargets": {kind: provider.Exhausted, scope: provider.ScopeAccount},
	"InvalidFlowLogId.NotFound": {kind: provider.Invalid}, "InvalidVolumeTypeException": {kind: provider.Invalid, field: ofDisks},
}

// about finds the subject in the text of InvalidParameterValue.
var about = []struct {
	text  string
	field field
}{
	{"iaminstanceprofile", ofProfile},
	{"instancetype", ofType},
	{"instance type", ofType},
	{"availability zone", ofZone},
	{"availabilityzone", ofZone},
	{"availability zones", ofZone},
	{"tag", ofTags},
	{"user data", ofUserData},
	{"volume", ofDisks},
	{"blockdevice", ofDisks},
	{"iops", ofDisks},
	{"throughput", ofDisks},
	{"markettype", ofMarket},
	{"spot", ofMarket},
	{"reservation", ofReservation},
	{"host", ofHost},
	{"placement", ofGroup},
	{"partition", ofGroup},
	{"security group", ofGroups},
	{"subnet", ofSubnet},
	{"networkinterface", ofNetwork},
	{"network interface", ofNetwork},
	{"publicip", ofNetwork},
	{"ipv6", ofNetwork},
}

// reactTo is the reaction to a code. An unknown code is a fault of the spec if its name says so: EC2 calls
// them Invalid...; all others may be temporary.
func reactTo(code, message string) reaction {
	r, ok := reactions[code]
	switch {
	case ok:
	case strings.HasPrefix(code, "Insufficient"):
		r = reaction{kind: provider.Exhausted, scope: provider.ScopeType}
	case strings.HasSuffix(code, "LimitExceeded"): // without the subject: mostly of a family of types, or of terms
		r = reaction{kind: provider.Exhausted, scope: provider.ScopeType}
	case strings.HasPrefix(code, "Invalid") && (strings.HasSuffix(code, ".NotFound") || strings.HasSuffix(code, ".Malformed")):
		r = reaction{kind: provider.Invalid}
	default:
		r = reaction{kind: provider.Transient}
	}
	if r.kind == provider.Invalid && r.field == none {
		text := strings.ToLower(message)
		for _, a := range about {
			if strings.Contains(text, a.text) {
				r.field = a.field
				break
			}
		}
	}
	return r
}

// classify classifies the error of an operation. names are the fields of the spec.
func classify(doing string, err error, names map[field]string) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e // was classified where it happened
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return provider.Errorf(provider.Transient, "%s: %w", doing, err)
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok || api.ErrorCode() == "" {
		return unanswered(doing, err)
	}
	r := reactTo(api.ErrorCode(), api.ErrorMessage())
	e := &provider.Error{Kind: r.kind, Scope: r.scope, After: afterOf(err), Err: fmt.Errorf("%s: %s: %s", doing, api.ErrorCode(), api.ErrorMessage())}
	if r.kind == provider.Invalid {
		e.Field = names[r.field]
	}
	if _, known := reactions[api.ErrorCode()]; !known && r.kind == provider.Transient {
		e.Kind = byStatus(err)
	}
	return e
}

// unanswered is a call without an answer of AWS: a broken connection, a page of a proxy, or missing
// credentials.
func unanswered(doing string, err error) error {
	if text := err.Error(); strings.Contains(text, "get identity") || strings.Contains(text, "refresh cached credentials") {
		return provider.Errorf(provider.Denied, "%s: there are no credentials that hold: %w", doing, err)
	}
	return &provider.Error{Kind: byStatus(err), After: afterOf(err), Err: fmt.Errorf("%s: %w", doing, err)}
}

// uncertain reports whether a failed call may have had an effect: its answer is lost, or AWS itself does
// not know.
func uncertain(err error) bool {
	_, known := reactions[codeOf(err)]
	return !known && provider.KindOf(classify("", err, nil)) == provider.Transient
}

func byStatus(err error) provider.Kind {
	r, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok {
		return provider.Transient
	}
	switch r.HTTPStatusCode() {
	case http.StatusUnauthorized, http.StatusForbidden:
		return provider.Denied
	case http.StatusTooManyRequests:
		return provider.Throttled
	}
	return provider.Transient
}

// afterOf is the delay that an answer asks for.
func afterOf(err error) time.Duration {
	r, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || r.Response == nil {
		return 0
	}
	seconds, err := strconv.Atoi(r.Response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// codeOf is the code of an error of AWS; empty for other errors.
func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}
