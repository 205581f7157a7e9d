// Command machine-controller-manager runs the controllers that need no
// infrastructure: the machine sets and machine deployments of both APIs, and
// health checks.
package main

import (
	"github.com/millwright-dev/millwright/cmd/internal/setprograms"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

func main() { run.Main(setprograms.ControllerManager()) }
