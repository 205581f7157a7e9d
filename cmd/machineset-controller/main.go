// Command machineset-controller keeps the machine sets and machine deployments of
// machine.openshift.io, and serves its webhooks.
package main

import (
	"github.com/millwright-dev/millwright/cmd/internal/setprograms"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

func main() { run.Main(setprograms.SetController()) }
