package run

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Main parses the command line, runs the program until it is asked to stop, and ends the process, with 1
// after a failure.
func Main(c *cobra.Command) {
	if err := c.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}
