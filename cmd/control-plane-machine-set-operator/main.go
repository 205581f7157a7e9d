// Command control-plane-machine-set-operator replaces machines of the control plane, for control plane machine sets of machine.openshift.io, and
// serves the webhook of this kind.
package main

import (
	"github.com/millwright-dev/millwright/cmd/internal/setprograms"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

func main() { run.Main(setprograms.ControlPlane()) }
