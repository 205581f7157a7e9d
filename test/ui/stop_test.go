package ui_test

import (
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
)

// stopDisruption stops all disruption of the fleet while the page is open, and follows a machine that waits until the stop ends. The
// page was opened before the cluster had the kind.
func stopDisruption(t *testing.T, f *fleet.Fleet, b *browser) {
	t.Helper()
	server, err := f.Plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	crds, err := config.OptionalCRDs()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(server, envtest.CRDInstallOptions{CRDs: crds, MaxTime: time.Minute}); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(server, client.Options{Scheme: connect.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	machines := slices.IndexFunc(f.Controllers, func(c *fleet.Controller) bool { return c.Program == fleet.Machines })
	if err := f.KillController(t.Context(), f.Controllers[machines]); err != nil {
		t.Fatal(err)
	}
	if _, err := f.StartController(fleet.Machines); err != nil { // it finds the kind
		t.Fatal(err)
	}
	stop := disruption.NewStop("storage is down")
	if err := c.Create(t.Context(), stop); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { // it has seen the budget
		now := &v1alpha1.MachineDisruptionBudget{}
		return c.Get(t.Context(), client.ObjectKeyFromObject(stop), now) == nil && len(now.Status.Observed) > 0
	})
	held := oneOf(t, f)
	if err := f.Client.Delete(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	b.visit("#/object/machine.openshift.io/Machine/" + held.Namespace + "/" + held.Name)
	b.awaits("All disruption is stopped by emergency-stop", "an emergency stop does not permit its drain yet", "emergency-stop, which is paused (storage is down)", "Disruption budgets of this machine")
	b.picture("ui-stop")
	b.visit("#/object/millwright.dev/MachineDisruptionBudget//emergency-stop")
	b.awaits("Machines that wait for it", held.Name)
	if err := c.Delete(t.Context(), stop); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool {
		return apierrors.IsNotFound(f.Client.Get(t.Context(), client.ObjectKeyFromObject(held), held))
	})
	b.awaits("No emergency stop")
	b.visit("#/object/machine.openshift.io/Machine/" + held.Namespace + "/" + held.Name)
	b.awaits("does not exist any more: it was deleted", "a client requested the deletion, and not MachineSet", "machine deleted")
	b.visit("#/object/millwright.dev/MachineDisruptionBudget//emergency-stop")
	b.until(`!document.body.innerText.includes("All disruption is stopped")`)
}
