package ui

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/plugin/connect"
	"github.com/millwright-dev/millwright/internal/plugin/live"
)

// command is `kubectl machine ui` on the command line.
type command struct {
	genericiooptions.IOStreams
	config *genericclioptions.ConfigFlags
	target string
	port   uint16
	open   bool
	// actions allows the page to change objects.
	actions bool
}

// Command is the command that serves a web page about the fleet; program is its name for users.
func Command(program string, streams genericiooptions.IOStreams) *cobra.Command {
	p := &command{IOStreams: streams, config: genericclioptions.NewConfigFlags(true)}
	c := &cobra.Command{
		Use:   "ui",
		Short: "Serve a web page of the fleet: what is wrong with it, and the life of each machine",
		Long: `ui serves a web page on this machine's loopback interface, with the rights of the
kubeconfig: the machines of both APIs at a glance, what is wrong with them now and
what to do next, and for each machine its life, its node and its pods. The page
follows the cluster by watches. It only reads, and plans changes as dry runs. With
--allow-actions it also offers actions: to delete machines and drain their nodes, to
scale, to steer rollouts, to approve, and to stop all disruption. Each action shows its
plan and its kubectl command and waits for your confirmation. The command prints a line
for each action.

The printed address has a code that lets your browser in; other users of this
machine cannot open the page without it. Without -n the page shows all namespaces.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return p.run(c.Context()) },
	}
	c.Example = `  # all namespaces
  ` + program + ` ui
  # one namespace, on a port of your choice, in the browser
  ` + program + ` ui -n shoot--blue --port 8600 --open
  # with buttons that delete, drain, scale, steer rollouts, approve and stop
  ` + program + ` ui --allow-actions`
	p.config.AddFlags(c.Flags())
	c.Flags().StringVar(&p.target, "target-kubeconfig", "", "file with the cluster that the machines join; empty: the same")
	c.Flags().Uint16Var(&p.port, "port", 0, "port of the page; 0 for a free one")
	c.Flags().BoolVar(&p.actions, "allow-actions", false, "offer actions that change objects, with your rights and after a confirmation")
	c.Flags().BoolVar(&p.open, "open", false, "open the page in the browser")
	return c
}

func (p *command) run(ctx context.Context) error {
	log.SetLogger(logr.Discard())
	o, err := p.options()
	if err != nil {
		return err
	}
	server, err := New(ctx, o)
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
		end, err := OpenBrowser(ctx, address)
		if err != nil {
			fmt.Fprintln(p.ErrOut, "the browser does not open:", err)
		}
		defer end()
	}
	return server.Serve(ctx, l)
}

func (p *command) options() (o Options, err error) {
	o = Options{Cluster: connect.ClusterName(p.config), Options: live.Options{Namespace: *p.config.Namespace, Clock: clock.RealClock{}}}
	if o.Control, o.Target, err = connect.Both(p.config, p.target); err != nil {
		return o, err
	}
	if o.Home, _, err = p.config.ToRawKubeConfigLoader().Namespace(); err != nil {
		return o, fmt.Errorf("read the namespace of the context: %w", err)
	}
	if p.actions {
		o.ActionLog = p.ErrOut
	}
	return o, nil
}
