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
		Long: `kubectl runs the kubectl that came with the control plane against the fleet, and
never against another cluster: an exported KUBECONFIG is not heeded, and flags
of kubectl that choose a cluster are refused. --dir chooses the fleet, and goes
before all else.`,
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
				return fmt.Errorf("%s chooses a cluster, and this kubectl is for the fleet in %s only: leave it out, say which fleet with --dir before all other arguments, or use another kubectl", flag, dir)
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

// environ is an environment in which kubectl finds one cluster. Of two values of
// one variable a program takes the first.
func environ(all []string, kubeconfig string) []string {
	all = slices.DeleteFunc(slices.Clone(all), func(v string) bool { return strings.HasPrefix(v, "KUBECONFIG=") })
	return append(all, "KUBECONFIG="+kubeconfig)
}

// fleetOf takes --dir off the front of kubectl's arguments. Behind, it may be an
// argument of a program that kubectl is to run.
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
		return "", nil, errors.New("--dir: want the folder that holds the fleet")
	}
	return dir, rest, nil
}

// clusterFlags are flags of kubectl that choose where it goes.
var clusterFlags = []string{"--kubeconfig", "--context", "--cluster", "--server"}

// switches are short flags of kubectl that have no value, so that another may
// follow in the same word.
const switches = "ARhipqtwx"

// otherCluster is the first flag in args that chooses a cluster; empty when none
// does. What follows "--" is not kubectl's.
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
