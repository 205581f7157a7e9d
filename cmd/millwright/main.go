// Command millwright is the development tool: a fleet on this machine, and a look
// into any fleet.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/millwright-dev/millwright/internal/demo/cli"
)

func main() { os.Exit(cli.Run(ctrl.SetupSignalHandler(), os.Args)) }
