// Package plugin implements the kubectl plugin. The development tool millwright has the same commands. The plugin
// reads clusters with the rights of the user. Each command of rollout writes at most one field of each selected
// deployment. The commands stop and resume create and delete a disruption budget. The page of the command ui writes
// only if the user allows actions.
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

// ErrReported ends a program with exit code 1. The program does not print ErrReported, because the command has
// already printed the problem.
var ErrReported = errors.New("reported")

// name is the name of the plugin for users.
const name = "kubectl machine"

// completer is the name of the program that kubectl calls for completions of the plugin. A link to the plugin with
// this name is sufficient.
const completer = "kubectl_complete-machine"

// Command returns a command of the plugin. program is the name of the program for users.
type Command func(program string, streams genericiooptions.IOStreams) *cobra.Command

// Run executes a command line and returns the exit code. line[0] is the program. more adds commands to those of this
// package.
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

// Commands returns the commands of this package, followed by more.
func Commands(program string, streams genericiooptions.IOStreams, more ...Command) (out []*cobra.Command) {
	for _, command := range append([]Command{Why, History, Plan, Rollout, Preflight}, more...) {
		out = append(out, command(program, streams))
	}
	return out
}

// arguments returns the arguments for cobra. line is the command line of the plugin or of its completer. For the
// completer, the first argument is cobra's request for completions.
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
