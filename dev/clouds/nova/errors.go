package nova

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// uuid is a random-looking UUID that is the same for the same text.
func uuid(text string) string {
	sum := sha256.Sum256([]byte(text))
	h := hex.EncodeToString(sum[:16])
	return fmt.Sprintf("%s-%s-4%s-8%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:32])
}

// fail answers with an error in the service's form.
func (k *call) fail(status int, name, message string) {
	switch k.service {
	case "network":
		k.reply(status, map[string]any{"NeutronError": map[string]any{"type": name, "message": message, "detail": ""}})
	case "identity":
		k.reply(status, map[string]any{"error": map[string]any{"code": status, "message": message, "title": http.StatusText(status)}})
	case "image":
		// Glance answers errors with an HTML page (webob).
		k.w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		k.w.WriteHeader(status)
		_, _ = fmt.Fprintf(k.w, "<html>\n <head>\n  <title>%d %s</title>\n </head>\n <body>\n  <h1>%d %s</h1>\n  %s<br /><br />\n\n\n </body>\n</html>",
			status, http.StatusText(status), status, http.StatusText(status), message)
	default:
		k.reply(status, map[string]any{name: map[string]any{"code": status, "message": message}})
	}
}

// unauthorized is the answer of keystonemiddleware in front of every service but Keystone.
func (k *call) unauthorized() {
	k.w.Header().Set("WWW-Authenticate", "Keystone uri=\""+k.base()+"/identity\"")
	k.reply(http.StatusUnauthorized, map[string]any{"error": map[string]any{
		"code": http.StatusUnauthorized, "title": "Unauthorized", "message": "The request you have made requires authentication.",
	}})
}

// forbidden is the error of policies.
func (k *call) forbidden() {
	switch k.service {
	case "network":
		k.fail(http.StatusForbidden, "PolicyNotAuthorized", "rule:"+k.rule()+" is disallowed by policy")
	case "compute":
		k.fail(http.StatusForbidden, "forbidden", "Policy doesn't allow os_compute_api:"+k.rule()+" to be performed.")
	case "volume":
		k.fail(http.StatusForbidden, "forbidden", "Policy doesn't allow volume:"+k.rule()+" to be performed.")
	default:
		k.fail(http.StatusForbidden, "forbidden", "You are not authorized to perform the requested action: "+k.rule()+".")
	}
}

// rule is the policy's name of the request.
func (k *call) rule() string {
	verb := map[string]string{"GET": "index", "POST": "create", "PUT": "update", "DELETE": "delete"}[k.r.Method]
	what := "servers"
	if len(k.parts) > 0 {
		what = k.parts[0]
	}
	if k.service == "network" {
		return verb + "_" + trimS(what)
	}
	return what + ":" + verb
}

func trimS(s string) string {
	if len(s) > 0 && s[len(s)-1] == 's' {
		return s[:len(s)-1]
	}
	return s
}

// Fail implements [double.Cloud].
func (c *Cloud) Fail(w http.ResponseWriter, r *http.Request, f double.Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	service, parts := split(r.URL.Path)
	k := &call{Cloud: c, w: w, r: r, service: service, parts: parts, now: c.clock.Now()}
	switch f.Kind {
	case "Throttled":
		k.throttled(f)
	case "Exhausted":
		k.exhausted(f.Scope)
	case "Invalid":
		k.invalid()
	case "Denied":
		k.forbidden()
	case "Missing":
		k.missing()
	case "Conflict":
		k.fail(http.StatusConflict, "conflictingRequest", "Cannot do this while it is in task_state deleting")
	default:
		k.broken()
	}
}

// missing is the answer of an ingress in front of an unavailable API, as in OpenStack-Helm. It says nothing about the
// object.
func (k *call) missing() {
	k.w.Header().Set("Content-Type", "text/html")
	k.w.WriteHeader(http.StatusNotFound)
	_, _ = fmt.Fprint(k.w, "<html>\n<head><title>404 Not Found</title></head>\n<body>\n<center><h1>404 Not Found</h1></center>\n<hr><center>nginx</center>\n</body>\n</html>\n")
}

// throttled is the answer of a rate limit in front of an API (a gateway, or the middleware that oslo.limit
// once had).
func (k *call) throttled(f double.Failure) {
	seconds := strconv.Itoa(int(f.After.Seconds()))
	if f.After > 0 {
		k.w.Header().Set("Retry-After", seconds)
	}
	k.reply(http.StatusTooManyRequests, map[string]any{"overLimit": map[string]any{
		"code": http.StatusTooManyRequests, "message": "This request was rate-limited.", "retryAfter": seconds,
	}})
}

// exhausted is a quota error, which differs between services. For a type alone, it is a lack of capacity on hosts.
func (k *call) exhausted(scope string) {
	if k.service == "compute" && scope == "type" {
		k.fail(http.StatusBadRequest, "badRequest", "No valid host was found. There are not enough hosts available.")
		return
	}
	switch k.service {
	case "network":
		k.fail(http.StatusConflict, "OverQuota", "Quota exceeded for resources: ['port'].")
	case "volume":
		k.fail(http.StatusRequestEntityTooLarge, "overLimit", "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'.")
	default:
		k.fail(http.StatusForbidden, "forbidden", "Quota exceeded for cores, ram: Requested 2, 4096, but already used 20, 40960 of 20, 51200 cores, ram")
	}
}

func (k *call) invalid() {
	switch k.service {
	case "network":
		k.fail(http.StatusBadRequest, "HTTPBadRequest", "Invalid input for fixed_ips. Reason: '10.9.0.300' is not a valid IP address.")
	default:
		k.fail(http.StatusBadRequest, "badRequest", "Flavor nope could not be found.")
	}
}

func (k *call) broken() {
	const message = "Unexpected API Error. Please report this at http://bugs.launchpad.net/nova/ and attach the Nova API log if possible.\n<class 'oslo_db.exception.DBConnectionError'>"
	switch k.service {
	case "network":
		k.fail(http.StatusInternalServerError, "HTTPInternalServerError", "Request Failed: internal server error while processing your request.")
	default:
		k.fail(http.StatusInternalServerError, "computeFault", message)
	}
}

// text is an object's field as text.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
