// Package metadata reads notices about the instance that it runs on from the metadata services of clouds,
// over HTTP.
//
// A report has the known facts, and the error names the unknown ones. A service that is unavailable, denies,
// or answers partially or in an unknown form has reported nothing: neither a notice nor its absence.
package metadata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// LinkLocal is the address of the metadata services of all three clouds.
const LinkLocal = "http://169.254.169.254"

// quick is the timeout of requests that the service answers from memory.
const quick = 5 * time.Second

// maxBody is the limit of an answer, in bytes: the longest known one has some kilobytes.
const maxBody = 1 << 20

// NewHTTP returns a client for metadata services. It uses no proxy, even if the environment names one: the
// service is on the host itself. It follows no redirection: these services have none.
func NewHTTP() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            (&net.Dialer{Timeout: quick}).DialContext,
			MaxIdleConns:           4,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: 1 << 16,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// service is a metadata service.
type service struct {
	http *http.Client
	base string
}

func newService(h *http.Client, base string) service {
	if base == "" {
		base = LinkLocal
	}
	return service{h, strings.TrimRight(base, "/")}
}

// request is one request.
type request struct {
	method, path string
	header       map[string]string
	// within is how long the answer may take.
	within time.Duration
}

// reply is a complete answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request. An error means that there was no complete answer, of any status.
func (s service) do(ctx context.Context, q request) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, q.within)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, q.method, s.base+q.path, http.NoBody)
	if err != nil {
		return reply{}, err
	}
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	answer, err := s.http.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	if err != nil {
		return reply{}, fmt.Errorf("read the answer to %s %s: %w", q.method, q.path, err)
	}
	if len(body) > maxBody {
		return reply{}, fmt.Errorf("the answer to %s %s is longer than %d bytes", q.method, q.path, maxBody)
	}
	return reply{answer.StatusCode, answer.Header, string(body)}, nil
}

// refused returns the error for an answer with a status without information.
func (q request) refused(a reply) error {
	return fmt.Errorf("%s %s: the metadata service answered %d %s", q.method, q.path, a.status, http.StatusText(a.status))
}

// strange returns the error for an answer in an unknown form.
func (q request) strange(what string, a reply) error {
	const most = 60
	body := a.body
	if len(body) > most {
		body = body[:most] + "…"
	}
	return fmt.Errorf("%s %s: the answer is not %s: %q", q.method, q.path, what, body)
}

// timedOut reports whether no answer came in time.
func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
