package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// reaction is the meaning of a code of Alibaba Cloud.
type reaction struct {
	kind  provider.Kind
	scope provider.Scope
}

// field is a part of a request; each API has its own name for it.
type field int

const (
	none field = iota
	ofImage
	ofType
	ofRegion
	ofZone
	ofVSwitch
	ofGroups
	ofAddress
	ofKey
	ofRole
	ofSystemDisk
	ofDataDisks
	ofInternet
	ofSpot
	ofCharge
	ofTags
	ofUserData
	ofTenancy
	ofResourceGroup
)

var (
	throttled     = reaction{kind: provider.Throttled}
	denied        = reaction{kind: provider.Denied}
	conflict      = reaction{kind: provider.Conflict}
	transient     = reaction{kind: provider.Transient}
	invalid       = reaction{kind: provider.Invalid}
	typeExhausted = reaction{kind: provider.Exhausted, scope: provider.ScopeType}
	zoneExhausted = reaction{kind: provider.Exhausted, scope: provider.ScopeZone}
	exhausted     = reaction{kind: provider.Exhausted, scope: provider.ScopeAccount}
)

// reactions are those to codes of ECS, VPC, Resource Management and STS. A quota, or exhausted capacity, is
// never an error of the spec. ECS counts vCPUs by types and by terms of payment: such a quota does not
// concern other choices. The account's are those that every choice shares.
var reactions = map[string]reaction{
	"ServiceUnavailable.Throttling": throttled, "TooManyRequests": throttled, "SystemBusy": throttled,

	"OperationDenied.NoStock": typeExhausted, "OperationDenied.ZoneSystemCategoryNotMatch": typeExhausted, "OperationDenied.CloudSSDNotSupported": typeExhausted,
	"InvalidResourceType.NotSupported": typeExhausted, "InvalidInstanceType.ZoneNotSupported": typeExhausted, "ResourceNotAvailable": typeExhausted,
	"QuotaExceed.ElasticQuota": typeExhausted, "LackResource": typeExhausted, "Invalid.PrivatePoolOptions.NoStock": typeExhausted,
	"InvalidDedicatedHost.NotEnoughResource": typeExhausted, "InvalidSpotPriceLimit.LowerThanPublicPrice": typeExhausted, "InvalidInstanceType.NotSupported": typeExhausted,
	"OperationDenied.InstanceTypeNotSupported": typeExhausted, "InvalidZoneId.NotSupportShareEncryptedImage": zoneExhausted,
	"OperationDenied.ZoneNotAllowed": zoneExhausted, "Zone.NotOnSale": zoneExhausted, "Zone.NotOpen": zoneExhausted, "InvalidVpcZone.NotSupported": zoneExhausted,
	"QuotaExceed.DiskCapacity": zoneExhausted, "InvalidVSwitchId.IpNotEnough": zoneExhausted, "InvalidVSwitchId.IpInsufficient": zoneExhausted,
	"QuotaExceed.PrivateIpAddress": exhausted, "QuotaExceed.AfterpayInstance": exhausted, "QuotaExceed.PostpaidInstance": exhausted, "QuotaExceed.Eni": exhausted,
	"InstanceQuotaExceed": exhausted, "QuotaExceed": exhausted, "EniLimitExceeded": exhausted, "SecurityGroupInstanceLimitExceed": exhausted,
	"InsufficientBalance": exhausted, "InvalidAccountStatus.NotEnoughBalance": exhausted, "Account.Arrearage": exhausted, "InvalidPayMethod": exhausted,

	"InvalidAccessKeyId.NotFound": denied, "InvalidAccessKeyId.Inactive": denied, "InvalidAccessKeyId": denied, "SignatureDoesNotMatch": denied,
	"IncompleteSignature": denied, "InvalidSecurityToken.Expired": denied, "InvalidSecurityToken.Malformed": denied, "InvalidSecurityToken.MismatchWithAccessKey": denied,
	"MissingSecurityToken": denied, "Forbidden.RAM": denied, "Forbidden": denied, "Forbidden.SubUser": denied, "Forbidden.NotSupportRAM": denied, "Forbidden.Unauthorized": denied,
	"NoPermission": denied, "UnauthorizedOperation": denied, "Unauthorized": denied, "InvalidUser.NotFound": denied, "UserNotInTheWhiteList": denied,
	"Forbbiden": denied, "OperationDenied.UserNotAuthorized": denied, "NoPermission.RamRole": denied, "Forbidden.AccessKey": denied,

	"IncorrectInstanceStatus": conflict, "IncorrectInstanceStatus.Initializing": conflict, "IncorrectStatus": conflict, "OperationConflict": conflict,
	"InvalidOperation.Conflict": conflict, "InvalidOperation.DeletionProtection": conflict, "InstanceLockedForSecurity": conflict, "InvalidStatus.ValueNotSupported": conflict,
	"TaskConflict": conflict, "ConcurrentOperation": conflict, "IdempotentProcessing": conflict, "LastTokenProcessing": conflict, "DependencyViolation": conflict,
	"InvalidPrivateIpAddress.Duplicated": conflict, "InvalidIPAddress.AlreadyUsed": conflict, "InvalidInstanceStatus": conflict, "ChargeTypeViolation": conflict,

	// The token was used with other parameters: an instance exists and will be visible soon, or the request
	// was refused.
	"IdempotentParameterMismatch": transient, "IdempotenceParamNotMatch": transient, "InvalidInstanceId.NotFound": transient, "InternalError": transient,
	"ServiceUnavailable": transient, "UnknownError": transient, "SignatureNonceUsed": transient, "InvalidTimeStamp.Expired": transient, "InvalidTimeStamp.Format": transient,

	"ImageNotSubscribed": invalid, "ImageNotSupportInstanceType": invalid, "TagLimitExceeded": invalid, "UnsupportedParameter": invalid, "UnsupportedOperation": invalid,
	"InvalidAction.NotFound": invalid, "InvalidParameter": invalid, "MissingParameter": invalid,
}

// subjects are the fields of codes that begin with a text; the first match counts.
var subjects = []struct {
	begin string
	field field
}{
	{"InvalidImage", ofImage},
	{"Image", ofImage},
	{"MissingParameter.ImageId", ofImage},
	{"InvalidInstanceType", ofType},
	{"InvalidRegion", ofRegion},
	{"InvalidZone", ofZone},
	{"InvalidVSwitch", ofVSwitch},
	{"InvalidVpc", ofVSwitch},
	{"InvalidSecurityGroup", ofGroups},
	{"InvalidPrivateIp", ofAddress},
	{"InvalidIPAddress", ofAddress},
	{"InvalidKeyPair", ofKey},
	{"KeyPair", ofKey},
	{"InvalidRamRole", ofRole},
	{"InvalidSystemDisk", ofSystemDisk},
	{"InvalidDataDisk", ofDataDisks},
	{"InvalidDisk", ofDataDisks},
	{"InvalidSnapshot", ofDataDisks},
	{"InvalidInternet", ofInternet},
	{"InvalidBandwidth", ofInternet},
	{"InvalidSpot", ofSpot},
	{"InvalidInstanceChargeType", ofCharge},
	{"InvalidTag", ofTags},
	{"TagLimit", ofTags},
	{"InvalidUserData", ofUserData},
	{"InvalidTenancy", ofTenancy},
	{"InvalidDedicatedHost", ofTenancy},
	{"InvalidResourceGroup", ofResourceGroup},
}

func subjectOf(code string) field {
	for _, s := range subjects {
		if strings.HasPrefix(code, s.begin) {
			return s.field
		}
	}
	return none
}

// reactTo is the reaction to a code. Of an unknown code the begin decides: ECS has hundreds of codes, which
// begin with the class of the error.
func reactTo(code string, status int) reaction {
	if r, ok := reactions[code]; ok {
		return r
	}
	begins := func(text string) bool { return strings.HasPrefix(code, text) }
	switch {
	case begins("Throttling"), status == http.StatusTooManyRequests:
		return throttled
	case begins("InvalidAccount"):
		return exhausted
	case containsAny(code, "QuotaExceed", "LimitExceed", "NotEnough", "Insufficient", "NoStock", "NotOnSale"):
		return typeExhausted
	case begins("InvalidAccessKeyId"), begins("InvalidSecurityToken"), begins("Forbidden."), begins("NoPermission"), status == http.StatusUnauthorized:
		return denied
	case begins("Incorrect"), begins("InvalidOperation"), begins("InvalidStatus"), begins("DependencyViolation"):
		return conflict
	case status < http.StatusInternalServerError && (begins("Invalid") || begins("MissingParameter")):
		return invalid
	}
	return transient
}

func containsAny(code string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(code, word) })
}

// answer is an error that a service of Alibaba Cloud answers with, as the SDK returns it.
type answer interface {
	error
	GetCode() *string
	GetStatusCode() *int
	GetMessage() *string
	GetData() map[string]any
	GetRetryAfter() *int64
}

func answerOf(err error) (answer, bool) {
	a, ok := errors.AsType[answer](err)
	return a, ok && deref(a.GetCode()) != ""
}

// codeOf is the code of an error of Alibaba Cloud; empty for other errors.
func codeOf(err error) string {
	if a, ok := answerOf(err); ok {
		return *a.GetCode()
	}
	return ""
}

// messageOf is the message without the ID of the request, which the SDK appends: a text in a status is the
// same after each attempt.
func messageOf(a answer) string {
	text, _ := a.GetData()["Message"].(string)
	lower, _ := a.GetData()["message"].(string)
	return cmp.Or(text, lower, http.StatusText(deref(a.GetStatusCode())))
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
	a, ok := answerOf(err)
	if !ok {
		return provider.Errorf(provider.Transient, "%s: %w", doing, err)
	}
	code := *a.GetCode()
	r := reactTo(code, deref(a.GetStatusCode()))
	e := &provider.Error{Kind: r.kind, Scope: r.scope, Err: fmt.Errorf("%s: %s: %s", doing, code, messageOf(a))}
	switch r.kind {
	case provider.Throttled:
		e.After = time.Duration(deref(a.GetRetryAfter())) * time.Millisecond
	case provider.Invalid:
		e.Field = names[subjectOf(code)]
	}
	return e
}
