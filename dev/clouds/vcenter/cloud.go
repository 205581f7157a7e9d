package vcenter

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/vpx"
	"github.com/vmware/govmomi/vapi/rest"
	_ "github.com/vmware/govmomi/vapi/simulator" // the tagging service
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Options say what the vCenter has and how it behaves.
type Options struct {
	Inventory Inventory
	// AcceptAny makes what is asked for by inventory path if it is not there: datacenters, folders,
	// datastores, networks, resource pools, templates.
	AcceptAny bool
	// Clone is how long a clone takes, Boot from power on to a guest that tells its addresses, Delete how
	// long a virtual machine takes to be destroyed.
	Clone, Boot, Delete time.Duration
	// PageSize bounds the objects on a page of properties, whatever the client asks for; 0 for no bound.
	PageSize int32
	// ID tells the vCenter from others: its instance UUID.
	ID string
}

// Cloud is a vCenter. It implements [double.Cloud], [double.Host] and [double.Inspected].
type Cloud struct {
	clock   *double.Clock
	options Options
	model   *simulator.Model
	handler http.Handler
	vim     *vim25.Client // around passwords, faults and log
	rest    *rest.Client
	dirs    []string

	doing sync.Mutex // held while the agenda is worked on
	mu    sync.Mutex
	state state
}

// state is what a Cloud knows besides the simulator.
type state struct {
	users    map[string]string
	sessions map[string]User // by cookie or session ID
	agenda   []due
	clones   []types.CloneVM_Task
	doomed   map[string]bool // instance UUIDs of what does not come up
	full     map[string]bool // names of clusters and datastores
	boots    map[types.ManagedObjectReference]int
	hosts    int
}

// due is what happens at its time.
type due struct {
	at time.Time
	do func()
}

// none of the simulator's tasks holds a lock from the request that began it to its end: what is being
// cloned can be read.
func init() { simulator.TaskDelay.MethodDelay = map[string]int{"LockHandoff": 0} }

// internal is the user that the double itself is.
var internal = User{Name: "double@internal", Password: rand.Text()}

// New returns a vCenter with the inventory, which has to make sense: it panics where, say, a template has no
// datastore to lie on.
func New(clock *double.Clock, o Options) *Cloud {
	c := &Cloud{clock: clock, options: o, state: state{
		users: map[string]string{}, sessions: map[string]User{}, doomed: map[string]bool{}, full: map[string]bool{},
		boots: map[types.ManagedObjectReference]int{},
	}}
	for _, u := range o.Inventory.Users {
		c.state.users[u.Name] = u.Password
	}
	if err := c.build(); err != nil {
		panic(fmt.Errorf("build a vCenter: %w", err))
	}
	return c
}

func (c *Cloud) build() error {
	c.model = &simulator.Model{ServiceContent: vpx.ServiceContent, RootFolder: vpx.RootFolder}
	if c.options.ID != "" {
		c.model.ServiceContent.About.InstanceUuid = c.options.ID
	}
	if err := c.model.Create(); err != nil {
		return err
	}
	s := c.model.Service
	s.RegisterEndpoints = true
	s.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword(internal.Name, internal.Password)}
	s.Context.Map.SessionManager().ValidLogin = func(l *types.Login) bool { return c.valid(User{l.UserName, l.Password}) }
	s.NewServer().Close() // what it serves is reached without a network
	c.handler = s.ServeMux
	if err := c.connect(); err != nil {
		return err
	}
	return c.furnish(context.Background())
}

// connect opens the double's own session.
func (c *Cloud) connect() error {
	ctx := context.Background()
	u := &url.URL{Scheme: "http", Host: "vcenter.invalid", Path: vim25.Path}
	sc := soap.NewClient(u, true)
	sc.Client.Transport = inside{c.handler}
	vim, err := vim25.NewClient(ctx, sc)
	if err != nil {
		return err
	}
	user := url.UserPassword(internal.Name, internal.Password)
	if err := session.NewManager(vim).Login(ctx, user); err != nil {
		return err
	}
	c.vim, c.rest = vim, rest.NewClient(vim)
	c.rest.Client.Client.Transport = inside{c.handler}
	return c.rest.Login(ctx, user)
}

// inside is a transport to a handler in this process.
type inside struct{ handler http.Handler }

func (t inside) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	t.handler.ServeHTTP(w, r)
	answer := w.Result()
	answer.Request = r
	return answer, nil
}

func (c *Cloud) valid(u User) bool {
	if u == internal {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.state.users) == 0 {
		return u.Name != "" && u.Password != ""
	}
	password, ok := c.state.users[u.Name]
	return ok && password == u.Password
}

// SetPassword gives a user a password and ends the sessions that were opened with another.
func (c *Cloud) SetPassword(u User) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.users[u.Name] = u.Password
}

// EndSessions logs everybody out, as a restart of the vCenter does.
func (c *Cloud) EndSessions() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.state.sessions {
		c.state.sessions[id] = User{}
	}
}

// Close removes what the vCenter keeps on disk.
func (c *Cloud) Close() {
	c.model.Remove()
	for _, dir := range c.dirs {
		_ = os.RemoveAll(dir)
	}
}

// at puts something on the agenda.
func (c *Cloud) at(when time.Time, do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.agenda = append(c.state.agenda, due{when, do})
}

// settle does what is due.
func (c *Cloud) settle() {
	c.doing.Lock()
	defer c.doing.Unlock()
	for {
		do := c.next()
		if do == nil {
			return
		}
		do()
	}
}

func (c *Cloud) next() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, first := c.clock.Now(), -1
	for i, d := range c.state.agenda {
		if !d.at.After(now) && (first < 0 || d.at.Before(c.state.agenda[first].at)) {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	do := c.state.agenda[first].do
	c.state.agenda = append(c.state.agenda[:first], c.state.agenda[first+1:]...)
	return do
}
