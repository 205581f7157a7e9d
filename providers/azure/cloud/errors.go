package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/millwright-dev/millwright/provider"
)

// reaction is what the engine does about a code of Azure.
type reaction struct {
	kind  provider.Kind
	scope provider.Scope
	// field is the spec's field that the code is about.
	field string
}

var (
	soldOut  = reaction{kind: provider.Exhausted, scope: provider.ScopeType}
	usedUp   = reaction{kind: provider.Exhausted, scope: provider.ScopeAccount}
	busy     = reaction{kind: provider.Conflict}
	denied   = reaction{kind: provider.Denied}
	broken   = reaction{kind: provider.Transient}
	throttle = reaction{kind: provider.Throttled}
)

// invalid is about a field of the spec.
func invalid(field string) reaction { return reaction{kind: provider.Invalid, field: field} }

// The fields that errors are about, by names of this provider's own: the dialects have other names for
// them.
const (
	fieldSize, fieldZone, fieldImage, fieldSubnet, fieldGroup = "size", "zone", "image", "subnet", "group"
	fieldLocation, fieldTags, fieldSecurityGroup, fieldPlace  = "location", "tags", "securityGroup", "place"
	fieldLoadBalancer, fieldIdentity, fieldReservation        = "loadBalancer", "identity", "reservation"
	fieldDisk, fieldKey, fieldAppGroup, fieldEncryption       = "disk", "key", "appGroup", "encryption"
)

// reactions are those to codes, whatever the status of the answer. Azure counts capacity by size, in a zone
// or a region: it has no code for a zone without room for any size.
// https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors
var reactions = map[string]reaction{
	"SkuNotAvailable":                                   soldOut,
	"AllocationFailed":                                  soldOut,
	"ZonalAllocationFailed":                             soldOut,
	"OverconstrainedAllocationRequest":                  soldOut,
	"OverconstrainedZonalAllocationRequest":             soldOut,
	"CapacityReservationCapacityExceeded":               soldOut,
	"QuotaExceeded":                                     usedUp,
	"ResourceQuotaExceeded":                             usedUp,
	"PublicIPCountLimitReached":                         usedUp,
	"NetworkInterfaceCountLimitReached":                 usedUp,
	"SubnetIsFull":                                      soldOut, // another choice may have another subnet
	"Conflict":                                          busy,
	"AnotherOperationInProgress":                        busy,
	"OperationPreempted":                                busy,
	"RetryableError":                                    busy,
	"ReferencedResourceNotProvisioned":                  busy,
	"NicReservedForAnotherVm":                           busy,
	"AttachDiskWhileBeingDetached":                      busy,
	"ResourceGroupBeingDeleted":                         busy,
	"NicInUse":                                          busy,
	"PublicIPAddressInUse":                              busy,
	"PublicIPAddressCannotBeDeleted":                    busy,
	"CanceledAndSupersededDueToAnotherOperation":        busy,
	"PreconditionFailed":                                busy,
	"PropertyChangeNotAllowed":                          busy,
	"AuthorizationFailed":                               denied,
	"LinkedAuthorizationFailed":                         denied,
	"LinkedAccessCheckFailed":                           denied,
	"AuthenticationFailed":                              denied,
	"InvalidAuthenticationToken":                        denied,
	"InvalidAuthenticationTokenTenant":                  denied,
	"ExpiredAuthenticationToken":                        denied,
	"SubscriptionNotFound":                              denied,
	"InvalidSubscriptionId":                             denied,
	"DisabledSubscription":                              denied,
	"ReadOnlyDisabledSubscription":                      denied,
	"MissingSubscriptionRegistration":                   denied,
	"ScopeLocked":                                       broken,
	"TooManyRequests":                                   throttle,
	"SubscriptionRequestsThrottled":                     throttle,
	"RequestDisallowedByPolicy":                         {kind: provider.Invalid},
	"InvalidAvailabilityZone":                           invalid(fieldZone),
	"AvailabilityZoneNotSupported":                      invalid(fieldZone),
	"LocationNotAvailableForResourceType":               invalid(fieldLocation),
	"PlatformImageNotFound":                             invalid(fieldImage),
	"GalleryImageNotFound":                              invalid(fieldImage),
	"ImageNotFound":                                     invalid(fieldImage),
	"VMMarketplaceInvalidInput":                         invalid(fieldImage),
	"MarketplacePurchaseEligibilityFailed":              invalid(fieldImage),
	"ResourcePurchaseValidationFailed":                  invalid(fieldImage),
	"VMSizeIsNotPermittedToEnableAcceleratedNetworking": invalid(fieldSize),
	"VMSizeNotSupported":                                invalid(fieldSize),
	"InvalidTagNameCharacters":                          invalid(fieldTags),
	"InvalidTagNames":                                   invalid(fieldTags),
	"InvalidTagValueLength":                             invalid(fieldTags),
	"TagCountLimitExceeded":                             invalid(fieldTags),
	codeNoGroup:                                         invalid(fieldGroup),
}

// codeNoGroup is the code for a resource group that does not exist and therefore contains nothing.
const codeNoGroup = "ResourceGroupNotFound"

// answer is the content of an error of Azure.
type answer struct {
	status             int
	code, text, target string
	details            []string // codes
	after              time.Duration
}

var (
	quota = regexp.MustCompile(`(?i)exceeding.*quota`)
	// Families have quotas of their own, and so has spot, which Azure calls LowPriorityCores.
	some        = regexp.MustCompile(`(?i)approved (\S*family\S* cores|low\s*priority\s*cores|\S*spot\S*)`)
	unsupported = regexp.MustCompile(`(?i)not\s+supported`)
	seconds     = regexp.MustCompile(`(\d+) seconds`)
)

// react returns the reaction: by the code, else by the status.
func (a answer) react() reaction {
	if r, ok := reactions[a.code]; ok {
		return r
	}
	for _, code := range a.details {
		if r, ok := reactions[code]; ok {
			return r
		}
	}
	switch {
	case a.code == "OperationNotAllowed" && quota.MatchString(a.text):
		if some.MatchString(a.text) {
			return soldOut
		}
		return usedUp
	case a.code == "BadRequest" && unsupported.MatchString(a.text):
		return soldOut
	case a.status == http.StatusTooManyRequests:
		return throttle
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		return denied
	case a.status == http.StatusConflict, a.status == http.StatusPreconditionFailed:
		return busy
	case a.status == http.StatusRequestTimeout, a.status >= http.StatusInternalServerError, a.status < http.StatusBadRequest:
		return broken
	}
	return invalid(a.subject())
}

// subjects are words in errors that identify their field, most specific first.
var subjects = []struct{ word, field string }{
	{"/subnets/", fieldSubnet},
	{"/virtualnetworks/", fieldSubnet},
	{"/networksecuritygroups/", fieldSecurityGroup},
	{"/applicationsecuritygroups/", fieldAppGroup},
	{"/loadbalancers/", fieldLoadBalancer},
	{"/userassignedidentities/", fieldIdentity},
	{"/capacityreservationgroups/", fieldReservation},
	{"/availabilitysets/", fieldPlace},
	{"/virtualmachinescalesets/", fieldPlace},
	{"/diskencryptionsets/", fieldEncryption},
	{"vmsize", fieldSize},
	{"vm size", fieldSize},
	{"imagereference", fieldImage},
	{"keydata", fieldKey},
	{"zone", fieldZone},
	{"disk", fieldDisk},
	{"image", fieldImage},
	{"location", fieldLocation},
}

func (a answer) subject() string {
	for _, text := range []string{strings.ToLower(a.target), strings.ToLower(a.text)} {
		for _, s := range subjects {
			if strings.Contains(text, s.word) {
				return s.field
			}
		}
	}
	return ""
}

// fields are a dialect's names for the fields that errors are about.
type fields map[string]string

// classify converts an error of the SDK to an error of the contract.
func (f fields) classify(err error) error {
	if _, ok := errors.AsType[*provider.Error](err); ok || err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if login, ok := errors.AsType[*azidentity.AuthenticationFailedError](err); ok {
		return refusedLogin(login)
	}
	resp, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok {
		return err // no answer, or an unreadable one: Transient
	}
	return f.error(read(resp))
}

// error converts an answer.
func (f fields) error(a answer) *provider.Error {
	r := a.react()
	out := provider.Errorf(r.kind, "%s", a.says())
	out.After, out.Scope = a.after, r.scope
	if r.kind == provider.Invalid {
		out.Field = f[r.field]
	}
	return out
}

func (a answer) says() string {
	code := a.code
	if code == "" {
		code = http.StatusText(a.status)
	}
	return provider.Clip(code+": "+a.text, mostText)
}

// mostText is the maximal length of an error's text, in bytes.
const mostText = 2 << 10

// wire is the format of errors:
// https://github.com/microsoft/api-guidelines/blob/vNext/azure/Guidelines.md#handling-errors
type wire struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Target  string `json:"target"`
	Details []wire `json:"details"`
}

func read(resp *azcore.ResponseError) answer {
	a := answer{status: resp.StatusCode, code: resp.ErrorCode, text: http.StatusText(resp.StatusCode)}
	if resp.RawResponse == nil {
		return a
	}
	a.after = after(resp.RawResponse.Header)
	body, err := runtime.Payload(resp.RawResponse)
	var says struct{ Error wire }
	if err != nil || json.Unmarshal(body, &says) != nil || says.Error.Code == "" {
		return a
	}
	w := says.Error
	a.code, a.text, a.target = w.Code, w.Message, w.Target
	for _, d := range w.Details {
		a.details = append(a.details, d.Code)
		if d.Message != "" && !strings.Contains(a.text, d.Message) {
			a.text += " " + d.Message
		}
	}
	if a.code == "NicReservedForAnotherVm" && a.after == 0 {
		if m := seconds.FindStringSubmatch(a.text); m != nil {
			n, _ := strconv.Atoi(m[1])
			a.after = time.Duration(n) * time.Second
		}
	}
	return a
}

// after is how long an answer asks to wait.
func after(h http.Header) time.Duration {
	for name, unit := range map[string]time.Duration{"Retry-After-Ms": time.Millisecond, "X-Ms-Retry-After-Ms": time.Millisecond, "Retry-After": time.Second} {
		if n, err := strconv.Atoi(h.Get(name)); err == nil && n > 0 {
			return time.Duration(n) * unit
		}
	}
	return 0
}

// refusedLogin is about tokens. A retry cannot succeed after the directory's refusal.
func refusedLogin(err *azidentity.AuthenticationFailedError) *provider.Error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	status := 0
	if err.RawResponse != nil {
		status = err.RawResponse.StatusCode
		if body, e := runtime.Payload(err.RawResponse); e == nil {
			var says struct {
				Description string `json:"error_description"`
			}
			if json.Unmarshal(body, &says) == nil && says.Description != "" {
				text, _, _ = strings.Cut(says.Description, "\r\n")
			}
		}
	}
	kind := provider.Transient
	switch {
	case status == http.StatusTooManyRequests:
		kind = provider.Throttled
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		kind = provider.Denied
	}
	out := provider.Errorf(kind, "log in to Azure: %s", provider.Clip(text, mostText))
	if err.RawResponse != nil {
		out.After = after(err.RawResponse.Header)
	}
	return out
}

// isMissing reports whether an error says that an object does not exist; a missing subscription does not
// count.
func isMissing(err error) bool {
	resp, ok := errors.AsType[*azcore.ResponseError](err)
	return ok && resp.StatusCode == http.StatusNotFound && slices.Contains([]string{"ResourceNotFound", "NotFound", codeNoGroup}, resp.ErrorCode)
}

// exists reports whether an error says that the name exists already: a call whose reply was lost, or
// another process, has created the machine.
func exists(err error) bool {
	resp, ok := errors.AsType[*azcore.ResponseError](err)
	return ok && (resp.StatusCode == http.StatusPreconditionFailed || resp.ErrorCode == "PropertyChangeNotAllowed")
}

// missingGroup reports whether an error says that the resource group does not exist, and therefore nothing
// in it.
func missingGroup(err error) bool {
	resp, ok := errors.AsType[*azcore.ResponseError](err)
	return ok && resp.StatusCode == http.StatusNotFound && resp.ErrorCode == codeNoGroup
}
