package vcenter

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

var _ interface {
	double.Cloud
	double.Host
	double.Inspected
} = &Cloud{}

// Operation implements [double.Cloud]: the SOAP method ("CloneVM_Task"), or of the REST API the resource and
// the action ("tag-association attach-multiple-tags-to-object").
func (c *Cloud) Operation(r *http.Request, body []byte) (name string, writes bool) {
	if isREST(r) {
		return operationREST(r)
	}
	name = soapMethod(body)
	return name, strings.HasSuffix(name, "_Task") || name == "SetField" || name == "AddCustomFieldDef"
}

func isREST(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, rest.Path) }

var restID = regexp.MustCompile(`/(id:)[^/]*$`)

func operationREST(r *http.Request) (string, bool) {
	at := restID.ReplaceAllString(r.URL.Path, "")
	resource := at[strings.LastIndexByte(at, '/')+1:]
	action := r.URL.Query().Get("~action")
	if action == "" {
		action = r.Method
	}
	writes := strings.HasPrefix(action, "attach") || strings.HasPrefix(action, "detach") || action != http.MethodGet && r.Method == action
	return resource + " " + action, writes && resource != "session"
}

// soapMethod is the name of the first element in the body of an envelope.
func soapMethod(envelope []byte) string {
	d := xml.NewDecoder(bytes.NewReader(envelope))
	inBody := false
	for {
		token, err := d.Token()
		if err != nil {
			return "unreadable"
		}
		if e, ok := token.(xml.StartElement); ok {
			if inBody {
				return e.Name.Local
			}
			inBody = e.Name.Local == "Body"
		}
	}
}

// Serve implements [double.Cloud].
func (c *Cloud) Serve(w http.ResponseWriter, r *http.Request, body []byte) {
	c.settle()
	defer c.settle()
	id := sessionID(r)
	if u, ok := c.user(id); ok && !c.valid(u) {
		c.forget(r)
	}
	if c.serveInstead(w, r, body) {
		return
	}
	answer := httptest.NewRecorder()
	c.handler.ServeHTTP(answer, c.paged(r, body))
	c.remember(r, body, answer)
	for k, v := range answer.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// serveInstead answers what the double does in place of the simulator, for those who have a session.
func (c *Cloud) serveInstead(w http.ResponseWriter, r *http.Request, body []byte) bool {
	u, ok := c.user(sessionID(r))
	if !ok || isREST(r) || !c.valid(u) {
		return false
	}
	m, err := simulator.UnmarshalBody(types.TypeFunc(), body)
	if err != nil {
		return false
	}
	ref, ok := c.instead(m)
	if !ok {
		return false
	}
	returned := ""
	if ref != nil {
		returned = fmt.Sprintf(`<returnval type="%s">%s</returnval>`, ref.Type, ref.Value)
	}
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/">`+
		`<soapenv:Body><%sResponse xmlns="urn:vim25">%s</%sResponse></soapenv:Body></soapenv:Envelope>`, m.Name, returned, m.Name)
	return true
}

var maxObjects = regexp.MustCompile(`<maxObjects>\d+</maxObjects>`)

// paged bounds the page that a request for properties asks for.
func (c *Cloud) paged(r *http.Request, body []byte) *http.Request {
	if c.options.PageSize > 0 && soapMethod(body) == "RetrievePropertiesEx" {
		body = maxObjects.ReplaceAll(body, fmt.Appendf(nil, "<maxObjects>%d</maxObjects>", c.options.PageSize))
	}
	out := r.Clone(r.Context())
	out.Body = http.NoBody
	if len(body) > 0 {
		out.Body = readCloser{bytes.NewReader(body)}
	}
	out.ContentLength = int64(len(body))
	return out
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

const restHeader = "vmware-api-session-id"

func sessionID(r *http.Request) string {
	if isREST(r) {
		return r.Header.Get(restHeader)
	}
	if cookie, err := r.Cookie(soap.SessionCookieName); err == nil {
		return cookie.Value
	}
	return ""
}

func (c *Cloud) user(id string) (User, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u, ok := c.state.sessions[id]
	return u, ok
}

// forget lets a request be one without a session: its own has ended.
func (c *Cloud) forget(r *http.Request) {
	r.Header.Del("Cookie")
	r.Header.Del(restHeader)
}

var loginBody = struct{ user, password *regexp.Regexp }{
	regexp.MustCompile(`<userName>([^<]*)</userName>`), regexp.MustCompile(`<password>([^<]*)</password>`),
}

// remember notes who opened which session.
func (c *Cloud) remember(r *http.Request, body []byte, answer *httptest.ResponseRecorder) {
	var id string
	var u User
	if name, password, ok := r.BasicAuth(); ok && isREST(r) && answer.Code == http.StatusOK {
		var said struct{ Value string }
		_ = json.Unmarshal(answer.Body.Bytes(), &said)
		id, u = said.Value, User{name, password}
	} else if soapMethod(body) == "Login" {
		for _, cookie := range answer.Result().Cookies() {
			if cookie.Name == soap.SessionCookieName {
				id = cookie.Value
			}
		}
		u = User{textOf(loginBody.user, body), textOf(loginBody.password, body)}
	}
	if id == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.sessions[id] = u
}

func textOf(element *regexp.Regexp, in []byte) string {
	m := element.FindSubmatch(in)
	if m == nil {
		return ""
	}
	var said string
	if err := xml.Unmarshal(fmt.Appendf(nil, "<s>%s</s>", m[1]), &said); err != nil {
		return ""
	}
	return said
}

// Fail implements [double.Cloud]: faults of the Web Services SDK, errors of the REST API. Throttling is told by
// the proxy in front of both, which knows no API.
func (c *Cloud) Fail(w http.ResponseWriter, r *http.Request, f double.Failure) {
	if f.Kind == "Throttled" {
		if f.After > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(f.After.Seconds())))
		}
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	if isREST(r) {
		failREST(w, f)
		return
	}
	fault, text := soapFault(f)
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>`+
		`<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">`+
		`<soapenv:Body><soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>%s</faultstring>`+
		`<detail><%sFault xmlns="urn:vim25" xsi:type="%s">%s</%sFault></detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>`,
		text, fault.name, fault.name, fault.inner, fault.name)
}

type wireFault struct{ name, inner string }

// soapFault is what vCenter says to a failure: the faults and their texts are those of the Web Services SDK.
func soapFault(f double.Failure) (wireFault, string) {
	switch f.Kind {
	case "Denied":
		return wireFault{"NoPermission", `<object type="Folder">group-d1</object><privilegeId>VirtualMachine.Inventory.Create</privilegeId>`}, "Permission to perform this operation was denied."
	case "Invalid":
		return wireFault{"InvalidArgument", `<invalidProperty>spec.config</invalidProperty>`}, "A specified parameter was not correct: spec.config"
	case "Conflict":
		return wireFault{"TaskInProgress", `<task type="Task">task-1</task>`}, "The operation is not allowed in the current state."
	case "Exhausted":
		switch f.Scope {
		case "type":
			return wireFault{"NoCompatibleHost", ""}, "No host is compatible with the virtual machine."
		case "account":
			return wireFault{"NotEnoughLicenses", ""}, "There are not enough licenses installed to perform the operation."
		}
		return wireFault{"InsufficientResourcesFault", ""}, "The operation cannot be allowed at the current time because the cluster has insufficient resources."
	}
	return wireFault{"SystemError", `<reason>Internal error</reason>`}, "A general system error occurred: Internal error"
}

func failREST(w http.ResponseWriter, f double.Failure) {
	code, kind := http.StatusServiceUnavailable, "service_unavailable"
	switch f.Kind {
	case "Denied":
		code, kind = http.StatusForbidden, "unauthorized"
	case "Invalid":
		code, kind = http.StatusBadRequest, "invalid_argument"
	case "Conflict":
		code, kind = http.StatusBadRequest, "concurrent_change"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "com.vmware.vapi.std.errors." + kind, "value": map[string]any{"messages": []any{}}})
}
