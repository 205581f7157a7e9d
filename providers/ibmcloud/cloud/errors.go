package cloud

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// reaction is the meaning of an error of IBM Cloud.
type reaction struct {
	kind  provider.Kind
	scope provider.Scope
}

var (
	throttled = reaction{kind: provider.Throttled}
	denied    = reaction{kind: provider.Denied}
	conflict  = reaction{kind: provider.Conflict}
	transient = reaction{kind: provider.Transient}
	invalid   = reaction{kind: provider.Invalid}
	exhausted = reaction{provider.Exhausted, provider.ScopeAccount}
	noStock   = reaction{provider.Exhausted, provider.ScopeType}
)

// reactions are those to codes. A quota, or exhausted capacity, is never an error of the spec. The quotas of
// VPC count vCPUs, memory and volumes of all profiles in a region, and GPUs separately.
var reactions = map[string]reaction{
	"rate_limit_exceeded": throttled, "too_many_requests": throttled,
	"not_authorized": denied, "unauthorized": denied, "forbidden": denied,
	nameTaken: conflict, "instance_name_exists": conflict, "name_exists": conflict,
	"invalid_state": conflict, deleteConflict: conflict, "conflict": conflict,
	"over_quota": exhausted, "instance_sec_volume_over_quota": noStock,
	"internal_error": transient, "internal_server_error": transient, "internal_solution": transient, "service_error": transient,
	"bad_field": invalid, "invalid_value": invalid, "invalid_request_field": invalid, "invalid_zone": invalid, "invalid_id_format": invalid,
	"instance_invalid_hostname": invalid, "invalid_template": invalid,
}

// The codes with a meaning for a single request.
const (
	nameTaken      = "validation_unique_failed"
	deleteConflict = "instance_delete_conflict"
)

// taken are words of messages for a name that something else has, whatever the code.
var taken = []string{"already exists", "is not unique", "must be unique"}

// quotas are words of codes and messages for an exhausted quota, whatever the code.
var quotas = []string{"over_quota", "quota_exceeded", "exceed the quota", "exceeds the quota"}

// reactTo is the reaction to an answer. IBM Cloud adds codes without notice: of an unknown code, its words
// and the status decide.
func reactTo(a *answer) reaction {
	code, text := a.code(), strings.ToLower(a.Error())
	known, ok := reactions[code]
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has(taken...):
		return conflict
	case (known == exhausted || has(quotas...)) && has("gpu", "instance storage", "dedicated host"):
		return noStock
	case has(quotas...):
		return exhausted
	case ok:
		return known
	case a.status == http.StatusTooManyRequests:
		return throttled
	case has("insufficient capacity", "not enough capacity", "capacity is unavailable", "capacity is not available"):
		return noStock
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		return denied
	case a.status == http.StatusConflict:
		return conflict
	case a.status == http.StatusBadRequest && code != "":
		return invalid
	}
	return transient
}

// classify classifies the error of a call.
func classify(doing string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e // was classified where it happened
	}
	a, ok := answerOf(err)
	if !ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return provider.Errorf(provider.Transient, "%s: %w", doing, err)
	}
	r := reactTo(a)
	e := provider.Errorf(r.kind, "%s: %s", doing, a) // not wrapped: another call must not take it for an answer of its own
	e.Scope = r.scope
	switch r.kind {
	case provider.Throttled:
		e.After = a.after
	case provider.Invalid:
		e.Field = fieldOf(a)
	}
	return e
}

// fields are the fields of specs, by the fields of a request; the first prefix counts.
var fields = []struct{ request, spec string }{
	{"boot_volume_attachment.volume.profile", "bootVolume.profile"},
	{"boot_volume_attachment.volume.capacity", "bootVolume.sizeGiB"},
	{"boot_volume_attachment.volume.iops", "bootVolume.iops"},
	{"boot_volume_attachment.volume.bandwidth", "bootVolume.bandwidth"},
	{"boot_volume_attachment.volume.encryption_key", "bootVolume.encryptionKey"},
	{"boot_volume_attachment", "bootVolume"},
	{"primary_network_interface.subnet", "primaryNetworkInterface.subnet"},
	{"primary_network_interface.security_groups", "primaryNetworkInterface.securityGroups"},
	{"primary_network_interface", "primaryNetworkInterface"},
	{"image", "image"},
	{"profile", "profile"},
	{"placement_target", "dedicatedHost"},
	{"resource_group", "resourceGroup"},
	{"vpc", "vpc"},
	{"zone", "zone"},
	{"user_data", "userDataSecret"},
}

// fieldOf is the field of the spec that an answer names; empty if it names none.
func fieldOf(a *answer) string {
	for _, e := range a.errors {
		for _, f := range fields {
			if strings.HasPrefix(strings.TrimPrefix(e.Target.Name, "instance."), f.request) {
				return f.spec
			}
		}
	}
	if a.code() == "invalid_zone" {
		return "zone"
	}
	return ""
}
