// Package metadata asks the metadata services of clouds, over HTTP, what they
// announce about the instance that it runs on.
//
// A look brings what is known, and an error that says what is not. A service
// that is away, denies, answers in parts or in words that it does not use has
// said nothing: neither that there is a notice nor that there is none.
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

// LinkLocal is where the metadata services of all three clouds are.
const LinkLocal = "http://169.254.169.254"

// quick is how long a question may take that the service answers from memory.
const quick = 5 * time.Second

// maxBody bounds an answer, in bytes: the longest that is known has some
// kilobytes.
const maxBody = 1 << 20

// NewHTTP makes a client for metadata services. It uses no proxy, whatever the
// environment says: only the host itself is asked. It follows no redirection:
// these services have none.
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

// request is one question.
type request struct {
	method, path string
	header       map[string]string
	// within is how long the answer may take.
	within time.Duration
}

// reply is a whole answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// do asks. An error means that there was no whole answer, whatever its status.
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

// refused is the error of an answer with a status that says nothing.
func (q request) refused(a reply) error {
	return fmt.Errorf("%s %s: the metadata service answered %d %s", q.method, q.path, a.status, http.StatusText(a.status))
}

// strange is the error of an answer that the service does not use.
func (q request) strange(what string, a reply) error {
	const most = 60
	body := a.body
	if len(body) > most {
		body = body[:most] + "…"
	}
	return fmt.Errorf("%s %s: the answer is not %s: %q", q.method, q.path, what, body)
}

// timedOut reports whether nobody answered in time.
func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
