package ecs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// failure is an error that ECS answers with.
type failure struct {
	status        int
	code, message string
	after         time.Duration
}

// statuses are the statuses of codes other than 400 and 403.
var statuses = map[string]int{
	"InvalidAccessKeyId.NotFound": http.StatusNotFound, "InvalidInstanceId.NotFound": http.StatusNotFound, "InvalidImageId.NotFound": http.StatusNotFound,
	"InvalidVSwitchId.NotFound": http.StatusNotFound, "InvalidRegionId.NotFound": http.StatusNotFound, "InvalidSecurityGroupId.NotFound": http.StatusNotFound,
	"InvalidKeyPairName.NotFound": http.StatusNotFound, "InvalidRamRole.NotFound": http.StatusNotFound, "InvalidResourceGroup.NotFound": http.StatusNotFound,
	"InternalError": http.StatusInternalServerError, "ServiceUnavailable": http.StatusServiceUnavailable, "InvalidAction.NotFound": http.StatusNotFound,
}

// forbidden are the begins of codes with the status 403.
var forbidden = []string{"OperationDenied", "QuotaExceed", "IncorrectInstanceStatus", "Forbidden", "Zone.", "InvalidInstanceType", "InvalidUserData"}

func refuse(code, format string, args ...any) *failure {
	f := &failure{status: http.StatusBadRequest, code: code, message: fmt.Sprintf(format, args...)}
	for _, begin := range forbidden {
		if strings.HasPrefix(code, begin) {
			f.status = http.StatusForbidden
		}
	}
	if status, ok := statuses[code]; ok {
		f.status = status
	}
	return f
}

// exhaustions are ECS's errors for exhausted resources, by scope.
var exhaustions = map[string]*failure{
	"":        refuse("OperationDenied.NoStock", "The requested resource is sold out in the specified zone; try other types of resources or other regions and zones."),
	"type":    refuse("OperationDenied.NoStock", "The requested resource is sold out in the specified zone; try other types of resources or other regions and zones."),
	"zone":    refuse("Zone.NotOnSale", "The resource in the specified zone is no longer available for sale. Please try other regions and zones."),
	"account": refuse("QuotaExceed.AfterpayInstance", "Living afterpay instances quota exceeded."),
}

// worded is ECS's error for a failure.
func worded(f double.Failure) *failure {
	switch f.Kind {
	case "Throttled":
		no := refuse("Throttling.User", "Request was denied due to user flow control.")
		no.after = f.After
		return no
	case "Exhausted":
		return exhaustions[f.Scope]
	case "Invalid":
		return refuse("InvalidParameter", "The specified parameter is not valid.")
	case "Denied":
		return refuse("Forbidden.RAM", "User not authorized to operate on the specified resource, or this API doesn't support RAM.")
	case "Conflict":
		return refuse("OperationConflict", "Your operation conflicts with another operation.")
	}
	return refuse("InternalError", "The request processing has failed due to some unknown error.")
}

// writeFailure writes an error. The delay of a throttled caller is in a header, in milliseconds.
func writeFailure(w http.ResponseWriter, r *http.Request, f *failure) {
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	if f.after > 0 {
		w.Header().Set("X-Ratelimit-User", fmt.Sprintf("Limit:100,Remain:0,TimeLeft:%d", f.after.Milliseconds()))
	}
	w.WriteHeader(f.status)
	_ = json.NewEncoder(w).Encode(object{
		"RequestId": requestID(), "HostId": r.Host, "Code": f.code, "Message": f.message, "Recommend": "https://api.aliyun.com/troubleshoot?q=" + f.code,
	})
}
