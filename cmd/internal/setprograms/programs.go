// Package setprograms has the programs of sets and deployments, whose webhooks have the rules of all infrastructures.
package setprograms

import (
	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/cmd/internal/admitters"
	"github.com/millwright-dev/millwright/internal/program"
)

// SetController is the program machineset-controller as a command.
func SetController() *cobra.Command { return program.SetController(admitters.ByPlatform()).Command() }

// ControllerManager is the program machine-controller-manager as a command.
func ControllerManager() *cobra.Command {
	return program.ControllerManager(admitters.ByPlatform()).Command()
}
