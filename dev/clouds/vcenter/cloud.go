package vcenter

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
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

// Options are the options of a vCenter.
type Options struct {
	Inventory Inventory
	// AcceptAny creates missing objects that are requested by inventory path: datacenters, folders,
	// datastores, networks, resource pools, templates. Users may have any name and password.
	AcceptAny bool
	// Clone is the duration of a clone, Boot the time between power on and the guest's report of its addresses, Delete the
	// duration of a deletion.
	Clone, Boot, Delete time.Duration
	// Regroup is the duration of a change of a cluster.
	Regroup time.Duration
	// PageSize limits the objects on a page of properties, whatever the client requests; 0: no limit.
	PageSize int32
	// ID is the instance UUID of the vCenter.
	ID string
}

// Cloud is a vCenter. It implements [double.Cloud], [double.Host] and [double.Inspected].
type Cloud struct {
	options Options
	handler http.Handler // of the simulator of govmomi
	users   *logins
	world   *world
	builder *builder
	tags    foreignTags
	double.Controls
}

// internal is the simulator's own user.
var internal = login{name: "double@internal", password: rand.Text()}

// New returns a vCenter with the inventory, which must be valid: New panics if, for example, a template has
// no datastore.
func New(clock *double.Clock, o Options) *Cloud {
	c := &Cloud{options: o, users: newLogins(o.Inventory.Users, o.AcceptAny)}
	if err := build(c, clock); err != nil {
		panic(fmt.Errorf("build a vCenter: %w", err))
	}
	return c
}

func build(c *Cloud, clock *double.Clock) error {
	model := &simulator.Model{ServiceContent: vpx.ServiceContent, RootFolder: vpx.RootFolder}
	if c.options.ID != "" {
		model.ServiceContent.About.InstanceUuid = c.options.ID
	}
	if err := model.Create(); err != nil {
		return err
	}
	s := model.Service
	s.RegisterEndpoints = true
	s.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword(internal.name, internal.password)}
	s.Context.Map.SessionManager().ValidLogin = func(l *types.Login) bool { return c.users.valid(login{l.UserName, l.Password}) }
	s.NewServer().Close() // its handler is called without a network
	c.handler = s.ServeMux
	c.world = newWorld(clock, c.options, model)
	b, err := connect(c.handler)
	if err != nil {
		return err
	}
	b.own = c.world.own
	c.builder = b
	c.Controls = c.controls()
	return b.furnish(context.Background(), c.options.Inventory)
}

// connect opens the simulator's own session.
func connect(handler http.Handler) (*builder, error) {
	ctx := context.Background()
	u := &url.URL{Scheme: "http", Host: "vcenter.invalid", Path: vim25.Path}
	sc := soap.NewClient(u, true)
	sc.Client.Transport = inside{handler}
	vim, err := vim25.NewClient(ctx, sc)
	if err != nil {
		return nil, err
	}
	user := url.UserPassword(internal.name, internal.password)
	if err := session.NewManager(vim).Login(ctx, user); err != nil {
		return nil, err
	}
	b := &builder{vim: vim, rest: rest.NewClient(vim)}
	b.rest.Client.Client.Transport = inside{handler}
	return b, b.rest.Login(ctx, user)
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

// SetUser sets a user's password and roles, and ends sessions with another password.
func (c *Cloud) SetUser(u User) { c.users.set(u) }

// EndSessions ends all sessions, like a restart of the vCenter.
func (c *Cloud) EndSessions() { c.users.endSessions() }

// Close removes the vCenter's files.
func (c *Cloud) Close() {
	c.world.model.Remove()
	for _, dir := range c.builder.dirs {
		_ = os.RemoveAll(dir)
	}
}
