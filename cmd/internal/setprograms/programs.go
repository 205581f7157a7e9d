// Package setprograms returns the programs with the controllers of sets, deployments and the control plane. Their webhooks have the
// rules of all infrastructures.
package setprograms

import (
	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/cmd/internal/admitters"
	"github.com/millwright-dev/millwright/internal/program"
	"github.com/millwright-dev/millwright/internal/program/controlplane"
)

// SetController returns the program machineset-controller as a command.
func SetController() *cobra.Command { return program.SetController(admitters.ByPlatform()).Command() }

// ControllerManager returns the program machine-controller-manager as a command.
func ControllerManager() *cobra.Command {
	return program.ControllerManager(admitters.ByPlatform()).Command()
}

// ControlPlane returns the program control-plane-machine-set-operator as a command.
func ControlPlane() *cobra.Command { return controlplane.Command(admitters.ByPlatform()) }
