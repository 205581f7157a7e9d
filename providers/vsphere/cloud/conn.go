package cloud

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	vimsession "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/infrastructure"
	"github.com/millwright-dev/millwright/provider/kit"
)

// conn is one session of SOAP and one of REST, shared by all classes with the same credentials. A vCenter
// ends sessions that are idle for long, and all when it restarts: conn then opens them again.
type conn struct {
	vim  *vim25.Client
	rest *rest.Client
	user *url.Userinfo
	memo *kit.Memo[any]

	made  time.Time
	lease lease

	mu     sync.Mutex // held during a login
	logins int
	inREST bool
}

// dial opens a session.
func dial(ctx context.Context, t target, clock provider.Clock) (*conn, error) {
	u, err := endpoint(t.server)
	if err != nil {
		return nil, provider.Errorf(provider.Invalid, "%w", err)
	}
	sc := soap.NewClient(u, t.insecure)
	sc.UserAgent = "millwright"
	if len(t.caBundle) > 0 {
		pool, ok := infrastructure.Trusted(t.caBundle)
		if !ok {
			return nil, provider.Errorf(provider.Invalid, "the bundle of certificates has none in PEM")
		}
		sc.DefaultTransport().TLSClientConfig.RootCAs = pool
	}
	sc.Client.Transport = proxyErrors{sc.Client.Transport}
	vim, err := vim25.NewClient(ctx, sc)
	if err != nil {
		return nil, classify(fmt.Errorf("reach the vCenter %s: %w", t.server, err))
	}
	c := &conn{vim: vim, rest: rest.NewClient(vim), user: url.UserPassword(t.user, t.password), memo: kit.NewMemo[any](clock, memoAge), made: clock.Now()}
	c.lease.used = c.made
	c.rest.Client.Client.Transport = sc.Client.Transport
	if err := c.login(ctx, 0); err != nil {
		return nil, classify(fmt.Errorf("log in to the vCenter %s as %s: %w", t.server, t.user, err))
	}
	return c, nil
}

// endpoint is the URL of a server: a name or an address, with or without a port. Only servers on this
// machine may be called without TLS, and only if their scheme asks for it.
func endpoint(server string) (*url.URL, error) {
	u, err := soap.ParseURL(server)
	switch {
	case err != nil || u == nil || u.Host == "":
		return nil, fmt.Errorf("%q is no name or address of a vCenter", server)
	case u.Scheme == "https":
	case u.Scheme == "http" && loopback(u.Hostname()):
	default:
		return nil, fmt.Errorf("a vCenter is reached by https, not by %q", u.Scheme)
	}
	u.User = nil
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// login opens a session of SOAP unless another caller has logged in since seen was read.
func (c *conn) login(ctx context.Context, seen int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.logins != seen {
		return nil
	}
	if err := vimsession.NewManager(c.vim).Login(ctx, c.user); err != nil {
		return err
	}
	c.logins++
	return nil
}

func (c *conn) loginREST(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inREST {
		return nil
	}
	if err := c.rest.Login(ctx, c.user); err != nil {
		return fmt.Errorf("log in to the REST API: %w", err)
	}
	c.inREST = true
	return nil
}

// do makes calls, once more if the session has ended: a call without a session has no effect. The error is
// classified.
func (c *conn) do(ctx context.Context, calls func() error) error {
	c.mu.Lock()
	seen := c.logins
	c.mu.Unlock()
	err := calls()
	if notAuthenticated(err) {
		if err = c.login(ctx, seen); err == nil {
			err = calls()
		}
	}
	if gone(err) { // a cached result may be the deleted object
		c.memo.ForgetAll()
	}
	return classify(err)
}

// tags makes calls to the tagging service, once more if the session of REST has ended.
func (c *conn) tags(ctx context.Context, calls func(*tags.Manager) error) error {
	seen := c.rest.SessionID()
	for {
		if err := c.loginREST(ctx); err != nil {
			return err
		}
		err := calls(tags.NewManager(c.rest))
		if !answered(err, http.StatusUnauthorized) || seen == "" {
			return err
		}
		c.logoutREST(seen)
		seen = ""
	}
}

// logoutREST forgets a session that has ended, unless there is another.
func (c *conn) logoutREST(seen string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rest.SessionID() == seen {
		c.inREST = false
		c.rest.SessionID("")
	}
}

// proxyErrors reads the answers of the proxy in front of a vCenter, which are neither SOAP nor JSON.
type proxyErrors struct{ inner http.RoundTripper }

func (p proxyErrors) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := p.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch {
	case answer.StatusCode == http.StatusTooManyRequests, answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != "":
		_ = answer.Body.Close()
		return nil, &busyError{status: answer.StatusCode, after: retryAfter(answer.Header.Get("Retry-After"))}
	case strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html"):
		_ = answer.Body.Close()
		return nil, fmt.Errorf("the endpoint answers with a page of HTML (%s): it is no vCenter, or a proxy stands before it", answer.Status)
	}
	return answer, nil
}

// retryAfter reads a delay in seconds or a date.
func retryAfter(header string) time.Duration {
	if n, err := strconv.Atoi(header); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
