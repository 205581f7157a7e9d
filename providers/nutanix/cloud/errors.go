package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// refusal is an answer of Prism Central that is an error.
type refusal struct {
	status  int
	reason  string
	message string
	after   time.Duration
	// spoken says that the answer has the form of Prism Central's errors: another server's 404 proves nothing.
	spoken bool
}

// Error implements error.
func (r *refusal) Error() string {
	return strings.TrimRight(cmp.Or(r.reason, http.StatusText(r.status))+": "+provider.Clip(r.message, mostMessage), ": ")
}

// mostMessage limits the length of a message in bytes.
const mostMessage = 1000

// refusalOf reads an answer. The messages are in the answer itself, or in its status.
func refusalOf(answer *http.Response, raw []byte) error {
	r := &refusal{status: answer.StatusCode, after: after(answer)}
	type said struct {
		State    string    `json:"state"`
		Messages []message `json:"message_list"`
	}
	var body struct {
		said
		Status json.RawMessage `json:"status"`
	}
	_ = json.Unmarshal(raw, &body) // some answers are pages
	var inner said
	_ = json.Unmarshal(body.Status, &inner)
	all := append(body.Messages, inner.Messages...)
	r.spoken = len(all) > 0 || body.State == inError || inner.State == inError
	if len(all) > 0 {
		r.reason, r.message = all[0].Reason, all[0].Message
		for _, m := range all[1:] {
			r.message += "; " + m.Message
		}
	}
	return r
}

// missing reports whether an error says that the entity of the request does not exist.
func missing(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.status == http.StatusNotFound && r.spoken
}

// reaction is the meaning of an error of Prism Central.
type reaction struct {
	kind  provider.Kind
	scope provider.Scope
}

var (
	denied    = reaction{kind: provider.Denied}
	throttled = reaction{kind: provider.Throttled}
	conflict  = reaction{kind: provider.Conflict}
	invalid   = reaction{kind: provider.Invalid}
	transient = reaction{kind: provider.Transient}
)

// reactions are those to the reasons of the vendor's description.
var reactions = map[string]reaction{
	"ACCESS_DENIED": denied, "ACCESS_FORBIDDEN": denied, "AUTHENTICATION_REQUIRED": denied, "BEARER_TOKEN_EXPIRED": denied, "BEARER_TOKEN_BAD_SIGNATURE": denied,
	"INTERNAL_ROLE_ACCESS_DENIED": denied, "RESERVED_ROLE_ACCESS_DENIED": denied,

	"TOO_MANY_REQUESTS": throttled,

	"RESOURCE_SHORTAGE": {provider.Exhausted, provider.ScopeType}, "NO_POLICY_COMPLIANT_CLUSTER": {provider.Exhausted, provider.ScopeType},
	"NO_STORAGE_POLICY_COMPLIANT_CONTAINER": {provider.Exhausted, provider.ScopeZone},

	"CONCURRENT_REQUESTS_NOT_ALLOWED": conflict, "ENTITY_ALREADY_EXISTS": conflict, "IDEMPOTENCE_UUID_CREATION_FAILED": transient,

	"INVALID_ARGUMENT": invalid, "INVALID_REQUEST": invalid, "INVALID_UUID": invalid, "INVALID_DATA_FORMAT": invalid, "INVALID_AZ_NAME": invalid,
	"INVALID_OWNER_REFERENCE": invalid, "MISSING_ATTRIBUTE": invalid, "VALIDATION_ERROR": invalid, "DESERIALIZATION_FAILED": invalid, "REFERENCE_ERROR": invalid,
	"CATEGORY_NAME_VALUE_MISMATCH": invalid, "CONFIGURATION_INCOMPLETE": invalid, "ACTION_NOT_SUPPORTED": invalid, "REQUEST_NOT_SUPPORTED": invalid,
	"SPEC_INCOMPATIBLE_ERROR": invalid, "CLUSTER_CAPABILITY_ERROR": invalid, "AFFINITY_FAILURE": {provider.Exhausted, provider.ScopeType},

	"ENTITY_NOT_FOUND": transient, "INTERNAL_ERROR": transient, "SERVICE_UNAVAILABLE": transient,
}

// statuses are the reactions to statuses, if the reason is unknown.
var statuses = map[int]reaction{
	http.StatusUnauthorized: denied, http.StatusForbidden: denied, http.StatusConflict: conflict, http.StatusTooManyRequests: throttled,
	http.StatusBadRequest: invalid, http.StatusUnprocessableEntity: invalid,
}

// wordings are the meanings of messages, whose reason or status says less; the first match counts. Failed tasks
// have no reason in most cases. A quota is one of the project, which all its virtual machines share.
var wordings = []struct {
	words *regexp.Regexp
	reaction
}{
	{regexp.MustCompile(`(?i)quota`), reaction{provider.Exhausted, provider.ScopeAccount}},
	{regexp.MustCompile(`(?i)no space|out of (storage )?space|storage container .* full|insufficient (disk|storage)`), reaction{provider.Exhausted, provider.ScopeZone}},
	{regexp.MustCompile(`(?i)no (free|available) ip|ip (address )?pool|(out of|no more|insufficient) ip`), reaction{provider.Exhausted, provider.ScopeZone}},
	{regexp.MustCompile(`(?i)NoHostResources|no host has enough|not enough (available )?(memory|resources|vcpus)|insufficient (memory|resources|cpu)|no available gpu`), reaction{provider.Exhausted, provider.ScopeType}},
	{regexp.MustCompile(`(?i)spec_?version|already (exists|in use|used)|concurrent|in progress`), conflict},
}

func reactTo(status int, reason, message string) reaction {
	if r, ok := reactions[reason]; ok && r != invalid && r != transient {
		return r
	}
	for _, w := range wordings {
		if w.words.MatchString(message) && status < http.StatusInternalServerError && status != http.StatusUnauthorized && status != http.StatusForbidden {
			return w.reaction
		}
	}
	if r, ok := reactions[reason]; ok {
		return r
	}
	if r, ok := statuses[status]; ok {
		return r
	}
	return transient
}

// subjects are the fields of specs, by the words of messages; the first match counts.
var subjects = []struct {
	words *regexp.Regexp
	field string
}{
	{regexp.MustCompile(`(?i)\bimage`), "image"},
	{regexp.MustCompile(`(?i)\bsubnet|\bnic\b|\bnic_list`), "subnets"},
	{regexp.MustCompile(`(?i)\bproject`), "project"},
	{regexp.MustCompile(`(?i)\bcategor`), "categories"},
	{regexp.MustCompile(`(?i)\bgpu`), "gpus"},
	{regexp.MustCompile(`(?i)\bstorage.?container|\bdisk`), "dataDisks"},
	{regexp.MustCompile(`(?i)\bboot`), "bootType"},
	{regexp.MustCompile(`(?i)\bmemory`), "memorySize"},
	{regexp.MustCompile(`(?i)\bsocket|\bvcpu`), "vcpuSockets"},
	{regexp.MustCompile(`(?i)\bcluster`), "cluster"},
}

func fieldOf(message string) string {
	for _, s := range subjects {
		if s.words.MatchString(message) {
			return s.field
		}
	}
	return ""
}

// classify classifies the error of a call.
func classify(doing string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e // was classified where it happened
	}
	r, ok := errors.AsType[*refusal](err)
	if !ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return provider.Errorf(provider.Transient, "%s: %w", doing, err)
	}
	what := reactTo(r.status, r.reason, r.message)
	// The error does not wrap the refusal: another call must not take it for its own.
	e := &provider.Error{Kind: what.kind, Scope: what.scope, Err: fmt.Errorf("%s: %s", doing, r.Error())}
	switch what.kind {
	case provider.Throttled:
		e.After = r.after
	case provider.Invalid:
		e.Field = fieldOf(r.message)
	}
	return e
}

// faultOf classifies the failure of an accepted request. A task does not say whether another one would succeed:
// a failure of unknown cause is Transient.
func faultOf(doing, code, detail string) *provider.Error {
	what := reactTo(0, code, detail)
	e := &provider.Error{Kind: what.kind, Scope: what.scope, Err: fmt.Errorf("%s: %s", doing, provider.Clip(strings.Trim(code+": "+detail, ": "), mostMessage))}
	if what.kind == provider.Invalid {
		e.Field = fieldOf(detail)
	}
	return e
}
