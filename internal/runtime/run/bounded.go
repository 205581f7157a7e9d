package run

import (
	"context"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// callTime is the time limit of one request to an API server, including the body of the answer. The server
// itself ends requests after a minute; a proxy or a load balancer before it may hold them for ever, and a
// worker with each.
const callTime = 75 * time.Second

// bound gives every request of c's clients a deadline, except watches, which have to last.
func bound(c *rest.Config, limit time.Duration) {
	c.Wrap(func(rt http.RoundTripper) http.RoundTripper { return bounded{rt, limit} })
}

type bounded struct {
	http.RoundTripper
	limit time.Duration
}

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if w := r.URL.Query().Get("watch"); w == "true" || w == "1" {
		return b.RoundTripper.RoundTrip(r)
	}
	ctx, cancel := context.WithTimeout(r.Context(), b.limit)
	answer, err := b.RoundTripper.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	answer.Body = boundedBody{answer.Body, cancel}
	return answer, nil
}

// WrappedRoundTripper lets client-go find the wrapped tripper.
func (b bounded) WrappedRoundTripper() http.RoundTripper { return b.RoundTripper }

// boundedBody ends the request with its body.
type boundedBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements [io.Closer].
func (b boundedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
