// Command machine-api-operator runs the controllers of machine.openshift.io in a cluster, and
// tells how they are by ClusterOperator machine-api.
package main

import (
	"github.com/millwright-dev/millwright/internal/operator/start"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

func main() { run.Main(start.Command()) }
