// Command millwright is the development tool. It runs a fleet on the local computer, and has the commands of the
// kubectl plugin for any fleet.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/millwright-dev/millwright/cmd/internal/admitters"
	"github.com/millwright-dev/millwright/internal/demo/cli"
	"github.com/millwright-dev/millwright/internal/plugin/speccheck"
)

func main() {
	os.Exit(cli.Run(speccheck.WithAdmitters(ctrl.SetupSignalHandler(), admitters.ByPlatform()), os.Args))
}
