package plugin

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
	"github.com/millwright-dev/millwright/internal/plugin/terminal"
)

// why has the flags of the command why. Other commands embed it.
type why struct {
	genericiooptions.IOStreams
	config      *genericclioptions.ConfigFlags
	print       Output
	target, api string
	tree, all   bool
}

// Why returns the command that explains objects. program is the name of the program for users.
func Why(program string, streams genericiooptions.IOStreams) *cobra.Command {
	return newWhy(streams).command(program)
}

func newWhy(streams genericiooptions.IOStreams) *why {
	return &why{IOStreams: streams, config: genericclioptions.NewConfigFlags(true), print: NewOutput()}
}

func (w *why) command(program string) *cobra.Command {
	c := &cobra.Command{
		Use:   "why [<kind>/<name>]",
		Short: "Explain in one sentence the state of a machine, its owner or a namespace, with the cause and the next step",
		Long: `why explains a machine, a machine set, a machine deployment, a health check or a
machine class of either API, a node, a certificate request, or all of these in a
namespace. It reads objects in the cluster: status and conditions, nodes, pods,
disruption budgets, certificate requests, events, the leases of the controllers, and
the evidence of failed machines, which Millwright keeps for a week. The command only
reads. If you may not read some objects, the answer names them and uses the others.

Without an object, the command explains the namespace, the worst state first; with
-A it explains all namespaces. Without -n, it searches for an object in all
namespaces, or in the namespace of the context if you may not read all.

The exit code is 1 if no object or several objects have the name, or if nothing
could be read.`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: w.complete,
		RunE:              func(c *cobra.Command, args []string) error { return w.run(c.Context(), args) },
	}
	c.Example = `  # what is wrong in a namespace
  ` + program + ` why -n shoot--blue
  # what is wrong in all namespaces
  ` + program + ` why -A
  # a machine, wherever it is
  ` + program + ` why machine/mill-worker-a-x7k2p
  # a machine of one API in one namespace
  ` + program + ` why machines.machine.sapcloud.io/mill-4f7d -n shoot--blue
  # a deployment with its sets, its machines, and what is in the way of each
  ` + program + ` why machinedeployment/mill --tree
  # for scripts
  ` + program + ` why machinedeployment/mill -o json`
	w.config.AddFlags(c.Flags())
	w.print.AddFlags(c)
	c.Flags().StringVar(&w.target, "target-kubeconfig", "", "kubeconfig of the cluster that the machines join; empty for the same cluster")
	c.Flags().StringVar(&w.api, "api", "", strings.Join(apis.Words(), " or ")+"; empty for all")
	c.Flags().BoolVarP(&w.all, "all-namespaces", "A", false, "explain the objects in all namespaces, or search all namespaces for the given object")
	c.MarkFlagsMutuallyExclusive("all-namespaces", "namespace")
	c.Flags().BoolVar(&w.tree, "tree", false, "show the machines of a set or a deployment, and what blocks them")
	w.completeFlags(c)
	return c
}

// homeName stands for the namespace of the context. No object can have this name.
const homeName = "."

func (w *why) run(ctx context.Context, args []string) error {
	p, err := w.print.Printer()
	if err != nil {
		return err
	}
	q, err := w.question(args)
	if err != nil {
		return err
	}
	clusters, home, err := w.clusters()
	if err != nil {
		return err
	}
	if q.Home = home; q.Name == homeName {
		q.Name = home
	}
	if q.Everywhere {
		q.Name = connect.ClusterName(w.config)
	}
	now := time.Now()
	answer, err := collect.Ask(ctx, now, clusters, q)
	if err != nil {
		return err
	}
	return tell(w.Out, answer, p, now)
}

// question parses "machine/x", or "machine x" as kubectl does. Without arguments, the question is about the namespace
// of -n or of the context, or with -A about all namespaces.
func (w *why) question(args []string) (collect.Question, error) {
	everywhere := w.all && len(args) == 0
	if len(args) == 0 {
		args = []string{"namespace", cmp.Or(*w.config.Namespace, homeName)}
	}
	arg := strings.Join(args, "/")
	q, err := collect.Parse(arg)
	if err != nil {
		return q, err
	}
	q.Namespace, q.Tree, q.Everywhere = *w.config.Namespace, w.tree, everywhere
	if w.api == "" {
		return q, nil
	}
	known, err := apis.OfFlag(w.api)
	if err != nil {
		return q, err
	}
	if q.API != "" && q.API != known.Name {
		return q, fmt.Errorf("--api is %s, but %q belongs to another API", known.Name, arg)
	}
	q.API = known.Name
	return q, nil
}

// clusters returns readers of the clusters that kubectl's flags and --target-kubeconfig name. home is the namespace
// of the context.
func (w *why) clusters() (c collect.Clusters, home string, err error) {
	log.SetLogger(logr.Discard())
	if c.Control, c.Target, err = connect.Readers(w.config, w.target); err != nil {
		return c, "", err
	}
	if home, _, err = w.config.ToRawKubeConfigLoader().Namespace(); err != nil {
		return c, "", fmt.Errorf("read the namespace of the context: %w", err)
	}
	return c, home, nil
}

// tell prints a, with p if p is not nil. It returns ErrReported if no object or several objects have the name, or if
// no object could be read.
func tell(out io.Writer, a explain.Answer, p printers.ResourcePrinter, now time.Time) (err error) {
	if p != nil {
		err = p.PrintObj(Document(a.API, a.Kind, a), out)
	} else {
		_, err = io.WriteString(out, a.Text(now)+tree(out, a, now))
	}
	if err == nil && (a.State == explain.Ambiguous || a.State == explain.Unknown && (a.Reason == explain.ReasonNotFound || a.Reason == explain.ReasonNotReadable)) {
		return ErrReported
	}
	return err
}

// tree returns the tree of a, or "" if a has none. If out is a terminal, each line is narrower than the terminal.
func tree(out io.Writer, a explain.Answer, now time.Time) string {
	if a.Tree == nil {
		return ""
	}
	fit := func(line string) string { return line }
	if terminal.Is(out) {
		fit = func(line string) string { return terminal.Line(line, terminal.SizeOf(out).Width) }
	}
	return "\n" + a.Tree.Tree(now, fit)
}
