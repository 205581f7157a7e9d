// Command machine-api-operator deploys the controllers of machine.openshift.io in a cluster, and reports their status
// in the ClusterOperator machine-api.
package main

import (
	"github.com/millwright-dev/millwright/internal/operator/start"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

func main() { run.Main(start.Command()) }
