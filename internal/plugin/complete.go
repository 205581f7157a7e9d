package plugin

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// completionTime limits the time that a shell waits for names, because a cluster may not answer.
const completionTime = 3 * time.Second

// complete offers kinds, and the names of existing objects of a kind: "machine/mill-a", or "mill-a" after the
// argument "machine".
func (w *why) complete(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	kind, _, slash := strings.Cut(begun, "/")
	before := kind + "/"
	switch {
	case len(args) > 1:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case len(args) == 1:
		kind, before = args[0], ""
	case !slash:
		return begins(begun, collect.Kinds("/")), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	names := w.offer(c, func(ctx context.Context, l collect.Clusters) []string {
		q, err := w.question([]string{kind, "any"})
		if err != nil {
			return nil
		}
		return collect.Names(ctx, l, q)
	})
	for i := range names {
		names[i] = before + names[i]
	}
	return begins(begun, names), cobra.ShellCompDirectiveNoFileComp
}

// completeFlags registers the completions for the values of flags.
func (w *why) completeFlags(c *cobra.Command) {
	values := map[string]func() []string{
		"namespace": func() []string {
			return w.offer(c, func(ctx context.Context, l collect.Clusters) []string { return collect.Namespaces(ctx, l.Control) })
		},
		"context": w.contexts,
		"api":     func() []string { return slices.Sorted(slices.Values(append(apis.Words(), apis.Names()...))) },
		"output":  w.print.Formats,
	}
	for flag, offer := range values {
		if c.Flags().Lookup(flag) == nil {
			continue // some commands do not have this flag, such as -o
		}
		complete := func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return begins(begun, offer()), cobra.ShellCompDirectiveNoFileComp
		}
		if err := c.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // the flag already has a completion, which each test of the command detects
		}
	}
}

// offer returns the names that ask reads from the clusters within completionTime. It returns nil if the kubeconfig is
// invalid.
func (w *why) offer(c *cobra.Command, ask func(context.Context, collect.Clusters) []string) []string {
	clusters, _, err := w.clusters()
	if err != nil {
		return nil
	}
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, stop := context.WithTimeout(ctx, completionTime)
	defer stop()
	return ask(ctx, clusters)
}

func (w *why) contexts() []string {
	config, err := w.config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil
	}
	return sets.List(sets.KeySet(config.Contexts))
}

// begins returns the names with the prefix like.
func begins(like string, names []string) (out []string) {
	for _, n := range names {
		if strings.HasPrefix(n, like) {
			out = append(out, n)
		}
	}
	return out
}
