package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Controller is the behaviour behind an API server. It is not called concurrently.
type Controller interface {
	// Settle applies the changes that have become due.
	Settle(now time.Time)
	// Judge returns the errors of an object.
	Judge(kind string, o Object) []Cause
	// Delete begins to delete an object, and returns its current state; nil: it is deleted at once.
	Delete(o Object, now time.Time) Object
}

// Options are the options of a server.
type Options struct {
	Namespaces []Namespace
	Users      []User
	// PageSize is the maximum page size of a list; 0: the requested size.
	PageSize int
	// Without are resources that it does not serve: "virtualmachines" if KubeVirt is not installed.
	Without []string
	// Webhook is the name of a webhook that refuses objects, Field an object that it refuses, and why.
	Webhook string
	Field   Cause
}

// Namespace is an account.
type Namespace struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Server is the API server. It implements [double.Cloud], and most of [double.Inspected] and [double.Lender].
type Server struct {
	*Memory
	*double.Credentials[User]
	double.Lagging // of lists
	options        Options
	behind         Controller

	mu sync.Mutex
	// needed are the permissions that were used: "get virtualmachines.kubevirt.io".
	needed map[string]bool
}

var _ double.Cloud = &Server{}

// NewServer returns a server of the objects in memory.
func NewServer(m *Memory, behind Controller, o Options) *Server {
	first := func(u User) bool { return u.Namespace == o.Namespaces[0].Name }
	return &Server{Memory: m, options: o, behind: behind, Credentials: double.NewCredentials(false, first, o.Users...), needed: map[string]bool{}}
}

// Operation implements [double.Cloud]: "virtualmachines.get", "virtualmachines.list", and "virtualmachines.list.next" for pages but the
// first.
func (s *Server) Operation(r *http.Request, _ []byte) (name string, writes bool) {
	t := s.targetOf(r.URL.Path)
	name = t.Name + "." + t.verb(r.Method)
	if r.URL.Query().Has("continue") {
		name += ".next"
	}
	return name, r.Method != http.MethodGet
}

// call is one request.
type call struct {
	*Server
	target
	w    http.ResponseWriter
	r    *http.Request
	body []byte
	now  time.Time
}

// Serve implements [double.Cloud].
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, body []byte) {
	s.While(func(now time.Time) {
		(&call{Server: s, target: s.targetOf(r.URL.Path), w: w, r: r, body: body, now: now}).serve()
	})
}

// While runs do with exclusive access to the objects. Changes that are due by time are applied before and
// after it.
func (s *Server) While(do func(now time.Time)) {
	exclusive := s.Exclusive()
	exclusive.Lock()
	defer exclusive.Unlock()
	do(s.Clock.Now())
}

// Exclusive is the lock of [Server.While].
func (s *Server) Exclusive() sync.Locker { return exclusive{s} }

type exclusive struct{ *Server }

// Lock implements [sync.Locker].
func (s exclusive) Lock() {
	s.mu.Lock()
	s.behind.Settle(s.Clock.Now())
}

// Unlock implements [sync.Locker].
func (s exclusive) Unlock() {
	s.behind.Settle(s.Clock.Now())
	s.mu.Unlock()
}

func (k *call) serve() {
	user, ok := k.user()
	if !ok {
		k.fail(status{code: http.StatusUnauthorized, reason: "Unauthorized", message: "Unauthorized"})
		return
	}
	verb := k.verb(k.r.Method)
	if k.known && !user.may(verb, k.target) {
		k.forbid(user, verb)
		return
	}
	k.needed[verb+" "+k.full()] = true
	for _, without := range k.options.Without {
		k.known = k.known && k.Name != without
	}
	serve := map[string]func(*call){"get": get, "list": list, "create": create, "patch": patch, "delete": remove}[verb]
	if !k.known || serve == nil {
		http.Error(k.w, "404 page not found", http.StatusNotFound)
		return
	}
	serve(k)
}

// reply writes an answer.
func (k *call) reply(code int, answer any) {
	k.w.Header().Set("Content-Type", "application/json")
	k.w.Header().Set("Date", k.now.UTC().Format(http.TimeFormat))
	k.w.WriteHeader(code)
	_ = json.NewEncoder(k.w).Encode(answer)
}

// Create creates an object below a path, without a request.
func (s *Server) Create(path string, raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var o Object
	if t := s.targetOf(path); t.known && json.Unmarshal(raw, &o) == nil {
		s.Put(t.Resource, t.namespace, o)
	}
}

// Object is the current object, or nil.
func (s *Server) Object(resource, namespace, name string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, _ := s.Objects.Get(Key(resource, namespace, name))
	return o.Clone()
}

// Change merges a patch into an object, without a request.
func (s *Server) Change(resource, namespace, name string, merge map[string]any) (err error) {
	s.While(func(time.Time) { err = s.Merge(resource, namespace, name, merge) })
	return err
}

// Merge is [Server.Change] for a caller with exclusive access.
func (m *Memory) Merge(resource, namespace, name string, merge map[string]any) error {
	o, ok := m.Objects.Get(Key(resource, namespace, name))
	if !ok {
		return fmt.Errorf("there is no %s %s", strings.TrimSuffix(resource, "s"), name)
	}
	changed, _ := Merged(map[string]any(o.Clone()), merge).(map[string]any)
	m.Keep(m.Named(resource), changed)
	return nil
}
