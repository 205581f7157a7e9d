// Package cli is the command millwright.
package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/plugin"
	"github.com/millwright-dev/millwright/internal/plugin/commands"
	"github.com/millwright-dev/millwright/internal/runtime/version"
)

// Run runs the command line, whose first word is the program, and returns the exit
// code.
func Run(ctx context.Context, line []string) int {
	log.SetLogger(logr.Discard()) // libraries have nothing to say that the commands do not say themselves
	c := Command()
	c.SetArgs(line[min(1, len(line)):])
	err := c.ExecuteContext(ctx)
	code, untold := plugin.ExitCode(err)
	if untold {
		fmt.Fprintln(os.Stderr, "millwright:", plugin.Message(err))
	}
	return code
}

// Command returns the program as a cobra command.
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:           "millwright",
		Short:         "Manage the machines of a Kubernetes cluster",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	c.AddCommand(upCommand(), downCommand(), kubectlCommand(), cloudCommand(), benchCommand(), newCommand())
	c.AddCommand(plugin.Commands(c.Use, streams, commands.More...)...)
	version.AddTo(c)
	return c
}

// where has the folders of the fleet and the programs on this computer.
type where struct{ dir, bin string }

func (w *where) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&w.dir, "dir", defaultDir(), "folder of the fleet; MILLWRIGHT_HOME sets the default")
	c.Flags().StringVar(&w.bin, "bin", defaultBin(), "folder of the controllers' programs")
	_ = c.Flags().MarkHidden("bin")
}

func defaultDir() string {
	if dir := os.Getenv("MILLWRIGHT_HOME"); dir != "" {
		return dir
	}
	return homeDir()
}

// homeDir is the default folder of the fleet.
func homeDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), fmt.Sprintf("millwright-%d", os.Getuid()))
	}
	return filepath.Join(home, ".millwright")
}

func defaultBin() string {
	self, err := os.Executable()
	if err != nil {
		return "."
	}
	return filepath.Dir(self)
}
