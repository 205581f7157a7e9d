package plugin

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/plugin/ui"
)

// page is `kubectl machine ui` on the command line.
type page struct {
	genericiooptions.IOStreams
	config *genericclioptions.ConfigFlags
	target string
	port   uint16
	open   bool
}

// UI is the command that serves a web page about the fleet; program is its name for users.
func UI(program string, streams genericiooptions.IOStreams) *cobra.Command {
	p := &page{IOStreams: streams, config: genericclioptions.NewConfigFlags(true)}
	c := &cobra.Command{
		Use:   "ui",
		Short: "Serve a web page of the fleet: what is wrong with it, and the life of each machine",
		Long: `ui serves a web page on this machine's loopback interface, with the rights of the
kubeconfig: the machines of both APIs at a glance, what is wrong with them now and
what to do next, and for each machine its life, its node and its pods. The page
follows the cluster by watches. It only reads.

The printed address has a code that lets your browser in; other users of this
machine cannot open the page without it. Without -n the page shows all namespaces.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.run(c.Context()) },
	}
	c.Example = `  # all namespaces
  ` + program + ` ui
  # one namespace, on a port of your choice, in the browser
  ` + program + ` ui -n shoot--blue --port 8600 --open`
	p.config.AddFlags(c.Flags())
	c.Flags().StringVar(&p.target, "target-kubeconfig", "", "file with the cluster that the machines join; empty: the same")
	c.Flags().Uint16Var(&p.port, "port", 0, "port of the page; 0 for a free one")
	c.Flags().BoolVar(&p.open, "open", false, "open the page in the browser")
	return c
}

func (p *page) run(ctx context.Context) error {
	o, err := p.options()
	if err != nil {
		return err
	}
	server, err := ui.New(ctx, o)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(p.port))))
	if err != nil {
		return fmt.Errorf("--port: %w", err)
	}
	address := server.Address(l)
	fmt.Fprintf(p.Out, "The fleet of %s is at\n\n  %s\n\nCtrl-C ends the page.\n", o.Cluster, address)
	if p.open {
		end, err := ui.OpenBrowser(ctx, address)
		if err != nil {
			fmt.Fprintln(p.ErrOut, "the browser does not open:", err)
		}
		defer end()
	}
	return server.Serve(ctx, l)
}

func (p *page) options() (o ui.Options, err error) {
	w := why{config: p.config, target: p.target}
	if _, _, err = w.clusters(); err != nil {
		return o, err
	}
	o = ui.Options{Namespace: *p.config.Namespace, Cluster: w.cluster(), Clock: clock.RealClock{}}
	if o.Control, err = restConfig(p.config); err != nil {
		return o, err
	}
	if p.target == "" {
		return o, nil
	}
	target := genericclioptions.NewConfigFlags(false)
	target.KubeConfig = &p.target
	o.Target, err = restConfig(target)
	return o, err
}

func restConfig(flags genericclioptions.RESTClientGetter) (*rest.Config, error) {
	c, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	c.QPS, c.Burst = 50, 100
	return c, nil
}
