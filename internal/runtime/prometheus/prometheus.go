// Package prometheus evaluates queries at a Prometheus server, or at a server with the same API.
package prometheus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/spf13/pflag"
	"k8s.io/client-go/transport"
)

// Flags say where the server is. The zero value is no server.
type Flags struct {
	// URL is the address of the server, without the path of its API.
	URL string
	// CAFile has the certificates that sign the certificate of the server; empty: those of the system.
	CAFile string
	// TokenFile has a bearer token, which is read again when it changes; empty: none is sent.
	TokenFile string
}

// Add adds the flags.
func (f *Flags) Add(fs *pflag.FlagSet) {
	fs.StringVar(&f.URL, "prometheus-url", "", "address of the Prometheus server for the queries of disruption budgets; without it, limits with a query always apply")
	fs.StringVar(&f.CAFile, "prometheus-ca-file", "", "file of the certificates that sign the certificate of the Prometheus server; empty for those of the system")
	fs.StringVar(&f.TokenFile, "prometheus-token-file", "", "file of the bearer token for the Prometheus server; the file may change. Only for https")
}

// ErrNoServer says that no server is configured.
var ErrNoServer = errors.New("no Prometheus server is configured: set --prometheus-url of the machine controller")

// Client asks a server. A nil client has none.
type Client struct{ api v1.API }

// timeout bounds one query: machines wait for the answer.
const timeout = 5 * time.Second

// Client returns a client for the server, or nil without one. Invalid flags and unreadable files are errors.
func (f Flags) Client() (*Client, error) {
	if f.URL == "" {
		if f.CAFile != "" || f.TokenFile != "" {
			return nil, errors.New("--prometheus-ca-file and --prometheus-token-file need --prometheus-url")
		}
		return nil, nil
	}
	at, err := url.Parse(f.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, fmt.Errorf("--prometheus-url: %q is not the address of an HTTP server", f.URL)
	}
	if f.TokenFile != "" && at.Scheme != "https" {
		return nil, errors.New("--prometheus-token-file: the token is sent only to an https server")
	}
	carrier, err := f.carrier()
	if err != nil {
		return nil, err
	}
	c, err := api.NewClient(api.Config{Address: strings.TrimSuffix(f.URL, "/"), RoundTripper: carrier})
	if err != nil {
		return nil, fmt.Errorf("--prometheus-url: %w", err)
	}
	return &Client{v1.NewAPI(c)}, nil
}

func (f Flags) carrier() (http.RoundTripper, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CAFile != "" {
		pem, err := os.ReadFile(f.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--prometheus-ca-file: %w", err)
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--prometheus-ca-file: %s has no certificate", f.CAFile)
		}
	}
	if f.TokenFile == "" {
		return t, nil
	}
	with, err := transport.NewBearerAuthWithRefreshRoundTripper("", f.TokenFile, t)
	if err != nil {
		return nil, fmt.Errorf("--prometheus-token-file: %w", err)
	}
	return with, nil
}

// HasSamples reports whether the query returns at least one sample now. A partial answer without samples is an error: the missing part may
// have some.
func (c *Client) HasSamples(ctx context.Context, query string) (bool, error) {
	if c == nil {
		return false, ErrNoServer
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	value, warnings, err := c.api.Query(ctx, query, time.Time{}, v1.WithTimeout(timeout))
	if err != nil {
		return false, fmt.Errorf("evaluate the Prometheus query: %w", err)
	}
	samples, is := value.(model.Vector)
	switch {
	case !is:
		return false, fmt.Errorf("the Prometheus query returns a %s, and must return a vector", value.Type())
	case len(samples) == 0 && len(warnings) > 0:
		return false, fmt.Errorf("the answer to the Prometheus query is partial: %s", strings.Join(warnings, "; "))
	}
	return len(samples) > 0, nil
}
