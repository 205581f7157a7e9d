package top

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
	"github.com/millwright-dev/millwright/internal/plugin/live"
	"github.com/millwright-dev/millwright/internal/plugin/terminal"
)

// command has the flags of `kubectl machine top`.
type command struct {
	genericiooptions.IOStreams
	config *genericclioptions.ConfigFlags
	target string
}

// Command returns the command that shows the fleet in a terminal. program is the name of the program for users.
func Command(program string, streams genericiooptions.IOStreams) *cobra.Command {
	t := &command{IOStreams: streams, config: genericclioptions.NewConfigFlags(true)}
	c := &cobra.Command{
		Use:   "top [<filter>...]",
		Short: "Show the fleet in the terminal: a live table, and a page for each object",
		Long: `top shows the machines, sets, deployments and health checks of both APIs in a table that
follows the cluster by watches, the worst first. Enter shows why an object is as it is
and, for a machine, its life. The keys are those of k9s; ? lists them. It only reads.

The arguments are the filter at the beginning: words, or columns such as zone:b.`,
		RunE: func(c *cobra.Command, args []string) error { return t.run(c.Context(), args) },
	}
	c.Example = `  # all namespaces
  ` + program + ` top
  # the machines of a zone that failed, in one namespace
  ` + program + ` top -n shoot--blue zone:eu-1b state:failed`
	t.config.AddFlags(c.Flags())
	c.Flags().StringVar(&t.target, "target-kubeconfig", "", "file with the cluster that the machines join; empty: the same")
	return c
}

func (t *command) run(ctx context.Context, args []string) error {
	if !terminal.Is(t.Out) {
		return errors.New("top needs a terminal; `why -A` prints the same once")
	}
	log.SetLogger(logr.Discard())
	o, err := t.options()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	fleet, err := live.Follow(ctx, o)
	if err != nil {
		return err
	}
	m := newModel(connect.ClusterName(t.config), args, o.Clock, fleet.Clusters)
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(t.In), tea.WithOutput(t.Out))
	go feed(ctx, p, fleet, o.Clock)
	if _, err := p.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("show the fleet: %w", err)
	}
	return nil
}

func (t *command) options() (o live.Options, err error) {
	o = live.Options{Namespace: *t.config.Namespace, Clock: clock.RealClock{}}
	o.Control, o.Target, err = connect.Both(t.config, t.target)
	return o, err
}

// feed sends the changes of the fleet to p until ctx ends. After each second without a change, feed sends the time.
// If p is too slow, the fleet ends the subscription; feed then subscribes again and receives the whole fleet.
func feed(ctx context.Context, p *tea.Program, fleet *live.Fleet, clk clock.Clock) {
	changes, end := fleet.Subscribe()
	defer func() { end() }()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-clk.After(time.Second):
			p.Send(tickMsg(now))
		case c, ok := <-changes:
			if !ok {
				p.Send(lostMsg{})
				changes, end = fleet.Subscribe()
				continue
			}
			p.Send(changeMsg(c))
		}
	}
}

func newModel(cluster string, filter []string, clk clock.PassiveClock, clusters collect.Clusters) model {
	return model{
		cluster: cluster, now: clk.Now(), filter: strings.Join(filter, " "),
		describe: func(ctx context.Context, s explain.Subject) string { return describe(ctx, clk.Now(), clusters, s) },
	}
}

// describe returns the text about an object: its explanation, its tree and, for a machine, its history.
func describe(ctx context.Context, now time.Time, clusters collect.Clusters, s explain.Subject) string {
	d, err := collect.Details(ctx, now, clusters, collect.Question{API: s.API, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name})
	if err != nil {
		return err.Error()
	}
	text := d.Answer.Text(now)
	if d.Answer.Tree != nil {
		text += "\n" + d.Answer.Tree.Tree(now, func(line string) string { return line })
	}
	if d.History != nil {
		text += "\nLife\n\n" + d.History.Text()
	}
	return text
}
