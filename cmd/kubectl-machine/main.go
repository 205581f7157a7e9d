// Command kubectl-machine is a plugin of kubectl: `kubectl machine why ...` says how machines are, and why, `kubectl
// machine top` and `kubectl machine ui` show that in a terminal and on a web page, `kubectl machine report` says what happened in the
// past day, `kubectl machine plan ...` says what a change would do, `kubectl machine
// rollout ...` steers rollouts, `kubectl machine stop` and `kubectl machine resume` stop all disruptions of machines and end that, and `kubectl machine preflight` looks at a cluster that another system keeps. It carries
// no controller.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/internal/plugin"
	"github.com/millwright-dev/millwright/internal/plugin/commands"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return plugin.Run(ctx, os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}, commands.More...)
}
