package live

import (
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/provider"
)

// explained is a machine of the set mill, or the set.
func explained(o client.Object, kind string) collect.Explained {
	return collect.Explained{Object: o, Machine: &explain.MachineFacts{}, Answer: explain.Answer{Subject: explain.Subject{API: provider.OpenShift, Kind: kind, Namespace: "blue", Name: o.GetName()}}}
}

func leavingMachine() *machinev1.Machine {
	return &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "blue", Name: "mill-a", UID: "a", CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour)), DeletionTimestamp: ptr.To(metav1.NewTime(noon)),
		OwnerReferences: []metav1.OwnerReference{{Kind: "MachineSet", Name: "mill", UID: "set", Controller: ptr.To(true)}},
	}}
}

// TestDepartedMachinesStay: a machine that the watch has seen deleted is sent once, with the cause that its set showed
// when the deletion began, and with its zone; it stays for a day.
func TestDepartedMachinesStay(t *testing.T) {
	clk := clocktesting.NewFakeClock(noon)
	f := newFeed(collect.Clusters{}, collect.Question{}, clk)
	set := &machinev1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "mill", UID: "set"}, Spec: machinev1.MachineSetSpec{Replicas: ptr.To[int32](1)}}
	m := leavingMachine()
	watcher, end := f.subscribe()
	defer end()
	received(t, watcher)

	f.departing([]collect.Explained{explained(set, "MachineSet"), explained(m, "Machine")}) // the set lacks a machine: it did not delete it
	f.publish(noon, table(Row{ID: "a", Zone: "eu-1b"}), nil, nil)
	if c := received(t, watcher); len(c.Departed) != 0 {
		t.Errorf("a machine in deletion is deleted: %+v", c.Departed)
	}
	set.Spec.Replicas = ptr.To[int32](0)
	clk.Step(time.Minute)
	f.depart(m)
	f.departing([]collect.Explained{explained(set, "MachineSet")})
	f.publish(clk.Now(), table(), nil, nil)
	c := received(t, watcher)
	if len(c.Departed) != 1 {
		t.Fatalf("%+v", c)
	}
	d := c.Departed[0]
	if d.Name != "mill-a" || d.Cause != "Manual" || d.Zone != "eu-1b" || !d.Deleted.Equal(noon.Add(time.Minute)) || d.Words == "" {
		t.Errorf("%+v", d)
	}
	f.publish(clk.Now(), table(Row{ID: "b"}), nil, nil)
	if c := received(t, watcher); len(c.Departed) != 0 {
		t.Errorf("it is sent again: %+v", c.Departed)
	}
	late, end := f.subscribe()
	defer end()
	if c := received(t, late); len(c.Departed) != 1 {
		t.Errorf("a new watcher gets %+v", c.Departed)
	}
	f.publish(clk.Now().Add(25*time.Hour), table(), nil, nil)
	if n := len(f.departed.rows) + len(f.departed.seen); n != 0 {
		t.Errorf("%d are kept after a day", n)
	}
}

// TestStoredDepartures: what the cluster stores adds the name of the client, and a machine that exists is not deleted.
func TestStoredDepartures(t *testing.T) {
	f := newFeed(collect.Clusters{}, collect.Question{}, clocktesting.NewFakeClock(noon))
	f.depart(leavingMachine())
	f.departed.stored = []postmortem.Departure{{UID: "a", Name: "mill-a", By: "jane", Cause: "Manual", Requested: noon}, {UID: "lives", Requested: noon}}
	f.publish(noon, table(Row{ID: "lives"}), nil, nil)
	if rows := f.departed.rows; len(rows) != 1 || rows[0].By != "jane" || rows[0].Owner != "MachineSet/mill" {
		t.Errorf("%+v", rows)
	}
}
