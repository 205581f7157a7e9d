package ui_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/examples"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/dialect/departures"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/live"
	"github.com/millwright-dev/millwright/internal/plugin/period"
	"github.com/millwright-dev/millwright/internal/plugin/ui"
)

// startFleet starts the controllers of both APIs with simulated nodes, and waits until the samples run.
func startFleet(t *testing.T) *fleet.Fleet {
	t.Helper()
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "fleet")
	f, err := fleet.Start(t.Context(), fleet.Options{
		Dir: dir, Bin: bin, Backend: "kwok", Cloud: fleet.CloudOptions{Provider: fleet.Kubemark}, Metrics: true,
		Args: map[string][]string{
			fleet.Sets:                    {"--leader-elect=true", "--namespace="},
			"machine-controller-kubemark": {"--leader-elect=true", "--namespace="},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, end := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer end()
		if err := fleet.Down(ctx, dir, bin); err != nil {
			t.Error(err)
		}
	})
	if err := f.ApplySamples(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool {
		machines, err := f.Census(t.Context())
		ready := 0
		for _, m := range machines {
			if m.Ready() {
				ready++
			}
		}
		return err == nil && ready == 6
	})
	return f
}

func await(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within two minutes")
		}
	}
}

// patch changes one object of the fleet.
func patch(t *testing.T, f *fleet.Fleet, o client.Object, change string) {
	t.Helper()
	if err := f.Client.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(change))); err != nil {
		t.Fatal(err)
	}
}

// TestLivingFleet: the page follows real controllers: a scale-up, a template that cannot be used, a deletion that a hook
// holds. It logs how long the fleet takes to be on the screen.
func TestLivingFleet(t *testing.T) {
	f := startFleet(t)
	config, err := f.Plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	address := serveFrom(t, ui.Options{Cluster: "millwright", Options: live.Options{Control: config, Clock: clock.RealClock{}}})
	b := openBrowser(t)
	do(b, chromedp.Navigate(address))
	b.awaits("Wrong now", "mill-worker-a", "mill-pool")
	b.until(`document.querySelectorAll("[role=row]").length == 7`)
	t.Logf("six machines on the screen %s after the server was started, the browser's start included", time.Since(begin).Round(10*time.Millisecond))

	workers := &machinev1.MachineSet{}
	workers.Namespace, workers.Name = fleet.OpenShiftNamespace, "mill-worker-a"
	patch(t, f, workers, `{"spec":{"replicas":14}}`)
	b.until(`document.querySelectorAll("[role=row]").length > 12`)
	for _, name := range []string{"openshift-machinedeployment.yaml", "gardener-machinedeployment.yaml", "openshift-machinehealthcheck.yaml"} {
		manifest, err := examples.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Create(t.Context(), manifest); err != nil {
			t.Fatal(err)
		}
	}
	patch(t, f, workers, `{"spec":{"template":{"spec":{"lifecycleHooks":{"preDrain":[{"name":"backup","owner":"storage-operator"}]},"providerSpec":{"value":{"numCors":4}}}}}}`)
	patch(t, f, workers, `{"spec":{"replicas":16}}`)
	b.awaits("numCors")
	held := oneOf(t, f)
	patch(t, f, held, `{"spec":{"lifecycleHooks":{"preDrain":[{"name":"backup","owner":"storage-operator"}]}}}`)
	if err := f.Client.Delete(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	b.awaits("storage-operator")
	b.width(1280)
	b.picture("ui-fleet")
	b.visit("#/object/machine.openshift.io/Machine/" + held.Namespace + "/" + held.Name)
	b.awaits("Life", "storage-operator", "Node "+held.Status.NodeRef.Name)
	b.picture("ui-machine")
	rollOut(t, f, b)
	summarize(t, f)
	remembers(t, f, b)
	stopDisruption(t, f, b)
	b.scheme("dark")
	b.visit("#/?by=zone")
	b.awaits("Wrong now")
	b.picture("ui-dark")
	b.scheme("light")
	b.width(390)
	b.picture("ui-phone")
	b.calm()
	if os.Getenv("PICTURES") != "" {
		t.Log("pictures are in", os.Getenv("PICTURES"))
	}
}

// rollOut changes the template of the sample deployment, and follows the rollout on its page to the end.
func rollOut(t *testing.T, f *fleet.Fleet, b *browser) {
	t.Helper()
	d := &v1beta1.MachineDeployment{}
	d.Namespace, d.Name = fleet.OpenShiftNamespace, "mill"
	b.visit("#/object/machine.openshift.io/MachineDeployment/" + d.Namespace + "/" + d.Name)
	b.awaits("successfully rolled out", "at most 4 machines")
	patch(t, f, d, `{"metadata":{"annotations":{"kubernetes.io/change-cause":"larger machines"}},"spec":{"template":{"spec":{"providerSpec":{"value":{"numCores":8,"createLatency":"4s"}}}}}}`)
	b.until(`["new", "old", "new-waits"].every(c => document.querySelector(".chart > svg > rect." + c))`)
	b.until(`document.querySelector(".chart > svg").getAttribute("aria-label").includes("2 new, available")`)
	evaluate[any](b, `document.querySelector("[aria-label=rollout]").scrollIntoView(), scrollBy(0, -70)`)
	b.picture("ui-rollout")
	b.awaits("successfully rolled out", "larger machines", "--to-revision=1")
	b.picture("ui-rolled")
}

// summarize checks the report about the fleet: the rollout has replaced three machines, and one is held by its hook.
func summarize(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	d, err := period.Read(t.Context(), time.Now(), time.Hour, collect.Clusters{Control: f.Client, Target: f.Client}, collect.Question{})
	if err != nil {
		t.Fatal(err)
	}
	created, replaced := map[string]int{}, 0
	for _, c := range d.Created {
		created[c.Owner] += len(c.Machines)
	}
	for _, x := range d.Deleted {
		if strings.HasPrefix(x.Name, "mill-") && !x.Exists && x.API == machinev1.GroupName {
			replaced++
		}
	}
	if len(d.Created) < 4 || replaced < 3 || len(d.Scaled) < 3 || !strings.Contains(d.Text(), "storage-operator") {
		t.Errorf("created %v, %d replaced\n%s", created, replaced, d.Text())
	}
}

// remembers checks that the machine controller has recorded the machines that the rollout replaced, with the cause, and that the
// page finds them.
func remembers(t *testing.T, f *fleet.Fleet, b *browser) {
	t.Helper()
	await(t, func() bool {
		record, replaced := departures.Stored(fleet.OpenShiftNamespace), 0
		if err := f.Client.Get(t.Context(), client.ObjectKeyFromObject(record), record); err != nil {
			return false
		}
		for _, d := range departures.FromStored(record) {
			if d.Cause == "Rollout" && !d.Created.IsZero() && !d.Joined.IsZero() && !d.Requested.IsZero() && !d.Deleted.IsZero() && d.Node != "" {
				replaced++
			}
		}
		return replaced >= 3
	})
	b.visit("#/?q=replaced")
	b.awaits("Deleted in the last 24 hours", "a rollout replaced the machines of MachineSet mill-")
	b.picture("ui-deleted")
}

// oneOf is a Running machine of the sample set.
func oneOf(t *testing.T, f *fleet.Fleet) *machinev1.Machine {
	t.Helper()
	var all machinev1.MachineList
	if err := f.Client.List(t.Context(), &all, client.InNamespace(fleet.OpenShiftNamespace)); err != nil {
		t.Fatal(err)
	}
	for i := range all.Items {
		if m := &all.Items[i]; m.Status.NodeRef != nil && m.DeletionTimestamp == nil {
			return m
		}
	}
	t.Fatal("no machine has a node")
	return nil
}
