package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

func downCommand() *cobra.Command {
	w := &where{}
	c := &cobra.Command{
		Use:   "down",
		Short: "Stop the fleet that up started, and remove its files",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !fleet.Left(w.dir) {
				fmt.Fprintf(os.Stderr, "No fleet in %s.\n", w.dir)
				return nil
			}
			return takeDown(c.Context(), *w, os.Stderr)
		},
	}
	w.addFlags(c)
	return c
}

// takeDown stops the fleet, even if an interrupt has ended ctx.
func takeDown(ctx context.Context, w where, out io.Writer) error {
	fmt.Fprintln(out, "\nStopping the fleet ...")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := fleet.Down(ctx, w.dir, w.bin); err != nil {
		return fmt.Errorf("stop the fleet: %w", err)
	}
	fmt.Fprintln(out, "Done: all processes have ended, and all files are removed.")
	return nil
}
