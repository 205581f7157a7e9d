package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/inquiry"
	"github.com/millwright-dev/millwright/internal/run"
	"github.com/millwright-dev/millwright/internal/why"
)

type asking struct {
	kubeconfig, context, target string
	namespace, api, output      string
}

func whyCommand() *cobra.Command {
	a := &asking{}
	c := &cobra.Command{
		Use:   "why <kind>/<name>",
		Short: "Say in one sentence how a machine, set, deployment, health check or class is, what the cause is, and what to do next",
		Long: `why explains a machine, a machine set, a machine deployment, a health check or a
class of either API from what is stored in the cluster: what the object says about
itself, its node, pods and disruption budgets, certificate requests, events, the
leases of the controllers, and the evidence that is kept for a week of machines
that failed. It only reads; what may not be read is named in the answer and hides
nothing else.

  millwright why machine/mill-worker-a-x7k2p
  millwright why machines.machine.sapcloud.io/mill-4f7d -n shoot--blue
  millwright why machinedeployment/mill -o json
  millwright why mhc/workers

It exits with 1 if there is no such object, several have the name, or nothing
could be read.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error { return a.run(c.Context(), args) },
	}
	c.Flags().StringVar(&a.kubeconfig, "kubeconfig", "", "file with the cluster of the machines; empty as for kubectl")
	c.Flags().StringVar(&a.context, "context", "", "context of the kubeconfig; empty for the current one")
	c.Flags().StringVar(&a.target, "target-kubeconfig", "", "file with the cluster that the machines join; empty: the same")
	c.Flags().StringVarP(&a.namespace, "namespace", "n", "", "namespace; empty for all, or the context's where not all may be read")
	c.Flags().StringVar(&a.api, "api", "", "openshift or gardener; empty for both")
	c.Flags().StringVarP(&a.output, "output", "o", "", `"json" prints one document`)
	return c
}

func (a *asking) run(ctx context.Context, args []string) error {
	if a.output != "" && a.output != "json" {
		return fmt.Errorf("--output: must be json, not %q", a.output)
	}
	q, err := a.question(args)
	if err != nil {
		return err
	}
	clusters, home, err := a.clusters()
	if err != nil {
		return err
	}
	q.Home = home
	now := time.Now()
	answer, err := inquiry.Ask(ctx, now, clusters, q)
	if err != nil {
		return err
	}
	return tellWhy(os.Stdout, answer, a.output, now)
}

// question reads "machine/x", or "machine x" as kubectl does.
func (a *asking) question(args []string) (inquiry.Question, error) {
	arg := args[0]
	if len(args) == 2 {
		arg += "/" + args[1]
	}
	q, err := inquiry.Parse(arg)
	if err != nil {
		return q, err
	}
	q.Namespace = a.namespace
	if a.api == "" {
		return q, nil
	}
	full, ok := apiNames[a.api]
	if !ok {
		return q, fmt.Errorf("--api: unknown API %q: want openshift or gardener", a.api)
	}
	if q.API != "" && q.API != full {
		return q, fmt.Errorf("--api: %s, but %q is of another API", full, arg)
	}
	q.API = full
	return q, nil
}

// clusters connects as kubectl would; home is the namespace of the context.
func (a *asking) clusters() (c inquiry.Clusters, home string, err error) {
	ctrl.SetLogger(logr.Discard())
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	config := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.context})
	if c.Control, err = reader(config); err != nil {
		return c, "", fmt.Errorf("connect to the cluster: %w", err)
	}
	if home, _, err = config.Namespace(); err != nil {
		return c, "", fmt.Errorf("read the namespace of the context: %w", err)
	}
	c.Target = c.Control
	if a.target != "" {
		target := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			&clientcmd.ClientConfigLoadingRules{ExplicitPath: a.target}, &clientcmd.ConfigOverrides{})
		if c.Target, err = reader(target); err != nil {
			return c, "", fmt.Errorf("--target-kubeconfig: %w", err)
		}
	}
	return c, home, nil
}

func reader(config clientcmd.ClientConfig) (client.Reader, error) {
	c, err := config.ClientConfig()
	if err != nil {
		return nil, err
	}
	c.QPS, c.Burst = 50, 100
	return client.New(c, client.Options{Scheme: run.Scheme()})
}

// tellWhy prints the answer. Where there is nothing to explain, the command
// fails after having said so.
func tellWhy(w io.Writer, a why.Answer, output string, now time.Time) error {
	if output == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(a); err != nil {
			return err
		}
	} else if _, err := io.WriteString(w, a.Text(now)); err != nil {
		return err
	}
	if a.State == why.Ambiguous || a.State == why.Unknown && (a.Reason == why.ReasonNotFound || a.Reason == why.ReasonNotReadable) {
		return errReported
	}
	return nil
}
