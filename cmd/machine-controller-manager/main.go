// Command machine-controller-manager runs the controllers that do not call the infrastructure: those of machine sets,
// machine deployments and health checks.
package main

import (
	"github.com/millwright-dev/millwright/cmd/internal/setprograms"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

func main() { run.Main(setprograms.ControllerManager()) }
