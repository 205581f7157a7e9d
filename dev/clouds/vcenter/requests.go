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
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

var _ interface {
	double.Cloud
	double.Host
	double.Inspected
} = &Cloud{}

// Operation implements [double.Cloud]. It is the SOAP method ("CloneVM_Task"), or the resource and the action of the REST API
// ("tag-association attach-multiple-tags-to-object").
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
	c.world.settle()
	defer c.world.settle()
	if known, holds := c.users.of(r); known && !holds { // it has ended
		r.Header.Del("Cookie")
		r.Header.Del(restHeader)
	}
	if lacks, ok := c.lacks(r, body); ok {
		deny(w, r, lacks)
		return
	}
	if c.serveInstead(w, r, body) {
		return
	}
	foreign := c.options.AcceptAny && isREST(r)
	if foreign {
		r, body = c.tags.inward(c.builder, r, body)
	}
	answer := httptest.NewRecorder()
	c.handler.ServeHTTP(answer, paged(c.options.PageSize, r, body))
	c.users.remember(r, body, answer)
	c.users.forget(r, body)
	said := answer.Body.Bytes()
	if foreign {
		said = c.tags.outward(said)
		answer.Header().Del("Content-Length")
	}
	for k, v := range answer.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(c.world.veil.over(said))
}

// instead answers the requests for which a vCenter differs from govmomi's simulator; it returns false for all others. It does not
// replace the simulator's methods, because the simulator's sessions only know its own objects.
func (c *Cloud) instead(m *simulator.Method) (returned *types.ManagedObjectReference, ok bool) {
	switch o := c.world.own().Map.Get(m.This).(type) {
	case *simulator.VirtualMachine:
		return c.world.onMachine(o, m)
	case *simulator.Datacenter:
		if req, ok := m.Body.(*types.PowerOnMultiVM_Task); ok {
			ref := c.world.powerOnMulti(o, req)
			return &ref, true
		}
	case *simulator.ClusterComputeResource:
		if req, ok := m.Body.(*types.ReconfigureComputeResource_Task); ok {
			ref := reconfigure(c.world, o, req)
			return &ref, true
		}
	case *simulator.SearchIndex:
		if c.options.AcceptAny {
			return supplier{c.builder}.findAny(c.world.own(), o, m)
		}
	case *simulator.CustomizationSpecManager:
		if req, ok := m.Body.(*types.DoesCustomizationSpecExist); ok && c.options.AcceptAny {
			supplier{c.builder}.provideCustomization(req.Name)
		}
	}
	return nil, false
}

// serveInstead answers the requests that the simulator of govmomi does not answer, for callers with a
// session.
func (c *Cloud) serveInstead(w http.ResponseWriter, r *http.Request, body []byte) bool {
	if _, holds := c.users.of(r); !holds || isREST(r) {
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
	if m, err := simulator.UnmarshalBody(types.TypeFunc(), body); err == nil { // decoded again: the simulator changes its input
		c.world.note(m)
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

// paged limits the page size of a request for properties.
func paged(size int32, r *http.Request, body []byte) *http.Request {
	if size > 0 && soapMethod(body) == "RetrievePropertiesEx" {
		body = maxObjects.ReplaceAll(body, fmt.Appendf(nil, "<maxObjects>%d</maxObjects>", size))
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

// Fail implements [double.Cloud] with faults of the Web Services SDK and errors of the REST API. Throttling is reported by the
// proxy in front of both, in the form of neither API.
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
	fault.write(w, text)
}

func (fault wireFault) write(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>`+
		`<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">`+
		`<soapenv:Body><soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>%s</faultstring>`+
		`<detail><%sFault xmlns="urn:vim25" xsi:type="%s">%s</%sFault></detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>`,
		text, fault.name, fault.name, fault.inner, fault.name)
}

type wireFault struct{ name, inner string }

const textDenied = "Permission to perform this operation was denied."

func noPermission(on types.ManagedObjectReference, privilege string) wireFault {
	return wireFault{"NoPermission", fmt.Sprintf(`<object type="%s">%s</object><privilegeId>%s</privilegeId>`, on.Type, on.Value, privilege)}
}

// soapFault is vCenter's fault for a failure, with the types and texts of the Web Services SDK.
func soapFault(f double.Failure) (wireFault, string) {
	switch f.Kind {
	case "Denied":
		return noPermission(types.ManagedObjectReference{Type: "Folder", Value: "group-d1"}, "VirtualMachine.Inventory.Create"), textDenied
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
