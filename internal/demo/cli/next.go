package cli

import (
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// printNext prints the state of the fleet and commands to try.
func (u *up) printNext(w io.Writer, f *fleet.Fleet, machines []fleet.Machine, took time.Duration) {
	end := "Interrupt (Ctrl-C) stops the fleet."
	if u.once {
		end = "`" + u.down() + "` stops the fleet."
	}
	kubectl := "kubectl"
	fmt.Fprintf(w, "\n%d machines in two APIs run, each with a Ready node, after %s.\n\n", len(machines), took.Round(100*time.Millisecond))
	fmt.Fprintf(w, "  export KUBECONFIG=%s\n", f.Plane.KubeconfigPath)
	if _, err := exec.LookPath("kubectl"); err != nil {
		if own, err := f.Plane.Assets.Path(devplane.Kubectl); err == nil {
			fmt.Fprintf(w, "  alias kubectl=%s    # the kubectl of the control plane, because none is installed\n", own)
		}
	}
	first := map[string]string{} // the first machine of each namespace
	for _, m := range machines {
		if first[m.Namespace] == "" {
			first[m.Namespace] = m.Name
		}
	}
	fmt.Fprintf(w, `
Things to try:

  - Scale a set, and watch its machines and nodes:
%[2]s
      %[1]s get nodes --watch

  - Delete a machine: the controller drains its node, terminates its instance,
    and creates a replacement:
%[3]s
`, kubectl, command(kubectl, "-n", fleet.OpenShiftNamespace, "scale", "machinesets.machine.openshift.io/mill-worker-a", "--replicas=5"),
		command(kubectl, "-n", fleet.GardenerNamespace, "delete", "machines.machine.sapcloud.io/"+first[fleet.GardenerNamespace]))
	u.printTrouble(w, first[fleet.OpenShiftNamespace])
	fmt.Fprintf(w, `
  - Explain the state of an object:
      %s why machine/%s
`, self(), first[fleet.OpenShiftNamespace])
	if f.Cloud == nil {
		fmt.Fprintf(w, `
  - Replace three machines in a rolling update (the file explains the steps):
      %s apply -f examples/gardener-machinedeployment.yaml
`, kubectl)
	}
	fmt.Fprintf(w, "\nLogs and state are in %s. %s\n", u.folder(), end)
}

// printTrouble prints how to let an instance fail, and how its machine reacts.
func (u *up) printTrouble(w io.Writer, machine string) {
	switch {
	case u.cloud.Provider == fleet.Libvirt:
		fmt.Fprintf(w, `
  - List the virtual machines, and read a console. If you power one off, its
    machine fails:
      hack/libvirt status
      hack/libvirt virsh console %[1]s    # end it with Ctrl-]
      hack/libvirt virsh destroy %[1]s
`, machine)
	case u.cloud.Provider != fleet.Kubemark:
		fmt.Fprintf(w, `
  - List the resources of the cloud, and inject failures of its API:
      %[1]s cloud
      %[1]s cloud fault --kind Throttled --times 20
`, self())
	case u.backend == hollowBackend:
		fmt.Fprintf(w, `
  - Crash an instance: its node becomes NotReady after about 40 s, and its
    machine reports it:
      pkill -f -- --name=%s
      kubectl get nodes --watch
`, machine)
	}
}

// hintWidth is the maximum width of a hint. If a terminal breaks a line inside a word, the
// command cannot be copied.
const hintWidth = 80

// command returns a command for a hint, with line breaks between words that a shell accepts.
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
