package ec2

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// failure is an error answer.
type failure struct {
	status  int
	code    string
	message string
	after   time.Duration
}

func refuse(code, format string, args ...any) *failure {
	return &failure{status: statusOf(code), code: code, message: fmt.Sprintf(format, args...)}
}

// statuses are the statuses of codes other than 400. EC2 counts shortages of capacity as server errors.
var statuses = map[string]int{
	"AuthFailure":                          http.StatusUnauthorized,
	"UnauthorizedOperation":                http.StatusForbidden,
	"AccessDenied":                         http.StatusForbidden,
	"InvalidClientTokenId":                 http.StatusForbidden,
	"SignatureDoesNotMatch":                http.StatusForbidden,
	"ExpiredToken":                         http.StatusForbidden,
	"InternalError":                        http.StatusInternalServerError,
	"InternalFailure":                      http.StatusInternalServerError,
	"InsufficientInstanceCapacity":         http.StatusInternalServerError,
	"InsufficientCapacity":                 http.StatusInternalServerError,
	"InsufficientHostCapacity":             http.StatusInternalServerError,
	"InsufficientVolumeCapacity":           http.StatusInternalServerError,
	"InsufficientAddressCapacity":          http.StatusInternalServerError,
	"InsufficientReservedInstanceCapacity": http.StatusInternalServerError,
	"RequestLimitExceeded":                 http.StatusServiceUnavailable,
	"Unavailable":                          http.StatusServiceUnavailable,
	"ServiceUnavailable":                   http.StatusServiceUnavailable,
}

func statusOf(code string) int {
	if s, ok := statuses[code]; ok {
		return s
	}
	return http.StatusBadRequest
}

// exhaustions are EC2's errors for exhausted resources, by scope. A subnet is in one zone: if it has no free addresses,
// nothing can be created there.
var exhaustions = map[string]*failure{
	"":        refuse("InsufficientInstanceCapacity", "We currently do not have sufficient capacity for the requested instance type in the Availability Zone you requested. Our system will be working on provisioning additional capacity."),
	"type":    refuse("InsufficientInstanceCapacity", "We currently do not have sufficient capacity for the requested instance type in the Availability Zone you requested. Our system will be working on provisioning additional capacity."),
	"zone":    refuse("InsufficientFreeAddressesInSubnet", "There are not enough free addresses in the subnet to satisfy the requested number of instances."),
	"account": refuse("NetworkInterfaceLimitExceeded", "You have reached the limit of network interfaces that you can have in this Region. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit."),
}

// worded is a service's error for a failure.
func worded(s service, f double.Failure) *failure {
	if s == "ec2" {
		switch f.Kind {
		case "Throttled":
			return &failure{status: http.StatusServiceUnavailable, code: "RequestLimitExceeded", message: "Request limit exceeded.", after: f.After}
		case "Exhausted":
			return exhaustions[f.Scope]
		case "Invalid":
			return refuse("InvalidParameterValue", "Invalid value for a parameter of the request")
		case "Denied":
			return refuse("UnauthorizedOperation", "You are not authorized to perform this operation.")
		case "Conflict":
			return refuse("IncorrectInstanceState", "The instance is not in a state from which it can be changed")
		}
		return refuse("InternalError", "An internal error has occurred")
	}
	switch f.Kind {
	case "Throttled":
		return &failure{status: http.StatusBadRequest, code: "Throttling", message: "Rate exceeded", after: f.After}
	case "Exhausted":
		return refuse("TooManyTargets", "You've reached the limit on the number of targets.")
	case "Invalid":
		return refuse("ValidationError", "The request is not valid")
	case "Denied":
		return refuse("AccessDenied", "The caller is not authorized to perform this action")
	case "Conflict":
		return refuse("OperationNotPermitted", "This operation is not allowed now")
	}
	return refuse("InternalFailure", "The request processing has failed because of an unknown error, exception or failure.")
}

// writeFailure writes an error in the form of the service.
func writeFailure(w http.ResponseWriter, s service, request string, f *failure) {
	if f.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.after.Seconds())))
	}
	w.Header().Set("Content-Type", "text/xml;charset=UTF-8")
	w.WriteHeader(f.status)
	if s == "ec2" {
		_, _ = w.Write(document(el("Response",
			el("Errors", el("Error", el("Code", f.code), el("Message", f.message))), el("RequestID", request)), ""))
		return
	}
	kind := "Sender"
	if f.status >= http.StatusInternalServerError {
		kind = "Receiver"
	}
	_, _ = w.Write(document(el("ErrorResponse",
		el("Error", el("Type", kind), el("Code", f.code), el("Message", f.message)), el("RequestId", request)), s.namespace()))
}
