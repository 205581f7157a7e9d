// Package handler is the program termination-handler. It runs on every node whose instance the cloud may
// reclaim. It watches the cloud's metadata service and reports notices as conditions of the node.
package handler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/internal/runtime/termination"
	"github.com/millwright-dev/millwright/internal/runtime/termination/metadata"
)

// Command returns the program as a command.
func Command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:           "termination-handler",
		Short:         "Write the cloud's interruption notices to the node",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(o.log.Apply(), o.check()); err != nil {
				return err
			}
			return o.run(c.Context())
		},
	}
	o.addFlags(c.Flags())
	o.log = run.AddLogFlags(c.Flags())
	run.AddVersion(c)
	return c
}

// options are the flags.
type options struct {
	provider, node, namespace string
	interval                  int64
	kubeconfig, metadata      string
	health, metrics           string
	log                       *run.LogFlags
}

func (o *options) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.provider, "provider", "", "cloud whose metadata service is queried: "+strings.Join(o.clouds().Names(), ", ")+"; empty for the cloud in spec.providerID of the node")
	fs.StringVar(&o.node, "node-name", "", "name of the node on which the handler runs")
	fs.StringVar(&o.namespace, "namespace", "", "accepted, without effect: the node says all that is needed")
	fs.Int64Var(&o.interval, "poll-interval-seconds", 5, "seconds between two queries of the metadata service")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster; empty: $KUBECONFIG, or this pod's")
	fs.StringVar(&o.metadata, "metadata-url", metadata.LinkLocal, "address of the metadata service; change it only for tests")
	fs.StringVar(&o.health, "health-addr", "", "address of /healthz, /readyz and /metrics; empty for none")
	fs.StringVar(&o.metrics, "metrics-bind-address", "", "additional address of /healthz, /readyz and /metrics; empty or \"0\" for none")
}

func (o *options) check() error {
	_, known := o.clouds()[o.provider]
	switch {
	case o.node == "":
		return errors.New("--node-name: must be set")
	case o.interval < 1:
		return fmt.Errorf("--poll-interval-seconds: must be at least 1, is %d", o.interval)
	case o.provider != "" && !known:
		return fmt.Errorf("--provider: unknown cloud %q: want one of %s, or nothing to find out", o.provider, strings.Join(o.clouds().Names(), ", "))
	}
	return nil
}

func (o *options) clouds() termination.Clouds {
	http := metadata.NewHTTP()
	return termination.Clouds{
		"aws":   func() termination.Source { return metadata.NewAWS(http, o.metadata, clock.RealClock{}) },
		"azure": func() termination.Source { return metadata.NewAzure(http, o.metadata) },
		"gcp":   func() termination.Source { return metadata.NewGCP(http, o.metadata) },
	}
}

// run watches until ctx is done. Only an address that is in use, or invalid, ends it with an error.
func (o *options) run(ctx context.Context) error {
	config := o.awaitConfig(ctx)
	if config == nil {
		return nil
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	w := termination.New(termination.Options{
		Source: o.source(client.CoreV1().Nodes()), Nodes: client.CoreV1().Nodes(), Node: o.node,
		Clock: clock.RealClock{}, Interval: time.Duration(o.interval) * time.Second,
		Log: klog.Background().WithName("termination-handler"), Metrics: termination.NewMetrics(registry),
	})
	stop, err := o.serve(w, registry)
	if err != nil {
		return err
	}
	defer stop()
	w.Run(ctx)
	return nil
}

func (o *options) source(nodes termination.Nodes) termination.Source {
	clouds := o.clouds()
	if newSource, ok := clouds[o.provider]; ok {
		return newSource()
	}
	return &termination.ByNode{Clouds: clouds, Nodes: nodes, Node: o.node}
}

// requestTimeout limits a call to an API server: otherwise a connection that died with its network would
// block everything.
const requestTimeout = 10 * time.Second

// awaitConfig retries until the kubeconfig is valid: that of a kubelet which is about to join names
// certificates that do not exist yet. It returns nil when ctx is done.
func (o *options) awaitConfig(ctx context.Context) *rest.Config {
	for {
		config, err := o.config()
		if err == nil {
			return config
		}
		klog.ErrorS(err, "The kubeconfig cannot be used, trying again")
		select {
		case <-ctx.Done():
			return nil
		case <-clock.RealClock{}.After(time.Duration(o.interval) * time.Second):
		}
	}
}

func (o *options) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.Timeout = requestTimeout
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}
