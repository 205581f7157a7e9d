// Package kubemarkcontroller returns the program machine-controller-kubemark, the machine controller for hollow
// nodes. An instance is a real kubelet with a fake container runtime, a node that kwok simulates, or an entry in
// memory.
package kubemarkcontroller

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
	"github.com/millwright-dev/millwright/serve"
)

// Command returns the program as a command.
func Command() *cobra.Command {
	var c kubemark.Config
	var f faults
	var r record
	return serve.Command(serve.Plugin{
		Name:     "kubemark",
		AddFlags: func(fs *pflag.FlagSet) { c.AddFlags(fs); f.addFlags(fs); r.addFlags(fs) },
		Commands: []*cobra.Command{haltCommand()},
		New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			c.Target, c.Clock = e.Target, e.Clock
			p, err := kubemark.New(c)
			if err != nil {
				return nil, err
			}
			e.Background(p.Run)
			e.Background(p.ServeMetadata)
			recorded, err := r.wrap(p, e.Clock)
			if err != nil {
				return nil, err
			}
			return f.wrap(recorded, e.Clock), nil
		},
	})
}

// haltCommand returns the command that ends the processes of hollow instances.
func haltCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "halt",
		Short: "End the processes of all hollow instances, but keep the instances",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return kubemark.Halt(c.Context(), dir) },
	}
	c.Flags().StringVar(&dir, "kubemark-dir", "", "directory that stores the instances")
	_ = c.MarkFlagRequired("kubemark-dir")
	return c
}
