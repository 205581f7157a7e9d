package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// client is the HTTP client of OTLP. That of OpenTelemetry depends on gRPC and its gateway.
type client struct {
	where Collector
	http  *http.Client
	log   logr.Logger
	// failing says that a failure to send has been reported.
	failing atomic.Bool
}

var _ otlptrace.Client = &client{}

func newClient(where Collector, log logr.Logger) (*client, error) {
	tls, err := where.tls()
	if err != nil {
		return nil, err
	}
	return &client{where: where, log: log, http: &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: tls, MaxIdleConns: 1, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Start implements [otlptrace.Client].
func (c *client) Start(context.Context) error { return nil }

// Stop implements [otlptrace.Client].
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements [otlptrace.Client]. Spans that cannot be sent are dropped. That is logged once, and
// not returned as an error: OpenTelemetry would log each.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// The request message of the service has the same field, and no other.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	if c.where.Gzip {
		body = zipped(body)
	}
	ctx, cancel := context.WithTimeout(ctx, c.where.Timeout)
	defer cancel()
	err = c.send(ctx, body)
	switch failing := err != nil; {
	case failing == c.failing.Swap(failing):
	case failing:
		c.log.Info("Traces cannot be sent, and are dropped until they can", "collector", c.where.URL.Host, "why", err.Error())
	default:
		c.log.Info("Traces are sent again", "collector", c.where.URL.Host)
	}
	return nil
}

func zipped(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(body) // writes to a buffer succeed
	_ = w.Close()
	return out.Bytes()
}

// firstPause is the pause before a batch is sent again; it doubles.
const firstPause = time.Second

// send retries until success, a final failure, or the end of ctx.
func (c *client) send(ctx context.Context, body []byte) error {
	for pause := firstPause; ; pause *= 2 {
		again, err := c.post(ctx, body)
		if err == nil || !again {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// post sends the batch once, and returns whether it may be sent again after an error.
func (c *client) post(ctx context.Context, body []byte) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.where.URL.String(), bytes.NewReader(body))
	if err != nil {
		return false, errors.New("make a request") // the URL may have a password in it
	}
	r.Header = c.where.Headers.Clone()
	r.Header.Set("Content-Type", "application/x-protobuf")
	if c.where.Gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := c.http.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL
		}
		return true, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // for the next request on this connection
	switch answer.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, fmt.Errorf("it answered %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
}
