package cloud

import (
	"context"
	"net/http"
	"sync"
	"time"

	vimsession "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// connPool connects to vCenters, once for all classes with the same credentials, and closes unused
// connections. A vCenter allows about five hundred sessions of a user, and keeps one for half an hour after
// its last request.
type connPool struct {
	clock   provider.Clock
	clients *kit.Clients[*conn]

	mu   sync.Mutex
	open map[provider.ClientKey]*conn
}

const (
	// mostSessions is the number of logins to vCenters, or by users of one: a vCenter allows a few hundred
	// sessions of all its users together.
	mostSessions = 20
	// idleFor is how long an unused connection is kept.
	idleFor = time.Hour
	// heldFor is how long a new connection is kept although the vCenter refuses it: of several callers that
	// were refused at the same time, the last must not drop the connection that the first has opened since.
	heldFor = 5 * time.Second
	// goodbye is the time limit of a logout.
	goodbye = 5 * time.Second
)

func newConnPool(clock provider.Clock) *connPool {
	return &connPool{clock: clock, clients: kit.NewClients[*conn](clock, idleFor, mostSessions), open: map[provider.ClientKey]*conn{}}
}

// use passes a connection to calls, and drops it when the vCenter refuses it. A missing privilege is no
// reason: another session would not have it either.
func (p *connPool) use(ctx context.Context, t target, calls func(*conn) error) error {
	key := t.key()
	c, err := p.clients.Get(ctx, key, func(ctx context.Context) (*conn, error) { return p.dial(ctx, key, t) })
	if err != nil {
		return err
	}
	c.lease.take(p.clock.Now())
	defer c.release()
	err = c.do(ctx, func() error { return calls(c) })
	if spent(err) {
		p.drop(key, c)
	}
	return err
}

// spent reports whether a vCenter refuses a session, or the credentials with which to open another.
func spent(err error) bool {
	switch faultOf(err).(type) {
	case *types.InvalidLogin, *types.NotAuthenticated, *types.PasswordExpired:
		return true
	}
	return answered(err, http.StatusUnauthorized)
}

func (p *connPool) drop(key provider.ClientKey, c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[key] == c && p.clock.Now().Sub(c.made) >= heldFor {
		p.clients.Forget(key)
		p.hangUp(key)
	}
}

// dial opens a connection that replaces the one before, if any, and closes those that were not used
// recently.
func (p *connPool) dial(ctx context.Context, key provider.ClientKey, t target) (*conn, error) {
	c, err := dial(ctx, t, p.clock)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hangUp(key)
	for other, old := range p.open {
		if c.made.Sub(old.lease.last()) > idleFor {
			p.hangUp(other)
		}
	}
	for len(p.open) >= mostSessions {
		p.hangUp(p.stalest())
	}
	p.open[key] = c
	return c, nil
}

func (p *connPool) stalest() (key provider.ClientKey) {
	for other, c := range p.open {
		if stale, ok := p.open[key]; !ok || c.lease.last().Before(stale.lease.last()) {
			key = other
		}
	}
	return key
}

func (p *connPool) hangUp(key provider.ClientKey) {
	if c, ok := p.open[key]; ok {
		delete(p.open, key)
		c.lease.end()
		c.release()
	}
}

// lease counts the users of a connection.
type lease struct {
	mu    sync.Mutex
	users int
	ended bool
	used  time.Time
}

func (l *lease) take(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users++
	l.used = now
}

// give ends a use, and reports whether it was the last.
func (l *lease) give() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	return l.ended && l.users == 0
}

// end counts as a use, too, which has to be given back.
func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users++
	l.ended = true
}

func (l *lease) last() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}

// release ends a use of a connection. After the last use of a dropped one its sessions are ended in the
// background.
func (c *conn) release() {
	if c.lease.give() {
		go c.logout()
	}
}

// logout ends both sessions. It may fail: the vCenter ends idle sessions by itself.
func (c *conn) logout() {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inREST {
		_ = c.rest.Logout(ctx)
		c.rest.SessionID("")
		c.inREST = false
	}
	_ = vimsession.NewManager(c.vim).Logout(ctx)
}
