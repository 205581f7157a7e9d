// Command machineset-controller runs the controllers of machine sets and machine deployments of machine.openshift.io,
// and serves the webhooks of this API.
package main

import (
	"github.com/millwright-dev/millwright/cmd/internal/setprograms"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

func main() { run.Main(setprograms.SetController()) }
