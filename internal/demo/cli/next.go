package cli

import (
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// printNext says what is there now and what to try with it.
func (u *up) printNext(w io.Writer, f *fleet.Fleet, machines []fleet.Machine, took time.Duration) {
	end := "Interrupt (Ctrl-C) takes everything down."
	if u.once {
		end = "`" + u.down() + "` takes everything down."
	}
	kubectl := "kubectl"
	fmt.Fprintf(w, "\n%d machines in two APIs run, each with a Ready node, after %s.\n\n", len(machines), took.Round(100*time.Millisecond))
	fmt.Fprintf(w, "  export KUBECONFIG=%s\n", f.Plane.KubeconfigPath)
	if _, err := exec.LookPath("kubectl"); err != nil {
		if own, err := f.Plane.Assets.Path(devplane.Kubectl); err == nil {
			fmt.Fprintf(w, "  alias kubectl=%s    # none is installed here; this one came with the control plane\n", own)
		}
	}
	first := map[string]string{} // of the sample objects of each namespace
	for _, m := range machines {
		if first[m.Namespace] == "" {
			first[m.Namespace] = m.Name
		}
	}
	fmt.Fprintf(w, `
Things to try:

  - Scale a set, and see machines and nodes come and go:
      %[1]s -n %[2]s scale machinesets.machine.openshift.io/mill-worker-a --replicas=5
      %[1]s get nodes --watch

  - Delete a machine: its node is drained, its instance removed, and another takes its place:
      %[1]s -n %[3]s delete machines.machine.sapcloud.io/%[4]s
`, kubectl, fleet.OpenShiftNamespace, fleet.GardenerNamespace, first[fleet.GardenerNamespace])
	if u.backend == hollowBackend {
		fmt.Fprintf(w, `
  - Crash an instance: its node becomes NotReady after about 40 s, and its machine says so:
      pkill -f -- --name=%[1]s
      %[2]s get nodes --watch
`, first[fleet.OpenShiftNamespace], kubectl)
	}
	fmt.Fprintf(w, `
  - Ask why something is as it is:
      %[1]s why machine/%[2]s

  - Roll three machines to another kind, as the example says step by step:
      %[3]s apply -f examples/gardener-machinedeployment.yaml

Logs and state are in %[4]s. %[5]s
`, self(), first[fleet.OpenShiftNamespace], kubectl, u.folder(), end)
}
