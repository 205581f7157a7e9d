package uiserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// command is the program on the command line.
type command struct {
	bind, certDir, minVersion string
	suites, hosts             []string
	kubeconfig, authority     string
	options                   Options
	nodes, actions            bool
	audit                     io.Writer
}

// Command returns the program as a command.
func Command() *cobra.Command {
	p := &command{options: Options{MaxSessions: 20, CheckInterval: 2 * time.Minute}}
	c := &cobra.Command{
		Use:           "machine-ui",
		Short:         "Serve the page of `kubectl machine ui` in a cluster, to each user with the user's own token",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	fs := c.Flags()
	logs := run.AddLogFlags(fs)
	p.addFlags(fs)
	run.AddVersion(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := logs.Apply(); err != nil {
			return err
		}
		ctrl.SetLogger(klog.Background())
		p.audit = c.OutOrStdout()
		return p.run(c.Context())
	}
	return c
}

func (p *command) addFlags(fs *pflag.FlagSet) {
	o := &p.options
	fs.StringVar(&p.bind, "bind-address", ":8443", "address of the page and of the probes, over HTTPS")
	fs.StringVar(&p.certDir, "tls-cert-dir", "/etc/millwright/tls", "folder with the certificate (tls.crt, tls.key), which is read again after changes")
	fs.StringVar(&p.minVersion, "tls-min-version", "", "lowest TLS version: VersionTLS12 or VersionTLS13")
	fs.StringSliceVar(&p.suites, "tls-cipher-suites", nil, "cipher suites, by their IANA names; those of TLS 1.3 cannot be chosen")
	fs.StringSliceVar(&p.hosts, "host-names", nil, "names under which browsers and proxies reach the page; the server refuses requests for all others")
	fs.StringVar(&p.kubeconfig, "kubeconfig", "", "kubeconfig with the address and the certificate authority of the API server; its credentials are not used. Empty: the API server of this pod's cluster")
	fs.StringVar(&p.authority, "certificate-authority", "/etc/millwright/api/ca.crt", "file with the certificate authority of the API server of this pod's cluster")
	fs.StringVar(&o.Cluster, "cluster-name", "", "name of the cluster for users")
	fs.StringVar(&o.Namespace, "namespace", "", "namespace that the page shows to users who have chosen none; empty: all")
	fs.BoolVar(&p.nodes, "nodes", true, "read nodes and pods in the same cluster; false: the machines join another cluster")
	fs.BoolVar(&p.actions, "allow-actions", false, "offer actions that change objects, with the rights of each user and after a confirmation. Each action is a line on stdout")
	fs.IntVar(&o.MaxSessions, "max-users", o.MaxSessions, "number of users who may use the page at a time; a user counts once for each namespace and each token")
	fs.DurationVar(&o.CheckInterval, "token-check-interval", o.CheckInterval, "time between two checks of a user's token and rights")
}

func (p *command) run(ctx context.Context) error {
	settings, err := p.tls(ctx)
	if err != nil {
		return err
	}
	if err := p.complete(); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.bind)
	if err != nil {
		return fmt.Errorf("--bind-address: %w", err)
	}
	return New(ctx, p.options).Serve(ctx, l, settings)
}

// tls has the certificate of the folder, and follows its changes until ctx ends.
func (p *command) tls(ctx context.Context) (*tls.Config, error) {
	limits, err := run.TLSOf(p.minVersion, p.suites)
	if err != nil {
		return nil, err
	}
	files, err := certwatcher.New(filepath.Join(p.certDir, "tls.crt"), filepath.Join(p.certDir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf("--tls-cert-dir: %w", err)
	}
	go func() {
		if err := files.Start(ctx); err != nil {
			ctrl.Log.Error(err, "the certificate is not read again after changes")
		}
	}()
	settings := &tls.Config{GetCertificate: files.GetCertificate} //nolint:gosec // limits sets the lowest version
	limits(settings)
	return settings, nil
}

// complete checks the flags, and finds the API server.
func (p *command) complete() (err error) {
	o := &p.options
	o.Clock = clock.RealClock{}
	for _, name := range p.hosts {
		if host := strings.ToLower(strings.TrimSpace(name)); host != "" {
			o.Site.Hosts = append(o.Site.Hosts, host)
		}
	}
	switch {
	case len(o.Site.Hosts) == 0:
		return errors.New("--host-names: must not be empty")
	case slices.ContainsFunc(o.Site.Hosts, func(name string) bool { return strings.ContainsAny(name, "*/: ") }):
		return fmt.Errorf("--host-names: %s: must be names without scheme, port and wildcard", strings.Join(o.Site.Hosts, ", "))
	case o.MaxSessions < 1:
		return errors.New("--max-users: must be at least 1")
	case o.CheckInterval < time.Second:
		return errors.New("--token-check-interval: must be at least 1s")
	}
	o.NoNodes = !p.nodes
	o.Home = o.Namespace
	if p.actions {
		o.ActionLog = p.audit
	}
	if p.kubeconfig == "" {
		o.Control, err = inCluster(p.authority)
		return err
	}
	c, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	o.Control = rest.AnonymousClientConfig(c)
	return nil
}

// inCluster is a connection without credentials to the API server of this pod's cluster. The pod has no token.
func inCluster(authority string) (*rest.Config, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("--kubeconfig: must not be empty outside of a cluster")
	}
	if _, err := os.Stat(authority); err != nil {
		return nil, fmt.Errorf("--certificate-authority: %w", err)
	}
	return &rest.Config{Host: "https://" + net.JoinHostPort(host, port), TLSClientConfig: rest.TLSClientConfig{CAFile: authority}}, nil
}
