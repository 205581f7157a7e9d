package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

func kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [--dir folder] [arguments]",
		Short: "Run the built-in kubectl against the fleet that up started",
		Long: `kubectl runs the built-in kubectl of the control plane against the fleet, and never
against another cluster. It ignores an exported KUBECONFIG, and refuses flags of
kubectl that select a cluster. To select a fleet, put --dir before all other
arguments.`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			dir, args, err := fleetOf(args, defaultDir())
			if err != nil {
				return err
			}
			f, err := fleet.Find(dir)
			if err != nil {
				return err
			}
			if flag := otherCluster(args); flag != "" {
				return fmt.Errorf("%s chooses a cluster, but this kubectl works only for the fleet in %s: omit the flag, select a fleet with --dir before all other arguments, or use another kubectl", flag, dir)
			}
			path, err := f.Plane.Assets.Path(devplane.Kubectl)
			if err != nil {
				return err
			}
			if err := syscall.Exec(path, append([]string{"kubectl"}, args...), environ(os.Environ(), f.Plane.KubeconfigPath)); err != nil {
				return fmt.Errorf("run %s: %w", path, err)
			}
			return nil
		},
	}
}

// environ returns an environment in which kubectl finds only this cluster. It removes an earlier
// KUBECONFIG, because a program uses the first value of a variable.
func environ(all []string, kubeconfig string) []string {
	all = slices.DeleteFunc(slices.Clone(all), func(v string) bool { return strings.HasPrefix(v, "KUBECONFIG=") })
	return append(all, "KUBECONFIG="+kubeconfig)
}

// fleetOf removes --dir from the front of the arguments. Further back, it may be an argument of
// a program that kubectl runs.
func fleetOf(args []string, otherwise string) (dir string, rest []string, err error) {
	if len(args) == 0 {
		return otherwise, args, nil
	}
	word, value, joined := strings.Cut(args[0], "=")
	switch {
	case word != "--dir":
		return otherwise, args, nil
	case joined:
		dir, rest = value, args[1:]
	case len(args) > 1:
		dir, rest = args[1], args[2:]
	}
	if dir == "" {
		return "", nil, errors.New("--dir: the folder of the fleet is missing")
	}
	return dir, rest, nil
}

// clusterFlags are the flags of kubectl that select a cluster.
var clusterFlags = []string{"--kubeconfig", "--context", "--cluster", "--server"}

// switches are short flags of kubectl that have no value. Another flag may follow in the
// same word.
const switches = "ARhipqtwx"

// otherCluster returns the first flag in args that selects a cluster, or an empty string.
// Arguments after "--" do not belong to kubectl.
func otherCluster(args []string) string {
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return ""
		case slices.Contains(clusterFlags, name):
			return name
		case strings.HasPrefix(arg, "-") && strings.HasPrefix(strings.TrimLeft(arg[1:], switches), "s"):
			return "-s"
		}
	}
	return ""
}
