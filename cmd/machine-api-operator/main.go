// Command machine-api-operator runs the controllers of machine.openshift.io in a cluster, and
// tells how they are by ClusterOperator machine-api.
package main

import (
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/millwright-dev/millwright/internal/operator/start"
)

func main() {
	if err := start.Command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}
