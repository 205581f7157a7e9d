package period

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
)

// command has the flags of `kubectl machine report`.
type command struct {
	genericiooptions.IOStreams
	config        *genericclioptions.ConfigFlags
	print         plugin.Output
	target, api   string
	since         time.Duration
	all, markdown bool
}

// Command returns the command that summarizes a period. program is the name of the program for users.
func Command(program string, streams genericiooptions.IOStreams) *cobra.Command {
	r := &command{IOStreams: streams, config: genericclioptions.NewConfigFlags(true), print: plugin.NewOutput()}
	c := &cobra.Command{
		Use:   "report",
		Short: "Summarize the past day: which machines were created and deleted and why, what was prevented, what waits",
		Long: `report summarizes what happened to the machines of both APIs in a period that ends now:
the created machines by their owners, the deleted machines with the reason, what
controllers refrained from (remediations, deletions, creations, rollouts), and the
objects that may need you now, each with its next step.

It reads what the cluster still has: objects and their conditions, the evidence of
failed machines, which Millwright keeps for a week, and events, which the API server
keeps for a limited time (an hour by default). The report says from when on it has
events. The command only reads.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return r.run(c.Context()) },
	}
	c.Example = `  # the past day in the namespace of the context
  ` + program + ` report
  # the past week in all namespaces, as Markdown
  ` + program + ` report -A --since 168h --markdown
  # for scripts
  ` + program + ` report -n shoot--blue -o json`
	r.config.AddFlags(c.Flags())
	r.print.AddFlags(c)
	f := c.Flags()
	f.DurationVar(&r.since, "since", 24*time.Hour, "length of the period, such as 90m or 24h")
	f.BoolVar(&r.markdown, "markdown", false, "print Markdown")
	f.BoolVarP(&r.all, "all-namespaces", "A", false, "report about all namespaces")
	f.StringVar(&r.target, "target-kubeconfig", "", "kubeconfig of the cluster that the machines join; empty for the same cluster")
	f.StringVar(&r.api, "api", "", strings.Join(apis.Words(), " or ")+"; empty for all")
	c.MarkFlagsMutuallyExclusive("all-namespaces", "namespace")
	c.MarkFlagsMutuallyExclusive("markdown", "output")
	return c
}

func (r *command) run(ctx context.Context) error {
	log.SetLogger(logr.Discard())
	p, err := r.print.Printer()
	if err != nil {
		return err
	}
	if r.since <= 0 {
		return errors.New("--since: must be above zero")
	}
	q, err := r.question()
	if err != nil {
		return err
	}
	var clusters collect.Clusters
	if clusters.Control, clusters.Target, err = connect.Readers(r.config, r.target); err != nil {
		return err
	}
	d, err := Read(ctx, time.Now(), r.since, clusters, q)
	switch {
	case err != nil:
		return err
	case p != nil:
		return p.PrintObj(plugin.Document("", "Report", d), r.Out)
	case r.markdown:
		_, err = io.WriteString(r.Out, d.Markdown())
	default:
		_, err = io.WriteString(r.Out, d.Text())
	}
	return err
}

// question returns the API and the namespace. Without -n, the namespace is that of the context. With -A, it is empty,
// which means all namespaces.
func (r *command) question() (q collect.Question, err error) {
	if r.api != "" {
		known, err := apis.OfFlag(r.api)
		if err != nil {
			return q, err
		}
		q.API = known.Name
	}
	if r.all {
		return q, nil
	}
	if q.Namespace, _, err = r.config.ToRawKubeConfigLoader().Namespace(); err != nil {
		return q, fmt.Errorf("read the namespace of the context: %w", err)
	}
	return q, nil
}
