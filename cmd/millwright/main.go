// Command millwright is the command line: a fleet on this machine, and a look
// into any fleet. As kubectl-machine it is a plugin of kubectl.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/millwright-dev/millwright/internal/cli"
)

func main() { os.Exit(cli.Run(ctrl.SetupSignalHandler(), os.Args)) }
