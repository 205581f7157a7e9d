package program

import (
	"cmp"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/admission"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// certificateSecret keeps the certificate that the process makes where it is given none.
const certificateSecret = "millwright-webhook-cert"

// webhooks are those that a program serves.
type webhooks struct {
	enabled bool
	port    int
	certDir string
	// given are the facts of a cluster that does not say them itself.
	given struct{ platform, id, region string }
	// namespace is that of the certificate's secret.
	namespace string
	admitters admission.Admitters
	// flags are all of the program: some that others bind too are read here.
	flags *pflag.FlagSet
}

func (w *webhooks) addFlags(fs *pflag.FlagSet, serves bool) {
	w.flags = fs
	fs.BoolVar(&w.enabled, "webhook-enabled", serves, "serve the admission webhooks of machine.openshift.io, and those that return warnings in every API")
	fs.IntVar(&w.port, "webhook-port", 8443, "port of the webhooks")
	fs.StringVar(&w.certDir, "webhook-cert-dir", "/etc/machine-api-operator/tls",
		"folder with the webhooks' certificate (tls.crt, tls.key); if it has none, the process creates a certificate and makes API servers trust it")
	fs.StringVar(&w.namespace, "webhook-cert-namespace", "", "namespace of the Secret "+certificateSecret+", which stores a certificate that the process creates; empty is the namespace of the leases")
	fs.StringVar(&w.given.platform, "platform", "", "type of the infrastructure (AWS, Azure, GCP, VSphere, ...) for webhooks, if the cluster has no Infrastructure object")
	fs.StringVar(&w.given.id, "infrastructure-id", "", "infrastructure name of the cluster for webhooks, if the cluster has no Infrastructure object")
	fs.StringVar(&w.given.region, "platform-region", "", "region of the cluster for webhooks, if the cluster has no Infrastructure object")
}

func (w *webhooks) check() error {
	if !w.enabled {
		return nil
	}
	if w.port < 1 || w.port > 65535 {
		return fmt.Errorf("--webhook-port: must be from 1 to 65535, is %d", w.port)
	}
	_, err := w.gates()
	return err
}

// gates are the feature gates: the original's defaults, and what --feature-gates says.
func (w *webhooks) gates() (map[string]bool, error) {
	out := map[string]bool{"AzureWorkloadIdentity": true, "VSphereHostVMGroupZonal": true}
	text, _ := w.flags.GetString("feature-gates")
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		on, err := strconv.ParseBool(value)
		if err != nil {
			return nil, fmt.Errorf("--feature-gates: want Name=true or Name=false, got %q", pair)
		}
		out[name] = on
	}
	return out, nil
}

// serve serves them beside the controllers of p, whoever leads.
func (w *webhooks) serve(p *run.Process) error {
	if !w.enabled {
		return nil
	}
	settings, err := p.Flags.TLS()
	if err != nil {
		return err
	}
	gates, err := w.gates()
	if err != nil {
		return err
	}
	direct, err := client.New(p.Control, client.Options{Scheme: run.Scheme()})
	if err != nil {
		return fmt.Errorf("make the webhooks' client: %w", err)
	}
	objects, err := dynamic.NewForConfig(p.Control)
	if err != nil {
		return fmt.Errorf("make the webhooks' client: %w", err)
	}
	given := admission.Cluster{Type: w.given.platform}
	given.Platform.ID, given.Platform.Region, given.Platform.Architecture, given.Platform.Gates = w.given.id, w.given.region, runtime.GOARCH, gates
	server := admission.NewServer(admission.ServerOptions{
		Port: w.port, TLS: settings, CertDir: w.certDir,
		Secret: client.ObjectKey{Namespace: cmp.Or(w.namespace, p.Home()), Name: certificateSecret},
		Client: direct, Objects: objects, Admitters: w.admitters,
		Given: given,
		Clock: p.Clock, Log: p.Log.WithName("webhooks"),
	})
	p.Beside(server.Run)
	return nil
}
