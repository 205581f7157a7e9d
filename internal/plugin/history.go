package plugin

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// History returns the command that shows the history of a machine. program is the name of the program for users.
func History(program string, streams genericiooptions.IOStreams) *cobra.Command {
	w := newWhy(streams)
	c := &cobra.Command{
		Use:   "history machine/<name>",
		Short: "Show the history of a machine: requests for its instance, its node, its deletion and events",
		Long: `history shows the history of a machine of either API, the oldest entry first. It reads
objects in the cluster: requests for the instance and their results, the node, the steps
of the deletion, the conditions, and the events that the API server still stores. For a
machine that no longer exists, it shows who or what deleted it, and when: Millwright
records deletions for 24 hours. If the machine had failed, it also shows the evidence,
which Millwright keeps for a week. The command only reads.

The exit code is 1 if no machine or several machines have the name.`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: w.complete,
		RunE:              func(c *cobra.Command, args []string) error { return w.history(c.Context(), args) },
	}
	c.Example = `  # a machine in any namespace
  ` + program + ` history machine/mill-worker-a-x7k2p
  # for scripts
  ` + program + ` history machine/mill-worker-a-x7k2p -n shoot--blue -o json`
	w.config.AddFlags(c.Flags())
	w.print.AddFlags(c)
	c.Flags().StringVar(&w.target, "target-kubeconfig", "", "kubeconfig of the cluster that the machines join; empty for the same cluster")
	c.Flags().StringVar(&w.api, "api", "", strings.Join(apis.Words(), " or ")+"; empty for all")
	w.completeFlags(c)
	return c
}

func (w *why) history(ctx context.Context, args []string) error {
	p, err := w.print.Printer()
	if err != nil {
		return err
	}
	q, err := w.question(args)
	if err != nil {
		return err
	}
	if q.Kind != "Machine" {
		return fmt.Errorf("%q: only machines have a history: use machine/<name>", strings.Join(args, "/"))
	}
	clusters, home, err := w.clusters()
	if err != nil {
		return err
	}
	q.Home = home
	now := time.Now()
	h, answer, err := collect.History(ctx, now, clusters, q)
	switch {
	case err != nil:
		return err
	case h == nil:
		return tell(w.Out, answer, p, now)
	case p != nil:
		return p.PrintObj(Document(h.API, "MachineHistory", h), w.Out)
	}
	_, err = io.WriteString(w.Out, h.Text())
	return err
}
