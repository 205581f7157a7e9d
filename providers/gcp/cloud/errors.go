package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"

	"github.com/millwright-dev/millwright/provider"
)

// classify classifies the error of a call. Only creations look for a field of the provider spec.
func classify(err error, doing string) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e
	}
	e := &provider.Error{Kind: provider.Transient, Err: textError{doing + ": " + reached(err), err}}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		e.Kind, e.Err = kindOfToken(refused.Response.StatusCode), textError{doing + ": ask for a token: " + oauthText(refused), err}
		return e
	}
	if m := exchangeForm.FindStringSubmatch(err.Error()); m != nil {
		code, _ := strconv.Atoi(m[1])
		e.Kind, e.Err = kindOfToken(code), textError{doing + ": ask for a token: " + provider.Clip(strings.TrimSpace(m[0]), 500), err}
		return e
	}
	if answered, ok := errors.AsType[*googleapi.Error](err); ok {
		kind := kindOf(answered)
		e.Kind, e.Scope, e.Err = kind.Kind, kind.Scope, textError{doing + ": " + words(answered), err}
		if e.Kind == provider.Throttled {
			e.After = after(answered.Header)
		}
		return e
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		e.Err = fmt.Errorf("%s: what answers is no API of Google Cloud: %w", doing, err)
	}
	return e
}

// reached is the text of an error, without the whole URL of an unanswered request.
func reached(err error) string {
	asked, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err.Error()
	}
	at, parsing := url.Parse(asked.URL)
	if parsing != nil {
		return asked.Err.Error()
	}
	return at.Host + ": " + asked.Err.Error()
}

// textError is an error with a readable text.
type textError struct {
	text  string
	cause error
}

func (s textError) Error() string { return s.text }

// Unwrap returns the error of the API.
func (s textError) Unwrap() error { return s.cause }

// oauthText is the error of OAuth.
func oauthText(e *oauth2.RetrieveError) string {
	if e.ErrorCode != "" {
		return strings.TrimSpace(e.ErrorCode + ": " + e.ErrorDescription)
	}
	return provider.Clip(fmt.Sprintf("status %d: %s", e.Response.StatusCode, strings.TrimSpace(string(e.Body))), 300)
}

// exchangeForm matches the errors of the exchange of an external token.
var exchangeForm = regexp.MustCompile(`(?s)status code (\d{3}): .*`)

func kindOfToken(code int) provider.Kind {
	switch {
	case code == http.StatusTooManyRequests:
		return provider.Throttled
	case code >= http.StatusInternalServerError, code < http.StatusBadRequest:
		return provider.Transient
	}
	return provider.Denied
}

// words are the message and the reason of an answer, in one line.
func words(e *googleapi.Error) string {
	text := e.Message
	if text == "" {
		text = provider.Clip(strings.TrimSpace(e.Body), 300)
	}
	if len(e.Errors) > 0 && e.Errors[0].Reason != "" {
		text += " (" + e.Errors[0].Reason + ")"
	}
	if text == "" {
		text = "status " + strconv.Itoa(e.Code)
	}
	return text
}

func reason(e *googleapi.Error) string {
	if len(e.Errors) > 0 {
		return e.Errors[0].Reason
	}
	return ""
}

func is(k provider.Kind) provider.Error { return provider.Error{Kind: k} }

// kindOf uses the status and the reason of an answer, and its message if these are not enough.
func kindOf(e *googleapi.Error) provider.Error {
	switch why := reason(e); {
	case slices.Contains([]string{"rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED", "dailyLimitExceeded"}, why),
		e.Code == http.StatusTooManyRequests, strings.HasPrefix(e.Message, "Quota exceeded for quota metric"):
		return is(provider.Throttled)
	case why == "quotaExceeded", why == "insufficientCapacity", isShortage(e.Message):
		return shortage(why, e.Message, "")
	case e.Code == http.StatusUnauthorized, e.Code == http.StatusForbidden:
		return is(provider.Denied)
	case why == "resourceNotReady", why == "resourceInUseByAnotherResource", e.Code == http.StatusConflict, e.Code == http.StatusPreconditionFailed:
		return is(provider.Conflict)
	case strings.Contains(e.Message, "protected against deletion"):
		return is(provider.Transient)
	case e.Code == http.StatusBadRequest, e.Code == http.StatusNotFound, e.Code == http.StatusRequestEntityTooLarge:
		return is(provider.Invalid)
	}
	return is(provider.Transient)
}

func isShortage(message string) bool {
	return strings.Contains(message, "does not exist in zone") || strings.Contains(message, "does not have enough resources available") ||
		strings.Contains(message, "RESOURCE_POOL_EXHAUSTED")
}

// shortage returns the extent of an exhaustion. A pool of another kind than compute, such as disks, is
// exhausted for every type. The addresses of a subnetwork are those of a region, and so are the quotas that
// every instance counts for.
func shortage(code, message, metric string) provider.Error {
	e := provider.Error{Kind: provider.Exhausted, Scope: provider.ScopeType}
	_, pool, pooled := strings.Cut(message, "(resource type:")
	switch {
	case strings.HasPrefix(code, "IP_SPACE_EXHAUSTED"):
		e.Scope = provider.ScopeAccount
	case strings.Contains(strings.ToUpper(code), "QUOTA"):
		if sharedQuotas.MatchString(metricOf(message, metric)) {
			e.Scope = provider.ScopeAccount
		}
	case pooled && !strings.HasPrefix(pool, "compute)"):
		e.Scope = provider.ScopeZone
	}
	return e
}

// sharedQuotas are the metrics of quotas that all choices of a region count for, whatever their types. Those
// of a series of machines, of GPUs, and of preemptible instances are exhausted for some choices only:
// N2_CPUS, PREEMPTIBLE_CPUS. So is CPUS, for which series without a quota of their own count: N1 and E2.
var sharedQuotas = regexp.MustCompile(`^(CPUS_ALL_REGIONS|INSTANCES|(REGIONAL_)?IN_USE_ADDRESSES|(DISKS|SSD|LOCAL_SSD|HDB)_TOTAL_(GB|STORAGE))$`)

var quotaForm = regexp.MustCompile(`Quota '([^']+)'`)

// metricOf is the metric of the quota in a message, or else in the further text:
// "compute.googleapis.com/n2_cpus".
func metricOf(message, besides string) string {
	if found := quotaForm.FindStringSubmatch(message); found != nil {
		besides = found[1]
	}
	return strings.ToUpper(tail(besides))
}

// fault is the error of an operation; nil if it succeeded. The operation has ended: an unknown error is a
// final failure of an object that no longer exists.
func fault(op *compute.Operation) *provider.Error {
	if op.Error == nil || len(op.Error.Errors) == 0 {
		return nil
	}
	first := op.Error.Errors[0]
	e := kindOfCode(first.Code, first.Message, metric(first))
	e.Err = fmt.Errorf("%s: %s", first.Code, provider.Clip(first.Message, 1000))
	if hint := zonesAvailable(first); hint != "" {
		e.Err = fmt.Errorf("%w There is room in %s.", e.Err, hint) //nolint:revive,staticcheck // The text before is a sentence of Compute Engine.
	}
	return &e
}

// zonesAvailable are those in which Compute Engine reports capacity.
func zonesAvailable(e *compute.OperationErrorErrors) string {
	return strings.ReplaceAll(detail(e, "zonesAvailable"), ",", ", ")
}

// detail is a detail of an error besides its message.
func detail(e *compute.OperationErrorErrors, key string) string {
	for _, d := range e.ErrorDetails {
		if d.ErrorInfo != nil && d.ErrorInfo.Metadatas[key] != "" {
			return d.ErrorInfo.Metadatas[key]
		}
	}
	return ""
}

// metric is that of the quota in an error; empty if it has none.
func metric(e *compute.OperationErrorErrors) string {
	for _, d := range e.ErrorDetails {
		if d.QuotaInfo != nil {
			return d.QuotaInfo.MetricName
		}
	}
	return ""
}

// typeLacking is the machine type that an operation reports as missing; empty if it does not.
func typeLacking(op *compute.Operation) string {
	if op.Error == nil || len(op.Error.Errors) == 0 {
		return ""
	}
	return detail(op.Error.Errors[0], "vmType")
}

func kindOfCode(code, message, metric string) provider.Error {
	switch {
	case strings.Contains(code, "QUOTA"), strings.Contains(code, "POOL_EXHAUSTED"), strings.HasPrefix(code, "IP_SPACE_EXHAUSTED"),
		strings.Contains(code, "STOCKOUT"), isShortage(message):
		return shortage(code, message, metric)
	case strings.HasPrefix(code, "RATE_LIMIT"):
		return is(provider.Throttled)
	case code == "PERMISSIONS_ERROR", code == "FORBIDDEN", code == "SERVICE_ACCOUNT_ACCESS_DENIED":
		return is(provider.Denied)
	case code == "RESOURCE_ALREADY_EXISTS", code == "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", code == "RESOURCE_NOT_READY":
		return is(provider.Conflict)
	case code == "CONDITION_NOT_MET", code == "RESOURCE_NOT_FOUND", code == "UNSUPPORTED_OPERATION", strings.HasPrefix(code, "INVALID"):
		return is(provider.Invalid)
	}
	return is(provider.Transient)
}

// after is the delay that an answer asks for, in either form.
func after(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		if sent, err := http.ParseTime(h.Get("Date")); err == nil {
			return max(0, at.Sub(sent))
		}
	}
	return 0
}

// gone reports whether an answer says that the object does not exist.
func gone(err error) bool {
	e, ok := errors.AsType[*googleapi.Error](err)
	return ok && e.Code == http.StatusNotFound && !noProject(err)
}

var projectForm = regexp.MustCompile(`'projects/[^/']+'`)

// noProject reports whether an answer says that the project does not exist.
func noProject(err error) bool {
	e, ok := errors.AsType[*googleapi.Error](err)
	return ok && e.Code == http.StatusNotFound && projectForm.MatchString(e.Message)
}

// taken reports whether an answer says that a name is in use.
func taken(err error) bool {
	e, ok := errors.AsType[*googleapi.Error](err)
	return ok && e.Code == http.StatusConflict && reason(e) == "alreadyExists"
}

// ended reports whether the caller has canceled.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
