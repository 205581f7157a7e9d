package gce

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// failure is an error answer: {"error": {"code", "message", "errors": [{"message", "domain", "reason"}]}}.
type failure struct {
	status          int
	reason, message string
	after           time.Duration
}

func failed(status int, reason, format string, args ...any) *failure {
	return &failure{status: status, reason: reason, message: fmt.Sprintf(format, args...)}
}

func notFound(path string) *failure {
	return failed(http.StatusNotFound, "notFound", "The resource '%s' was not found", path)
}

func invalid(field, format string, args ...any) *failure {
	return failed(http.StatusBadRequest, "invalid", "Invalid value for field '%s': %s", field, fmt.Sprintf(format, args...))
}

func (f *failure) write(w http.ResponseWriter) {
	if f.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.after.Seconds())))
	}
	one := resource{"message": f.message, "domain": "global", "reason": f.reason}
	if f.status == http.StatusUnauthorized {
		one = one.with(resource{"locationType": "header", "location": "Authorization"})
	}
	writeJSON(w, f.status, resource{"error": resource{"code": f.status, "message": f.message, "errors": []resource{one}}})
}

// shortage is the error of an operation without capacity in a zone. machineType is empty if the exhausted resource is one that
// instances of every type need, such as disks.
func shortage(project, zone, machineType string) resource {
	what := "compute"
	if machineType == "" {
		what = "pd-standard"
	}
	e := resource{
		"code": "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
		"message": fmt.Sprintf("The zone 'projects/%s/zones/%s' does not have enough resources available to fulfill the request.  '(resource type:%s)'.",
			project, zone, what),
	}
	if machineType != "" {
		e["errorDetails"] = []resource{
			{"help": resource{"links": []resource{{"description": "Troubleshooting documentation", "url": "https://cloud.google.com/compute/docs/resource-error"}}}},
			{"localizedMessage": resource{"locale": "en-US", "message": fmt.Sprintf(
				"A %s VM instance is currently unavailable in the %s zone. For more information, see the troubleshooting documentation.", machineType, zone)}},
			{"errorInfo": resource{"domain": "compute.googleapis.com", "reason": "resource_availability", "metadatas": resource{
				"attachment": "", "vmType": machineType, "zone": zone, "zonesAvailable": "",
			}}},
		}
	}
	return e
}

// quotaExceeded is the error of an operation that would exceed a quota.
func quotaExceeded(metric, region string, limit float64) resource {
	return resource{
		"code":    "QUOTA_EXCEEDED",
		"message": fmt.Sprintf("Quota '%s' exceeded.  Limit: %.1f in region %s.", metric, limit, region),
		"errorDetails": []resource{{"quotaInfo": resource{
			"metricName": "compute.googleapis.com/" + strings.ToLower(metric), "limitName": metric + "-per-project-region",
			"dimensions": resource{"region": region}, "limit": limit,
		}}},
	}
}

// Fail implements [double.Cloud]. A shortage of a type or in a zone is not an error of the request: the
// operation ends with it.
func (c *Cloud) Fail(w http.ResponseWriter, r *http.Request, f double.Failure) {
	if f.Kind == "Exhausted" && f.Scope != "account" {
		if t, ok := parse(r.URL.Path); ok && t.method(r) == "instances.insert" {
			c.mu.Lock()
			defer c.mu.Unlock()
			machineType := "n1-standard-4"
			if f.Scope == "zone" {
				machineType = ""
			}
			op := newOperation(c, "insert", t, "", "")
			writeJSON(w, http.StatusOK, finished(c, op, shortage(t.project, t.scope, machineType)))
			return
		}
	}
	wordsOf(c, r, f).write(w)
}

func wordsOf(c *Cloud, r *http.Request, f double.Failure) *failure {
	switch f.Kind {
	case "Throttled":
		e := failed(http.StatusForbidden, "rateLimitExceeded", "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of service 'compute.googleapis.com' for consumer 'project_number:%s'.", c.options.Inventory.Number)
		e.after = f.After
		return e
	case "Exhausted":
		return failed(http.StatusForbidden, "quotaExceeded", "Quota 'CPUS_ALL_REGIONS' exceeded.  Limit: 24.0 globally.")
	case "Invalid":
		return invalid("resource.disks[0].initializeParams.sourceImage", "'projects/other/global/images/none'. The referenced image resource cannot be found.")
	case "Denied":
		return failed(http.StatusUnauthorized, "authError", "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.")
	case "Conflict":
		return failed(http.StatusBadRequest, "resourceNotReady", "The resource '%s' is not ready", below(r.URL.Path))
	}
	return failed(http.StatusServiceUnavailable, "backendError", "The service is currently unavailable.")
}
