package arm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// apiError is an error of the Resource Manager:
// https://learn.microsoft.com/azure/azure-resource-manager/management/resource-manager-error-codes
type apiError struct {
	status        int
	code, message string
	target        string
	details       []apiError
	after         time.Duration
}

// Error implements error.
func (e *apiError) Error() string { return e.code + ": " + e.message }

func refuse(status int, code, format string, args ...any) *apiError {
	return &apiError{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

func (e *apiError) about(target string) *apiError {
	e.target = target
	return e
}

type wireError struct {
	Code    string      `json:"code"`
	Message string      `json:"message"`
	Target  string      `json:"target,omitempty"`
	Details []wireError `json:"details,omitempty"`
}

func (e *apiError) wire() wireError {
	out := wireError{Code: e.code, Message: e.message, Target: e.target}
	for _, d := range e.details {
		out.Details = append(out.Details, d.wire())
	}
	return out
}

func (e *apiError) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("x-ms-error-code", e.code)
	h.Set("x-ms-request-id", "00000000-0000-0000-0000-000000000000")
	h.Set("x-ms-correlation-request-id", "00000000-0000-0000-0000-000000000000")
	if e.after > 0 {
		h.Set("Retry-After", strconv.Itoa(int(e.after.Seconds())))
	}
	if e.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer authorization_uri="https://login.windows.net/", error="invalid_token", error_description="The access token is invalid."`)
	}
	w.WriteHeader(e.status)
	_ = json.NewEncoder(w).Encode(map[string]wireError{"error": e.wire()})
}

// failed passes an error to one of the SDK's fake servers.
func failed(e *apiError) (out azfake.ErrorResponder) {
	if e != nil {
		out.SetError(e)
	}
	return out
}

// missing is the error about a missing resource.
func (t target) missing() *apiError {
	if t.kind == "subnets" {
		return refuse(http.StatusNotFound, "NotFound", "Resource %s not found.", t.id())
	}
	return refuse(http.StatusNotFound, "ResourceNotFound",
		"The Resource '%s/%s/%s' under resource group '%s' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix", t.provider, t.kind, t.name, t.group)
}

// Fail implements [double.Cloud].
func (c *Cloud) Fail(w http.ResponseWriter, r *http.Request, f double.Failure) {
	if t := parse(r); t.login != "" {
		failLogin(w, f)
		return
	}
	failure(f).write(w)
}

// failure converts a failure to Azure's error.
func failure(f double.Failure) *apiError {
	switch f.Kind {
	case "Throttled":
		e := refuse(http.StatusTooManyRequests, "TooManyRequests", "The request is being throttled as the limit has been reached for operation type - HighCostGet.")
		e.after = f.After
		if e.after == 0 {
			e.after = 10 * time.Second
		}
		return e
	case "Exhausted":
		return shortage(f.Scope)
	case "Invalid":
		return refuse(http.StatusBadRequest, "InvalidParameter", "The value of parameter vmSize is invalid.").about("vmSize")
	case "Denied":
		return refuse(http.StatusForbidden, "AuthorizationFailed", "The client 'x' with object id 'x' does not have authorization to perform action over the scope or the scope is invalid. "+
			"If access was recently granted, please refresh your credentials.")
	case "Conflict":
		return refuse(http.StatusConflict, "Conflict", "The request failed due to conflict with a concurrent request. To resolve it, please refer to https://aka.ms/activitylog to get more details on the conflicting requests.")
	}
	return refuse(http.StatusInternalServerError, "InternalExecutionError", "An internal execution error occurred. Please retry later.")
}

// shortage is Azure's error about an exhausted resource.
func shortage(scope string) *apiError {
	if scope == "account" {
		return quotaExceeded("Total Regional Cores", SampleLocation, 10, 10, 4)
	}
	return refuse(http.StatusConflict, "SkuNotAvailable", "The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: Standard_D4s_v3' is currently not available in location 'eastus'. "+
		"Please try another size or deploy to a different location or different zone. See https://aka.ms/azureskunotavailable for details.")
}

func quotaExceeded(what, location string, limit, used, more int64) *apiError {
	return refuse(http.StatusConflict, "OperationNotAllowed", "Operation could not be completed as it results in exceeding approved %s quota. Additional details - Deployment Model: Resource Manager, "+
		"Location: %s, Current Limit: %d, Current Usage: %d, Additional Required: %d, (Minimum) New Limit Required: %d. Submit a request for Quota increase at https://aka.ms/ProdportalCRP.",
		what, location, limit, used, more, used+more)
}
