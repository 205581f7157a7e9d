package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// status is an API server's failure.
type status struct {
	code            int
	reason, message string
	details         map[string]any
}

func (s status) body() map[string]any {
	all := map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "message": s.message, "reason": s.reason, "code": s.code,
	}
	if s.details != nil {
		all["details"] = s.details
	}
	return all
}

func (k *call) fail(s status) { k.reply(s.code, s.body()) }

// about are the details of a failure about one object.
func (t target) about(name string) map[string]any {
	return map[string]any{"name": name, "group": t.Group, "kind": t.Name}
}

func (k *call) notFound(name string) {
	k.fail(status{http.StatusNotFound, "NotFound", fmt.Sprintf("%s %q not found", k.full(), name), k.about(name)})
}

func (k *call) forbid(u User, verb string) {
	k.fail(status{http.StatusForbidden, "Forbidden", fmt.Sprintf("%s %q is forbidden: User %q cannot %s resource %q in API group %q in the namespace %q",
		k.full(), k.object, u.Name, verb, k.Name, k.Group, k.namespace), k.about(k.object)})
}

func (k *call) conflict(name, why string) {
	k.fail(status{http.StatusConflict, "Conflict", fmt.Sprintf("Operation cannot be fulfilled on %s %q: %s", k.full(), name, why), k.about(name)})
}

// Cause is an error of one field.
type Cause struct{ Field, Message string }

// Wrong is a cause about a field.
func Wrong(field, message string) Cause { return Cause{field, message} }

func (k *call) invalid(name string, causes []Cause) {
	about, all := k.about(name), []any{}
	for _, c := range causes {
		all = append(all, map[string]any{"reason": "FieldValueInvalid", "message": c.Message, "field": c.Field})
	}
	about["causes"] = all
	message := fmt.Sprintf("admission webhook %q denied the request: %s", k.options.Webhook, causes[0].Message)
	k.fail(status{http.StatusUnprocessableEntity, "Invalid", message, about})
}

// Fail implements [double.Cloud].
func (s *Server) Fail(w http.ResponseWriter, r *http.Request, f double.Failure) {
	k := &call{Server: s, target: s.targetOf(r.URL.Path), w: w, r: r, now: s.Clock.Now()}
	switch f.Kind {
	case "Throttled":
		k.throttle(f.After)
	case "Exhausted":
		k.fail(status{http.StatusForbidden, "Forbidden", fmt.Sprintf("%s %q is forbidden: exceeded quota: machines, requested: count/%s=1, used: count/%s=10, limited: count/%s=10",
			k.full(), "x", k.full(), k.full(), k.full()), k.about("x")})
	case "Invalid":
		k.invalid("x", []Cause{s.options.Field})
	case "Denied":
		k.forbid(s.options.Users[0], k.verb(r.Method))
	case "Conflict":
		k.conflict(k.object, "the object has been modified; please apply your changes to the latest version and try again")
	default:
		k.fail(status{http.StatusInternalServerError, "InternalError", "Internal error occurred: etcdserver: request timed out", map[string]any{}})
	}
}

func (k *call) throttle(after time.Duration) {
	seconds := int(after.Seconds())
	if seconds == 0 {
		seconds = 1
	}
	k.w.Header().Set("Retry-After", strconv.Itoa(seconds))
	k.fail(status{http.StatusTooManyRequests, "TooManyRequests", "Too many requests, please try again later.", map[string]any{"retryAfterSeconds": seconds}})
}

// read decodes the body.
func (k *call) read(into any) bool {
	err := json.Unmarshal(k.body, into)
	if err != nil {
		k.fail(status{code: http.StatusBadRequest, reason: "BadRequest", message: "the object provided is unrecognized: " + err.Error()})
	}
	return err == nil
}
