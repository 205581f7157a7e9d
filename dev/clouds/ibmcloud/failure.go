package ibmcloud

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// failure is an error that VPC answers with. target is the field of the request.
type failure struct {
	status                int
	code, message, target string
	after                 time.Duration
}

func refuse(status int, code, format string, args ...any) *failure {
	return &failure{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

// bad is the refusal of a field.
func bad(target, format string, args ...any) *failure {
	return &failure{status: http.StatusBadRequest, code: "bad_field", message: fmt.Sprintf(format, args...), target: target}
}

func missing(what, id string) *failure {
	return refuse(http.StatusNotFound, "not_found", "Please check whether the resource you are requesting exists: %s %s", what, id)
}

func notUnique(target, name string) *failure {
	return &failure{status: http.StatusBadRequest, code: "validation_unique_failed", message: "Provided Name (" + name + ") is not unique", target: target}
}

func overQuota(what string) *failure {
	return refuse(http.StatusBadRequest, "over_quota", "The request would exceed the quota for a resource type: %s.", what)
}

// worded is VPC's error for a failure.
func worded(f double.Failure) *failure {
	switch f.Kind {
	case "Throttled":
		no := refuse(http.StatusTooManyRequests, "rate_limit_exceeded", "Too many requests within a short time.")
		no.after = f.After
		return no
	case "Exhausted":
		if f.Scope == "account" {
			return overQuota("vCPU")
		}
		return overQuota("GPU")
	case "Invalid":
		return bad("profile.name", "A field provided in the request is not valid.")
	case "Denied":
		return refuse(http.StatusForbidden, "not_authorized", "The request is not authorized.")
	case "Conflict":
		return refuse(http.StatusConflict, "invalid_state", "An action was requested on a resource which is not supported at the current status of the resource.")
	}
	return refuse(http.StatusInternalServerError, "internal_error", "An internal error occurred.")
}

func write(w http.ResponseWriter, f *failure) {
	one := object{"code": f.code, "message": f.message}
	if f.target != "" {
		one["target"] = object{"name": f.target, "type": "field"}
	}
	if f.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.after.Seconds()))))
	}
	writeJSON(w, f.status, object{"errors": []object{one}, "trace": double.UUID()})
}

// writeIAM writes a failure in the form of IAM.
func writeIAM(w http.ResponseWriter, f double.Failure) {
	status, code, text := http.StatusInternalServerError, "BXNIM0103E", "Internal Server Error"
	switch f.Kind {
	case "Denied", "Invalid":
		status, code, text = http.StatusBadRequest, "BXNIM0415E", "Provided API key could not be found."
	case "Throttled":
		status, code, text = http.StatusTooManyRequests, "BXNIM0429E", "Too many requests"
	}
	writeJSON(w, status, object{"errorCode": code, "errorMessage": text, "context": object{"requestId": double.Hex(32)}})
}

func writeJSON(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}
