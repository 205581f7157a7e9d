package run

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// serving has the settings of the metrics server.
type serving struct {
	// secure means HTTPS, for clients that may get the path in the control cluster.
	secure  bool
	certDir string
	// minVersion and suites apply to every port with TLS.
	minVersion, suites string
}

func (s *serving) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&s.secure, secureFlag, true,
		"serve metrics over HTTPS, to clients that may get the path /metrics in the control cluster; the default is HTTP if the address is a loopback address, or if the program has the name of an original that uses HTTP")
	fs.StringVar(&s.certDir, "metrics-cert-dir", "", "folder with the certificate of the metrics endpoint (tls.crt, tls.key), which is read again after changes; empty is a self-signed certificate")
	fs.StringVar(&s.minVersion, "tls-min-version", "", "lowest TLS version of metrics and webhooks: VersionTLS12 or VersionTLS13")
	fs.StringVar(&s.suites, "tls-cipher-suites", "", "cipher suites of metrics and webhooks, by their IANA names; those of TLS 1.3 cannot be chosen")
}

const secureFlag = "metrics-secure"

// completeServing sets the default for HTTPS.
func (f *Flags) completeServing() error {
	s := &f.serving
	mayBePlain := f.listening.plain || f.MetricsAddress == "0" || loopback(f.MetricsAddress)
	switch {
	case !f.set.Changed(secureFlag):
		s.secure = !mayBePlain
	case !s.secure && !mayBePlain:
		return fmt.Errorf("--%s=false: metrics in plain HTTP need an address of the loopback interface, not %s: any client could read them", secureFlag, f.MetricsAddress)
	}
	_, err := s.tls()
	return err
}

// tls returns the settings of every port with TLS.
func (s *serving) tls() (func(*tls.Config), error) {
	var suites []string
	if s.suites != "" {
		suites = strings.Split(s.suites, ",")
	}
	return TLSOf(s.minVersion, suites)
}

// TLSOf returns the settings of the flags --tls-min-version and --tls-cipher-suites. An empty version is TLS
// 1.2; without suites Go's defaults apply. The error names the flag.
func TLSOf(version string, suites []string) (func(*tls.Config), error) {
	lowest, err := cliflag.TLSVersion(version)
	if err != nil {
		return nil, fmt.Errorf("--tls-min-version: %w", err)
	}
	var known []uint16
	if len(suites) > 0 {
		if known, err = cliflag.TLSCipherSuites(suites); err != nil {
			return nil, fmt.Errorf("--tls-cipher-suites: %w", err)
		}
	}
	return func(c *tls.Config) { c.MinVersion, c.CipherSuites = lowest, known }, nil
}

// TLS returns the settings of the flags for every port with TLS.
func (f *Flags) TLS() (func(*tls.Config), error) { return f.serving.tls() }

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// answer serves metrics and health.
func (p *Process) answer(ctx context.Context, g *errgroup.Group) error {
	web, err := rest.HTTPClientFor(p.Control)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	s := &p.Flags.serving
	settings, err := s.tls()
	if err != nil {
		return err
	}
	server, err := metricsserver.NewServer(metricsserver.Options{
		BindAddress: p.Flags.MetricsAddress, ExtraHandlers: p.handlers(), FilterProvider: s.filter,
		SecureServing: s.secure, CertDir: s.certDir, TLSOpts: []func(*tls.Config){settings},
	}, p.Control, web)
	if err != nil {
		return fmt.Errorf("serve metrics: %w", err)
	}
	if server != nil {
		g.Go(func() error { return server.Start(ctx) })
	}
	if p.Flags.HealthAddress != "" {
		g.Go(func() error { return p.health.serve(ctx, p.Flags.HealthAddress) })
	}
	return nil
}

// filter makes the metrics server answer with the queues of the originals too, and, over HTTPS, asks the
// control cluster whether a client may have anything but health.
func (s *serving) filter(c *rest.Config, web *http.Client) (metricsserver.Filter, error) {
	if !s.secure {
		return exposition, nil
	}
	only, err := OnlyReaders(c, web)
	if err != nil {
		return nil, err
	}
	return func(log logr.Logger, inner http.Handler) (http.Handler, error) {
		open, err := exposition(log, inner)
		if err != nil {
			return nil, err
		}
		asked, err := only(log, open)
		if err != nil {
			return nil, err
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isHealth(r.URL.Path) {
				open.ServeHTTP(w, r)
				return
			}
			asked.ServeHTTP(w, r)
		}), nil
	}, nil
}

// handlers are those in addition to /metrics: users of machine.sapcloud.io expect the health of the process
// on the same port. Handlers that show more than metrics, or change something, require authentication, or a
// flag.
func (p *Process) handlers() map[string]http.Handler {
	out := p.health.handlers()
	if p.Flags.Profiling || p.Flags.serving.secure {
		out["/debug/flags/v"] = http.HandlerFunc(setVerbosity)
	}
	if p.Flags.Profiling {
		out["/debug/pprof/"] = http.HandlerFunc(pprof.Index)
		out["/debug/pprof/profile"] = http.HandlerFunc(pprof.Profile)
		out["/debug/pprof/trace"] = http.HandlerFunc(pprof.Trace)
	}
	return out
}

// setVerbosity changes --v of the running process, like the components of Kubernetes: curl -X PUT -d 4
// https://.../debug/flags/v
func setVerbosity(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPut {
		w.Header().Set("Allow", http.MethodPut)
		http.Error(w, "want PUT with the verbosity as the body", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 16))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	said, err := logs.GlogSetter(strings.TrimSpace(string(body)))
	if err != nil {
		http.Error(w, fmt.Sprintf("the verbosity must be a whole number from 0, is %q", body), http.StatusBadRequest)
		return
	}
	_, _ = fmt.Fprintln(w, said)
}
