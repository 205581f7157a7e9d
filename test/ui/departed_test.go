package ui_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/dialect/departures"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// departed stores the record of deleted machines with n machines of the set mill and hostile texts in each field, and the
// event about the deletion of the newest one.
func (w *world) departed(n int) {
	w.t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	var all []postmortem.Departure
	for i := range n {
		at := now.Add(-time.Duration(i) * time.Minute)
		all = append(all, postmortem.Departure{
			API: machinev1.GroupName, Namespace: w.namespace, Name: fmt.Sprintf("left-%03d", i), UID: fmt.Sprint("uid-left-", i), Owner: "MachineSet/mill", Node: "node " + attack, Zone: "zone " + attack, Type: "type " + attack,
			Created: at.Add(-time.Hour), Joined: at.Add(-50 * time.Minute), Ready: at.Add(-49 * time.Minute), Requested: at.Add(-2 * time.Minute), Terminating: at.Add(-time.Minute), Terminated: at, Deleted: at,
			Cause: "ScaleDown", Why: "why " + attack, By: "MachineSet/" + attack, Source: "source " + attack, Evidence: "configmap " + attack,
		})
	}
	all[0].Cause, all[0].By, all[0].Why = "Manual", "", ""
	raw, err := postmortem.EncodeDepartures(all)
	if err != nil {
		w.t.Fatal(err)
	}
	c := departures.Stored(w.namespace)
	c.Data = map[string]string{machinev1.GroupName: raw}
	w.create(c)
	e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "by-jane"}, Reason: departures.EventRequested, Message: departures.RequestedNote("jane " + attack), Type: corev1.EventTypeNormal, FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now()}
	e.InvolvedObject = corev1.ObjectReference{APIVersion: machinev1.GroupVersion.String(), Kind: "Machine", Namespace: w.namespace, Name: all[0].Name, UID: types.UID(all[0].UID)}
	w.create(e)
}

// TestDepartedView: deleted machines are listed, found by the search, and have pages that say who deleted them and when;
// the page also keeps a machine that it has seen deleted. Hostile texts are texts.
func TestDepartedView(t *testing.T) {
	w := newWorld(t)
	w.broken()
	w.departed(60)
	b := openBrowser(t)
	do(b, chromedp.Navigate(serve(t, w.namespace)))
	b.awaits("Deleted in the last 24 hours")
	b.until(`document.querySelector("[data-testid=departed]")?.textContent == "60"`)
	b.tabTo(`e.tagName == "SUMMARY" && e.textContent.startsWith("Deleted in the last")`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits("left-000", "jane <img", "Show all 60")
	b.press("Show all 60")
	b.awaits("left-059", "why <img", "zone <img")
	b.picture("departed-fleet")
	for _, scheme := range []string{"dark", "light"} {
		b.scheme(scheme)
		b.accessible(scheme + ", deleted machines")
	}
	b.fits("the list of deleted machines")

	b.visit("#/?q=left-000&by=zone")
	b.awaits("1 deleted machines match")
	b.tabTo(`e.textContent == "left-000"`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.awaits("does not exist any more", "jane <img", "requested the deletion", "Its deletion", "Instance terminated", "Known from", "machine created", "node joined")
	b.picture("departed-machine")
	for _, scheme := range []string{"dark", "light"} {
		b.scheme(scheme)
		b.accessible(scheme + ", a deleted machine")
	}
	b.fits("a deleted machine")
	b.tabTo(`e.textContent == "← fleet"`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.until(`location.hash == "#/?q=left-000&by=zone"`)

	b.visit("#/object/machine.openshift.io/MachineSet/" + w.namespace + "/mill")
	b.awaits("Its machines that were deleted in the last 24 hours")
	good := &machinev1.Machine{ObjectMeta: w.meta("mill-good")}
	b.visit("#/object/machine.openshift.io/Machine/" + w.namespace + "/mill-good")
	b.awaits("Would a drain finish now?", "A drain would finish at once")
	if err := w.Delete(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	b.awaits("Machine "+w.namespace+"/mill-good does not exist any more: it was deleted", "Its deletion")
	b.visit("#/?q=mill-good")
	b.awaits("1 deleted machines match")
	if evaluate[bool](b, "'attacked' in window") {
		t.Error("a text ran as a script")
	}
	b.calm()
}

// TestFirstScreen: on a screen of 1280 by 800 pixels, the table of machines begins without scrolling, also if several
// objects are in trouble.
func TestFirstScreen(t *testing.T) {
	w := newWorld(t)
	w.views()
	b := openBrowser(t)
	do(b, chromedp.Navigate(serve(t, w.namespace)))
	b.awaits("Wrong now", "mill-bad")
	do(b, chromedp.EmulateViewport(1280, 800))
	b.until(`document.querySelector(".table .rows .row") !== null`)
	if top := evaluate[float64](b, `document.querySelector(".table .rows .row").getBoundingClientRect().bottom + scrollY`); top > 800 {
		t.Errorf("the first row of the table ends at pixel %.0f", top)
	}
	b.picture("first-screen")
}
