// Command millwright is the command line: a fleet on this machine, and later a
// look into any fleet.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/millwright-dev/millwright/internal/cli"
)

func main() { os.Exit(cli.Run(ctrl.SetupSignalHandler(), os.Args[1:])) }
