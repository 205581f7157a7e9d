package vcenter

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/soap"
)

// logins has the users, and their sessions.
type logins struct {
	mu       sync.Mutex
	users    map[string]string
	roles    map[string]Roles
	sessions map[string]login // by cookie or session ID
	// locked: only issued users may log in.
	locked bool
	issued []login
	// any: any user with a name and a password may log in, unless locked.
	any bool
}

// login is the name and password of a session.
type login struct{ name, password string }

func newLogins(users []User, anybody bool) *logins {
	p := &logins{any: anybody, users: map[string]string{}, roles: map[string]Roles{}, sessions: map[string]login{}}
	for _, u := range users {
		p.users[u.Name], p.roles[u.Name] = u.Password, u.Roles
	}
	return p
}

func (p *logins) valid(u login) bool {
	if u == internal {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.locked || slices.Contains(p.issued, u) {
		return slices.Contains(p.issued, u)
	}
	if len(p.users) == 0 || p.any {
		return u.name != "" && u.password != ""
	}
	password, ok := p.users[u.name]
	return ok && password == u.password
}

func (p *logins) set(u User) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users[u.Name], p.roles[u.Name] = u.Password, u.Roles
}

// rolesOf are the roles of a request's user; nil: all privileges.
func (p *logins) rolesOf(r *http.Request) Roles {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.roles[p.sessions[sessionID(r)].name]
}

func (p *logins) endSessions() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.sessions {
		p.sessions[id] = login{}
	}
}

// of returns the user of a request; holds is false if the request has no valid session.
func (p *logins) of(r *http.Request) (known, holds bool) {
	id := sessionID(r)
	p.mu.Lock()
	u, ok := p.sessions[id]
	p.mu.Unlock()
	return ok, ok && p.valid(u)
}

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

var loginBody = struct{ user, password *regexp.Regexp }{
	regexp.MustCompile(`<userName>([^<]*)</userName>`), regexp.MustCompile(`<password>([^<]*)</password>`),
}

// remember records the user of a new session.
func (p *logins) remember(r *http.Request, body []byte, answer *httptest.ResponseRecorder) {
	var id string
	var u login
	if name, password, ok := r.BasicAuth(); ok && isREST(r) && answer.Code == http.StatusOK {
		var said struct{ Value string }
		_ = json.Unmarshal(answer.Body.Bytes(), &said)
		id, u = said.Value, login{name, password}
	} else if soapMethod(body) == "Login" {
		for _, cookie := range answer.Result().Cookies() {
			if cookie.Name == soap.SessionCookieName {
				id = cookie.Value
			}
		}
		u = login{textOf(loginBody.user, body), textOf(loginBody.password, body)}
	}
	if id == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions[id] = u
}

// forget ends the session of a user who logs out.
func (p *logins) forget(r *http.Request, body []byte) {
	if isREST(r) && r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/session") || !isREST(r) && soapMethod(body) == "Logout" {
		p.mu.Lock()
		defer p.mu.Unlock()
		if id := sessionID(r); id != "" {
			p.sessions[id] = login{}
		}
	}
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
