package cli

import (
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/internal/box"
	"github.com/millwright-dev/millwright/internal/fleet"
)

func kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "kubectl [arguments]",
		Short:              "Run the box's kubectl against the fleet that up started",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := fleet.Find(defaultDir())
			if err != nil {
				return err
			}
			path, err := f.Plane.Assets.Path(box.Kubectl)
			if err != nil {
				return err
			}
			env := append(os.Environ(), "KUBECONFIG="+f.Plane.KubeconfigPath)
			if err := syscall.Exec(path, append([]string{"kubectl"}, args...), env); err != nil {
				return fmt.Errorf("run %s: %w", path, err)
			}
			return nil
		},
	}
}
