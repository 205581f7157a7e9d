package prism

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// failure is an error that Prism Central answers with.
type failure struct {
	status          int
	reason, message string
	after           time.Duration
	// page: the answer is a page of the web server, without a reason.
	page bool
}

func refuse(status int, reason, format string, args ...any) *failure {
	return &failure{status: status, reason: reason, message: fmt.Sprintf(format, args...)}
}

func notFound(kind, name string) *failure {
	return refuse(http.StatusNotFound, "ENTITY_NOT_FOUND", "The %s %s does not exist.", kind, name)
}

// worded is a failure in the words of Prism Central. It does not shorten exhaustions by scope: a cluster is the only place.
func worded(f double.Failure) *failure {
	switch f.Kind {
	case "Throttled":
		no := refuse(http.StatusTooManyRequests, "TOO_MANY_REQUESTS", "Too many requests.")
		no.after = f.After
		return no
	case "Exhausted":
		return exhaustions[f.Scope]
	case "Invalid":
		return refuse(http.StatusUnprocessableEntity, "INVALID_REQUEST", "The request is invalid.")
	case "Denied":
		return &failure{status: http.StatusUnauthorized, page: true}
	case "Conflict":
		return refuse(http.StatusConflict, "CONCURRENT_REQUESTS_NOT_ALLOWED", "Another request for the entity is in progress.")
	}
	return refuse(http.StatusInternalServerError, "INTERNAL_ERROR", "Internal error.")
}

// exhaustions are the errors for exhausted resources, by scope.
var exhaustions = map[string]*failure{
	"":        refuse(http.StatusUnprocessableEntity, "RESOURCE_SHORTAGE", "Not enough resources."),
	"type":    refuse(http.StatusUnprocessableEntity, "RESOURCE_SHORTAGE", "Not enough resources."),
	"zone":    refuse(http.StatusUnprocessableEntity, "NO_STORAGE_POLICY_COMPLIANT_CONTAINER", "No storage container has space."),
	"account": refuse(http.StatusUnprocessableEntity, "INVALID_REQUEST", "The resource quota of the project is exceeded."),
}

func (f *failure) write(w http.ResponseWriter) {
	if f.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.after.Seconds())))
	}
	if f.page { // as Prism Central answers if the password is wrong
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.status)
		_, _ = io.WriteString(w, "<html><body>"+http.StatusText(f.status)+"</body></html>")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_ = json.NewEncoder(w).Encode(object{
		"api_version": "3.1", "code": f.status, "state": "ERROR", "message_list": []object{{"message": f.message, "reason": f.reason}},
	})
}
