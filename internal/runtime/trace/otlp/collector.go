package otlp

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Collector is the destination of spans.
type Collector struct {
	// URL is the URL for traces, including the path; nil: there is no collector.
	URL *url.URL
	// Headers are sent with every request. They may have credentials.
	Headers http.Header
	Gzip    bool
	// Timeout is how long one batch may take, with all its repetitions.
	Timeout time.Duration
	// authority is a file with the certificates that verify the collector; empty: those of the system.
	// certificate and key are files with those of this process.
	authority, certificate, key string
}

// defaultTimeout is that of the specification of OTLP exporters.
const defaultTimeout = 10 * time.Second

// CollectorOf returns the collector at endpoint, otherwise the one of OpenTelemetry's environment variables
// ($OTEL_EXPORTER_OTLP_ENDPOINT and related ones), which have all other settings.
func CollectorOf(endpoint string, env func(string) string) (Collector, error) {
	of := func(name string) string {
		return cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_"+name), env("OTEL_EXPORTER_OTLP_"+name))
	}
	c := Collector{
		Headers: http.Header{}, Timeout: defaultTimeout,
		authority: of("CERTIFICATE"), certificate: of("CLIENT_CERTIFICATE"), key: of("CLIENT_KEY"),
	}
	var err error
	if c.URL, err = urlOf(endpoint, env); err != nil || c.URL == nil {
		return Collector{}, err
	}
	if protocol := of("PROTOCOL"); endpoint == "" && protocol != "" && protocol != "http/protobuf" {
		return Collector{}, fmt.Errorf("$OTEL_EXPORTER_OTLP_PROTOCOL: only http/protobuf is spoken here, not %q", protocol)
	}
	switch compression := of("COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		c.Gzip = true
	default:
		return Collector{}, fmt.Errorf("$OTEL_EXPORTER_OTLP_COMPRESSION: want gzip or none, not %q", compression)
	}
	if text := of("TIMEOUT"); text != "" {
		ms, err := strconv.ParseUint(text, 10, 31)
		if err != nil || ms == 0 {
			return Collector{}, fmt.Errorf("$OTEL_EXPORTER_OTLP_TIMEOUT: want milliseconds, not %q", text)
		}
		c.Timeout = time.Duration(ms) * time.Millisecond
	}
	return c, c.addHeaders(of("HEADERS"))
}

// urlOf returns the destination of traces; nil: not configured.
func urlOf(endpoint string, env func(string) string) (*url.URL, error) {
	if env("OTEL_SDK_DISABLED") == "true" && endpoint == "" || env("OTEL_TRACES_EXPORTER") == "none" && endpoint == "" {
		return nil, nil
	}
	base, source, whole := endpoint, "--tracing-endpoint", ""
	if base == "" {
		base, source = env("OTEL_EXPORTER_OTLP_ENDPOINT"), "$OTEL_EXPORTER_OTLP_ENDPOINT"
		if whole = env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); whole != "" {
			source = "$OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
		}
	}
	text := cmp.Or(whole, base)
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s: want a URL such as http://collector.observability:4318", source) // it may have a password in it
	}
	if whole == "" {
		u = u.JoinPath("v1/traces")
	}
	return u, nil
}

// addHeaders adds the headers in "a=b,c=d", whose values are escaped as in URLs.
func (c *Collector) addHeaders(text string) error {
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || strings.TrimSpace(name) == "" {
			return errors.New("$OTEL_EXPORTER_OTLP_HEADERS: want name=value, separated by commas") // values may be secret
		}
		c.Headers.Set(strings.TrimSpace(name), value)
	}
	return nil
}

// tls returns the settings that verify the collector, and identify this process to it.
func (c *Collector) tls() (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.authority != "" {
		raw, err := os.ReadFile(c.authority)
		if err != nil {
			return nil, fmt.Errorf("$OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(raw) {
			return nil, fmt.Errorf("$OTEL_EXPORTER_OTLP_CERTIFICATE: %s has no certificate", c.authority)
		}
	}
	if c.certificate != "" || c.key != "" {
		pair, err := tls.LoadX509KeyPair(c.certificate, c.key)
		if err != nil {
			return nil, fmt.Errorf("$OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE, $OTEL_EXPORTER_OTLP_CLIENT_KEY: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}
