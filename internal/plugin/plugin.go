// Package plugin is the kubectl plugin. The development tool millwright has the same commands. The plugin reads
// clusters with the rights of the user. The commands of rollout write one field of one deployment each. The commands stop and
// resume create and delete a disruption budget. The page of ui writes if the user allows actions.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/internal/runtime/version"
)

// ErrReported ends a program with an exit code. Its message has already been printed.
var ErrReported = errors.New("reported")

// name is the plugin's name for users.
const name = "kubectl machine"

// completer is the name of the program that kubectl calls for completions of the plugin. A link with this name to
// the plugin is enough.
const completer = "kubectl_complete-machine"

// Command is a command of the plugin; program is its name for users.
type Command func(program string, streams genericiooptions.IOStreams) *cobra.Command

// Run runs the command line, whose first word is the program, and returns the exit code. The plugin has the given
// commands besides its own.
func Run(ctx context.Context, line []string, streams genericiooptions.IOStreams, more ...Command) int {
	c := &cobra.Command{
		Use:           "kubectl-machine",
		Short:         "Explain and manage the machines of a cluster, of both machine APIs",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: name},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.AddCommand(Commands(name, streams, more...)...)
	version.AddTo(c)
	c.SetIn(streams.In)
	c.SetOut(streams.Out)
	c.SetErr(streams.ErrOut)
	c.SetArgs(arguments(line))
	err := c.ExecuteContext(ctx)
	code, untold := ExitCode(err)
	if untold {
		_, _ = fmt.Fprintln(streams.ErrOut, "error:", Message(err))
	}
	return code
}

// Commands are the commands of the plugin, and more.
func Commands(program string, streams genericiooptions.IOStreams, more ...Command) (out []*cobra.Command) {
	for _, command := range append([]Command{Why, History, Plan, Rollout, Preflight}, more...) {
		out = append(out, command(program, streams))
	}
	return out
}

// arguments returns the arguments of a command line. kubectl calls the plugin or its completer with that line.
func arguments(line []string) []string {
	args := []string{}
	if len(line) == 0 {
		return args
	}
	if filepath.Base(line[0]) == completer {
		args = append(args, cobra.ShellCompRequestCmd)
	}
	return append(args, line[1:]...)
}
