package cloud

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millwright-dev/millwright/provider"
)

// reaction is the meaning of an error of Yandex Cloud.
type reaction struct {
	kind  provider.Kind
	scope provider.Scope
}

// reactions are those to codes. ResourceExhausted has several meanings ([exhaustion]).
var reactions = map[codes.Code]reaction{
	codes.Unauthenticated: {kind: provider.Denied}, codes.PermissionDenied: {kind: provider.Denied},
	codes.InvalidArgument: {kind: provider.Invalid}, codes.OutOfRange: {kind: provider.Invalid},
	codes.Aborted: {kind: provider.Conflict}, codes.AlreadyExists: {kind: provider.Conflict}, codes.FailedPrecondition: {kind: provider.Conflict},
}

// exhaustions are the meanings of messages of ResourceExhausted; the first match counts. Yandex Cloud counts
// operations in progress in a folder, and all other quotas in a cloud. A quota of disks or of GPUs does not
// concern choices without them.
var exhaustions = []struct {
	words *regexp.Regexp
	reaction
}{
	{regexp.MustCompile(`(?i)active operations|too many requests|requests? (rate|limit)|rate limit`), reaction{kind: provider.Throttled}},
	{regexp.MustCompile(`(?i)gpu|size of .* disks|disks?\..*(size|count)`), reaction{provider.Exhausted, provider.ScopeType}},
	{regexp.MustCompile(`(?i)quota|the limit on`), reaction{provider.Exhausted, provider.ScopeAccount}},
}

// noCapacity are words of other codes for a zone without capacity.
var noCapacity = regexp.MustCompile(`(?i)not enough (resources|capacity)|insufficient (resources|capacity)|out of capacity`)

// occupied are words of other codes for a name or an address that something else has. A host name is unique
// in a network, which folders can share.
var occupied = regexp.MustCompile(`(?i)already (exists|in use|used)`)

func reactTo(code codes.Code, message string) reaction {
	if code == codes.ResourceExhausted {
		for _, e := range exhaustions {
			if e.words.MatchString(message) {
				return e.reaction
			}
		}
		return reaction{provider.Exhausted, provider.ScopeType}
	}
	switch {
	case noCapacity.MatchString(message):
		return reaction{provider.Exhausted, provider.ScopeType}
	case occupied.MatchString(message):
		return reaction{kind: provider.Conflict}
	}
	if r, ok := reactions[code]; ok {
		return r
	}
	return reaction{kind: provider.Transient}
}

// classify classifies the error of a call.
func classify(doing string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e // was classified where it happened
	}
	st, ok := status.FromError(err)
	if !ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return provider.Errorf(provider.Transient, "%s: %w", doing, err)
	}
	r := reactTo(st.Code(), st.Message())
	// The error does not wrap the status: another call must not take it for an answer of its own service.
	e := &provider.Error{Kind: r.kind, Scope: r.scope, Err: fmt.Errorf("%s: %s: %s", doing, st.Code(), st.Message())}
	switch r.kind {
	case provider.Throttled:
		e.After = delayIn(st)
	case provider.Invalid:
		e.Field = fieldIn(st)
	}
	return e
}

// refusedKey classifies the refusal of a JWT: whatever is wrong with the key, another one fixes it.
func refusedKey(err error) error {
	st := status.Convert(err)
	switch st.Code() {
	case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.Unauthenticated, codes.PermissionDenied:
		return provider.Errorf(provider.Denied, "request a token for the key of the service account: %s: %s", st.Code(), st.Message())
	}
	return classify("request a token for the key of the service account", err)
}

// delayIn is the delay that an answer asks for; zero if it asks for none.
func delayIn(st *status.Status) time.Duration {
	for _, d := range st.Details() {
		if retry, ok := d.(*errdetails.RetryInfo); ok {
			return retry.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

// fields are the fields of specs, by the fields of a request; the first prefix counts.
var fields = []struct{ request, spec string }{
	{"resources_spec.cores", "resourcesSpec.cores"},
	{"resources_spec.memory", "resourcesSpec.memory"},
	{"resources_spec.core_fraction", "resourcesSpec.coreFraction"},
	{"resources_spec.gpus", "resourcesSpec.gpus"},
	{"resources_spec", "resourcesSpec"},
	{"boot_disk_spec.disk_spec.image_id", "bootDiskSpec.imageID"},
	{"boot_disk_spec.disk_spec.type_id", "bootDiskSpec.typeID"},
	{"boot_disk_spec.disk_spec.size", "bootDiskSpec.size"},
	{"boot_disk_spec", "bootDiskSpec"},
	{"network_interface_specs", "networkInterfaceSpecs"},
	{"network_settings", "networkType"},
	{"scheduling_policy", "schedulingPolicy"},
	{"platform_id", "platformID"},
	{"zone_id", "zoneID"},
	{"labels", "labels"},
	{"metadata", "metadata"},
}

// fieldIn is the field of the spec that an answer names; empty if it names none.
func fieldIn(st *status.Status) string {
	for _, d := range st.Details() {
		bad, _ := d.(*errdetails.BadRequest)
		for _, v := range bad.GetFieldViolations() {
			for _, f := range fields {
				if strings.HasPrefix(v.GetField(), f.request) {
					return f.spec
				}
			}
		}
	}
	return fieldOf(st.Message())
}

// subjects are the fields of specs, by the words of messages; the first match counts.
var subjects = []struct {
	words *regexp.Regexp
	spec  string
}{
	{regexp.MustCompile(`(?i)\bimage`), "bootDiskSpec.imageID"},
	{regexp.MustCompile(`(?i)\bdisk type|\bdisktype`), "bootDiskSpec.typeID"},
	{regexp.MustCompile(`(?i)\bdisk`), "bootDiskSpec"},
	{regexp.MustCompile(`(?i)\bsubnet|\bnetwork interface|\baddress`), "networkInterfaceSpecs"},
	{regexp.MustCompile(`(?i)\bplatform`), "platformID"},
	{regexp.MustCompile(`(?i)\bcore fraction`), "resourcesSpec.coreFraction"},
	{regexp.MustCompile(`(?i)\bcores?\b|\bvcpu`), "resourcesSpec.cores"},
	{regexp.MustCompile(`(?i)\bmemory`), "resourcesSpec.memory"},
	{regexp.MustCompile(`(?i)\bgpu`), "resourcesSpec.gpus"},
	{regexp.MustCompile(`(?i)\bzone`), "zoneID"},
	{regexp.MustCompile(`(?i)\blabel`), "labels"},
	{regexp.MustCompile(`(?i)\bmetadata`), "metadata"},
}

func fieldOf(message string) string {
	for _, s := range subjects {
		if s.words.MatchString(message) {
			return s.spec
		}
	}
	return ""
}

// missingResource is an error of the spec, if the answer to a creation says that something in the spec does
// not exist; nil otherwise.
func missingResource(err error) *provider.Error {
	if _, classified := errors.AsType[*provider.Error](err); classified || status.Code(err) != codes.NotFound {
		return nil
	}
	st := status.Convert(err)
	if field := fieldOf(st.Message()); field != "" {
		return provider.InvalidField(field, "create an instance: %s: %s", st.Code(), st.Message())
	}
	return nil
}

// faultOf is a classified error.
func faultOf(err error) *provider.Error {
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e
	}
	return provider.Errorf(provider.Transient, "%w", err)
}
