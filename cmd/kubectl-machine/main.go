// Command kubectl-machine is the plugin for kubectl. It has no controller. Its commands are:
//   - why explains the state of machines, and history shows the history of a machine.
//   - top and ui show the fleet in a terminal and on a web page.
//   - report summarizes the past day.
//   - plan predicts the effects of a change.
//   - rollout controls rollouts of machine deployments.
//   - stop and resume stop all voluntary disruptions of machines, and allow them again.
//   - preflight checks a cluster before Millwright replaces machine-api-operator or machine-controller-manager.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/cmd/internal/admitters"
	"github.com/millwright-dev/millwright/internal/plugin"
	"github.com/millwright-dev/millwright/internal/plugin/commands"
	"github.com/millwright-dev/millwright/internal/plugin/speccheck"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx = speccheck.WithAdmitters(ctx, admitters.ByPlatform())
	return plugin.Run(ctx, os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}, commands.More...)
}
