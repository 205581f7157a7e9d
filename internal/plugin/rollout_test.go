package plugin

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
	"github.com/millwright-dev/millwright/internal/plugin/steer"
	"github.com/millwright-dev/millwright/internal/plugin/terminal"
)

// stepClock is a clock that After advances. After then calls step with the number of calls so far.
type stepClock struct {
	now  time.Time
	step func(n int)
	n    int
}

func (c *stepClock) Now() time.Time { return c.now }
func (c *stepClock) After(d time.Duration) <-chan time.Time {
	c.now, c.n = c.now.Add(d), c.n+1
	if c.step != nil {
		c.step(c.n)
	}
	out := make(chan time.Time, 1)
	out <- c.now
	return out
}

// rolled runs a command of rollout with the client k, and returns its output.
func rolled(t *testing.T, k client.Client, clock *stepClock, args ...string) (out string, err error) {
	t.Helper()
	var text bytes.Buffer
	c := rolloutCommands("millwright", func() *steering {
		r := &steering{why: newWhy(genericiooptions.IOStreams{Out: &text, ErrOut: &text}), choice: newChoice(), clock: clock}
		r.connect = func() (client.Client, string, error) { return k, planSpace, nil }
		return r
	})
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	err = c.ExecuteContext(t.Context())
	return text.String(), err
}

func rollClient(api string) client.Client {
	return fake.NewClientBuilder().WithScheme(connect.Scheme()).WithObjects(planWorld(api)...).
		WithStatusSubresource(&v1beta1.MachineDeployment{}, &v1alpha1.MachineDeployment{}).Build()
}

// TestRolloutRefuses: for invalid input, the command returns an error and prints nothing.
func TestRolloutRefuses(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"undo", "no machine deployment: use for example machinedeployment/mill"},
		{"pause mill", `"mill": want <kind>/<name>`},
		{"pause ms/mill", `a machineset has no rollouts`},
		{"pause pod/mill", `unknown kind "pod"`},
		{"pause machinedeployments.apps/fleet", `unknown API "apps"`},
		{"pause md md/fleet", `do not repeat the kind after "md"`},
		{"pause md/flet", "machinedeployment/flet not found in namespace " + planSpace},
		{"undo md/fleet --to-revision=-1", "--to-revision must not be negative"},
		{"undo md/fleet --to-revision=x", "invalid argument"},
		{"undo md/fleet --dry-run=some", `--dry-run must be none, client or server, not "some"`},
		{"undo md/fleet", "fleet has no last revision to roll back to"},
		{"status md/fleet --timeout=-1s", "--timeout must not be negative"},
		{"status md/fleet --revision=-1", "--revision must not be negative"},
		{"history md/fleet --revision=2", "has no revision 2 in its history"},
		{"history md/fleet -o sheet", "sheet"},
		{"resume md/fleet", "fleet is not paused"},
		{"continue md/fleet", `unknown command "rollout continue"`},
		{"pause -l pool=a", "-l requires a kind without a name: machinedeployment -l pool=a"},
		{"pause md/fleet -l pool=a", "-l requires a kind without a name"},
		{"pause ms -l pool=a", "a machineset has no rollouts"},
		{"pause md -l pool=,", "--selector: "},
		{"pause md/fleet -f testdata/rollout", "omit their names"},
		{"pause -f testdata/none.yaml", `the path "testdata/none.yaml" does not exist`},
		{"pause -f testdata/rollout/others/class.yaml", "the manifests contain no machine deployment"},
		{"pause -f testdata/rollout/others/cluster-api.yaml", `unknown API "cluster.x-k8s.io"`},
		{"pause -n elsewhere -f testdata/rollout/pools.yaml", "the manifest has namespace blue, but -n is elsewhere"},
	} {
		t.Run(c.says, func(t *testing.T) {
			for _, api := range []string{"openshift", "gardener"} {
				out, err := rolled(t, rollClient(api), &stepClock{now: planNow}, strings.Fields(c.args)...)
				if err == nil || !strings.Contains(err.Error(), c.says) || out != "" {
					t.Errorf("%s on %s: output %q, error %v; want the error %q", c.args, api, out, err, c.says)
				}
			}
		})
	}
}

// TestRolloutPauses: pause reports the deployment that does not exist, and pauses the other deployment.
func TestRolloutPauses(t *testing.T) {
	k := rollClient("gardener")
	out, err := rolled(t, k, &stepClock{now: planNow}, "pause", "md/none", "md/fleet")
	if err == nil || out != "machinedeployment.machine.sapcloud.io/fleet paused\n" {
		t.Errorf("pause md/none md/fleet: output %q, error %v", out, err)
	}
	var d v1alpha1.MachineDeployment
	if err := k.Get(t.Context(), client.ObjectKey{Namespace: planSpace, Name: "fleet"}, &d); err != nil || !d.Spec.Paused {
		t.Errorf("spec.paused is %v, error %v; want true", d.Spec.Paused, err)
	}
}

// TestRolloutChooses: -l selects deployments in one namespace by their labels, -f selects the deployments in
// manifests.
func TestRolloutChooses(t *testing.T) {
	const no = "No resources found in " + planSpace + " namespace.\n"
	paused := func(names ...string) (out string) {
		for _, n := range names {
			out += "machinedeployment." + n + " paused\n"
		}
		return out
	}
	for _, c := range []struct {
		args, prints, fails, because string
	}{
		{"md -l pool=a", paused("machine.openshift.io/other", "machine.sapcloud.io/other"), "", "both APIs have a deployment with the label"},
		{"machinedeployments.machine.sapcloud.io -l pool=a", paused("machine.sapcloud.io/other"), "", "the kind names the API"},
		{"md -l pool=a --api openshift", paused("machine.openshift.io/other"), "", "the flag names the API"},
		{"md -l pool=z", no, "", "no object has the label: kubectl succeeds in this case"},
		{"md -l pool=a -n elsewhere", strings.Replace(no, planSpace, "elsewhere", 1), "", "the deployments are in another namespace"},
		{"-f testdata/rollout/pools.yaml", paused("machine.openshift.io/other", "machine.sapcloud.io/other"), "", "the command ignores other objects in the file"},
		{"-f testdata/rollout/pools.yaml -l pool=z", no, "", "the selector applies to the labels of the stored objects"},
		{"-R -f testdata/rollout", "", `unknown API "cluster.x-k8s.io"`, "the command reads folders"},
		{"-f testdata/rollout/gone.yaml", paused("machine.sapcloud.io/other"), "machinedeployment/gone not found", "the command reports the error and pauses the other deployments"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var objects []client.Object
			for _, api := range []string{"openshift", "gardener"} {
				for _, o := range planWorld(api) {
					if o.GetName() == "fleet" && strings.HasSuffix(titled(o), "/fleet") && strings.HasPrefix(titled(o), "machinedeployment.") {
						other := o.DeepCopyObject().(client.Object)
						other.SetName("other")
						other.SetLabels(map[string]string{"pool": "a"})
						objects = append(objects, o, other)
					}
				}
			}
			k := fake.NewClientBuilder().WithScheme(connect.Scheme()).WithObjects(objects...).Build()
			out, err := rolled(t, k, &stepClock{now: planNow}, append([]string{"pause"}, strings.Fields(c.args)...)...)
			if out != c.prints || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("pause %s (%s): output %q, error %v", c.args, c.because, out, err)
			}
		})
	}
}

// TestRolloutStatusWatches: status prints a line for each change of the progress, the message of the deployment if
// the progress stops, and the end.
func TestRolloutStatusWatches(t *testing.T) {
	k := rollClient("gardener")
	key := client.ObjectKey{Namespace: planSpace, Name: "fleet"}
	at := func(updated, old, available int32, message string) {
		var d v1alpha1.MachineDeployment
		if err := k.Get(context.Background(), key, &d); err != nil {
			t.Fatal(err)
		}
		d.Status = v1alpha1.MachineDeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: updated + old, UpdatedReplicas: updated, AvailableReplicas: available,
			Conditions: []v1alpha1.MachineDeploymentCondition{{Type: v1alpha1.MachineDeploymentProgressing, Status: "True", Reason: "MachineSetUpdated", Message: message}},
		}
		if err := k.Status().Update(context.Background(), &d); err != nil {
			t.Fatal(err)
		}
	}
	at(1, 2, 3, "1 of 3 machines updated; a drain waits")
	clock := &stepClock{now: planNow, step: func(n int) {
		switch n {
		case 60:
			at(3, 0, 2, "one is not ready")
		case 62:
			at(3, 0, 3, "")
		}
	}}
	const wait = `Waiting for machinedeployment "fleet" rollout to finish: `
	want := wait + "1 out of 3 new machines have been updated...\n  it says: 1 of 3 machines updated; a drain waits\n" +
		wait + "2 of 3 updated machines are available...\nmachinedeployment \"fleet\" successfully rolled out\n"
	if out, err := rolled(t, k, clock, "status", "md/fleet"); err != nil || out != want {
		t.Errorf("error %v, output\n%s\nwant\n%s", err, out, want)
	}

	at(1, 2, 3, "a drain waits")
	clock = &stepClock{now: planNow}
	if _, err := rolled(t, k, clock, "status", "md/fleet", "--timeout=5s"); err == nil || !strings.Contains(err.Error(), "timed out waiting for the condition; it says: a drain waits") {
		t.Errorf("after the timeout: error %v", err)
	}
	if out, err := rolled(t, k, clock, "status", "md/fleet", "--watch=false"); err != nil || strings.Count(out, "\n") != 1 {
		t.Errorf("with --watch=false: output %q, error %v; want one line", out, err)
	}
	clock = &stepClock{now: planNow, step: func(int) {
		if err := k.Delete(context.Background(), &v1alpha1.MachineDeployment{ObjectMeta: meta("fleet", nil)}); err != nil {
			t.Error(err)
		}
	}}
	if _, err := rolled(t, k, clock, "status", "md/fleet"); err == nil || !strings.HasSuffix(err.Error(), "fleet has been deleted") && !strings.HasSuffix(err.Error(), "fleet is being deleted") {
		t.Errorf("deleted during the watch: error %v", err)
	}
}

// TestRolloutHistoryFits: the table fits into a terminal with 80 columns. The command also prints the table if the
// output is not a terminal.
func TestRolloutHistoryFits(t *testing.T) {
	all := []steer.Revision{
		{Number: 9, Set: "mill-worker-europe-west1-b-4f7d2", Cause: "bigger machines, as was asked for in the ticket of last Tuesday"},
		{Number: 10, Set: "mill-worker-europe-west1-b-zz2x6", Machines: 12, Present: true},
	}
	const want = "REVISION  MACHINESET                        MACHINES  CHANGE-CAUSE\n" +
		"9         mill-worker-europe-west1-b-4f7d2  0         bigger machines, as was …\n" +
		"10 *      mill-worker-europe-west1-b-zz2x6  12        <none>"
	if got := strings.Join(historyTable(all, terminal.Size{Width: 80, Height: 24}), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if out, err := rolled(t, rollClient("openshift"), &stepClock{now: planNow}, "history", "md/fleet"); err != nil || !strings.Contains(out, "\n1 * ") {
		t.Errorf("without a terminal: output %q, error %v", out, err)
	}
}
