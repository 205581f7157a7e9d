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
%[2]s
      %[1]s get nodes --watch

  - Delete a machine: its node is drained, its instance removed, and another
    takes its place:
%[3]s
`, kubectl, command(kubectl, "-n", fleet.OpenShiftNamespace, "scale", "machinesets.machine.openshift.io/mill-worker-a", "--replicas=5"),
		command(kubectl, "-n", fleet.GardenerNamespace, "delete", "machines.machine.sapcloud.io/"+first[fleet.GardenerNamespace]))
	u.printTrouble(w, first[fleet.OpenShiftNamespace])
	fmt.Fprintf(w, `
  - Ask why something is as it is:
      %s why machine/%s
`, self(), first[fleet.OpenShiftNamespace])
	if f.Cloud == nil {
		fmt.Fprintf(w, `
  - Roll three machines to another kind, as the example says step by step:
      %s apply -f examples/gardener-machinedeployment.yaml
`, kubectl)
	}
	fmt.Fprintf(w, "\nLogs and state are in %s. %s\n", u.folder(), end)
}

// printTrouble says how an instance fails, and what the machine makes of it.
func (u *up) printTrouble(w io.Writer, machine string) {
	switch {
	case u.cloud.Provider == fleet.Libvirt:
		fmt.Fprintf(w, `
  - See the virtual machines, and what they say; switch one off, and its
    machine fails:
      hack/libvirt status
      hack/libvirt virsh console %[1]s    # Ctrl-] ends it
      hack/libvirt virsh destroy %[1]s
`, machine)
	case u.cloud.Provider != fleet.Kubemark:
		fmt.Fprintf(w, `
  - See what the cloud has and what can happen to it, and let its API fail:
      %[1]s cloud
      %[1]s cloud fault --kind Throttled --times 20
`, self())
	case u.backend == hollowBackend:
		fmt.Fprintf(w, `
  - Crash an instance: its node becomes NotReady after about 40 s, and its
    machine says so:
      pkill -f -- --name=%s
      kubectl get nodes --watch
`, machine)
	}
}

// hintWidth is how wide a hint may be: a terminal that breaks a line inside of a word makes a
// command that cannot be copied.
const hintWidth = 80

// command is a command as a hint shows it, broken between words as a shell takes it.
func command(words ...string) string {
	const indent, more = "      ", "        "
	out, line := "", indent+words[0]
	for _, w := range words[1:] {
		if len(line)+len(w)+len(` \`)+1 > hintWidth {
			out, line = out+line+" \\\n", more+w
			continue
		}
		line += " " + w
	}
	return out + line
}
