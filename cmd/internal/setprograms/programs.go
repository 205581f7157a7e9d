// Package setprograms returns the programs with the controllers of sets and deployments. Their webhooks have the
// rules of all infrastructures.
package setprograms

import (
	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/cmd/internal/admitters"
	"github.com/millwright-dev/millwright/internal/program"
)

// SetController returns the program machineset-controller as a command.
func SetController() *cobra.Command { return program.SetController(admitters.ByPlatform()).Command() }

// ControllerManager returns the program machine-controller-manager as a command.
func ControllerManager() *cobra.Command {
	return program.ControllerManager(admitters.ByPlatform()).Command()
}
