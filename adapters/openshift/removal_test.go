package openshift_test

import (
	"context"
	"errors"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/adapters/openshift/internal/reference"
	"github.com/millwright-dev/millwright/provider"
)

// removed deletes until it is done, and returns the duration of the longest call.
func (b *bench) removed(s provider.Session, r provider.Ref, all []provider.Instance) (longest time.Duration) {
	b.t.Helper()
	for end := time.Now().Add(time.Hour); time.Now().Before(end); time.Sleep(time.Second) {
		began := time.Now()
		done, err := s.Delete(b.t.Context(), r, all)
		longest = max(longest, time.Since(began))
		if err != nil {
			b.t.Fatalf("delete: %v", err)
		}
		if done {
			return longest
		}
	}
	b.t.Fatal("not removed within an hour")
	return 0
}

// TestDeletionStopsACreation: and deletes what the creation has created.
func TestDeletionStopsACreation(t *testing.T) {
	inBubble(t, reference.Habits{Blocks: true}, func(b *bench) {
		s, r := b.open(b.start()), b.declared("m")
		if _, _, err := b.create(s, r); err != nil {
			b.t.Fatal(err)
		}
		b.removed(s, r, b.find(s, r))
		b.holds(0)
	})
}

// TestARefusedRemovalOfNothing: a machine with an invalid configuration is deleted if it never had an
// instance; with addresses it had one.
func TestARefusedRemovalOfNothing(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		refused := &reference.MachineError{Reason: machinev1.InvalidConfigurationMachineError, Message: "no such region"}
		b.actuator = &stub{remove: func(context.Context, *machinev1.Machine) error { return refused }}
		s, never, once := b.open(b.start()), b.declared("never"), b.declared("once")
		m := b.machine(once)
		m.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
		b.must(b.api.Status().Update(b.t.Context(), m))
		if done, err := s.Delete(b.t.Context(), never, nil); !done || err != nil {
			b.t.Errorf("delete of what never was: done %t, error %v", done, err)
		}
		if done, err := s.Delete(b.t.Context(), once, nil); done || !errors.Is(err, refused) {
			b.t.Errorf("delete of what was: done %t, error %v", done, err)
		}
	})
}

// TestWhatIsNotGivenStays: an instance that belongs to the machine by the actuator, and not by the engine,
// stays.
func TestWhatIsNotGivenStays(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		a := &stub{exists: there}
		b.actuator = a
		if done, err := b.open(b.start()).Delete(b.t.Context(), b.declared("m"), nil); !done || err != nil || a.count("delete") > 0 {
			b.t.Errorf("done %t, error %v, and the actuator was asked %v", done, err, a.asked())
		}
	})
}

// TestAMachineThatIsTakenAway is remembered: its instance is listed without a machine, and is collected.
func TestAMachineThatIsTakenAway(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		p := b.start()
		s, err := p.Open(b.t.Context(), provider.Class{API: provider.OpenShift, Cluster: "blue", Owner: "us", Spec: []byte(spec)})
		b.must(err)
		stays, taken := b.declared("stays"), b.declared("taken")
		for _, r := range []provider.Ref{stays, taken} {
			if _, _, err := b.create(s, r); err != nil {
				b.t.Fatal(err)
			}
		}
		time.Sleep(2 * boot)
		b.find(s, stays)
		b.find(s, taken)
		if got := shape(b.list(s)); got != "stays Running, taken Running" {
			b.t.Errorf("after a look, the listing is %q", got)
		}
		time.Sleep(time.Minute)
		if got := shape(b.list(s)); got != "stays Running unclaimed, taken Running unclaimed" {
			b.t.Errorf("after a while, the listing is %q", got)
		}
		b.must(b.api.Delete(b.t.Context(), b.machine(taken)))
		all := b.list(s)
		if got := shape(all); got != "stays Running unclaimed, taken Running" || all[1].UID != taken.UID || all[1].Owner != "us" || all[1].Namespace != namespace {
			b.t.Fatalf("without its machine, the listing is %q: %+v", got, all)
		}
		b.removed(s, provider.Ref{UID: taken.UID, Name: taken.Name, ProviderID: all[1].ProviderID}, all[1:])
		time.Sleep(lag)
		if got := shape(b.list(s)); got != "stays Running unclaimed" {
			b.t.Errorf("in the end it is %q", got)
		}
		b.holds(1)
	})
}

// TestAcceptedIsOnItsWayOut: Delete has succeeded, and Exists still returns true. The deletion is repeated
// until Exists returns false.
func TestAcceptedIsOnItsWayOut(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		gone := false
		a := &stub{exists: func(context.Context, *machinev1.Machine) (bool, error) { return !gone, nil }}
		b.actuator = a
		s, r := b.open(b.start()), b.declared("m")
		found := b.find(s, r)
		for range 2 {
			if done, err := s.Delete(b.t.Context(), r, found); done || err != nil {
				b.t.Errorf("delete: done %t, error %v", done, err)
			}
			if found = b.find(s, r); len(found) != 1 || found[0].State != provider.Stopping {
				b.t.Errorf("then find reports %+v", found)
			}
		}
		gone = true
		if done, err := s.Delete(b.t.Context(), r, found); !done || err != nil || a.count("delete") != 3 {
			b.t.Errorf("in the end: done %t, error %v, asked %d times", done, err, a.count("delete"))
		}
	})
}

// TestOneCallAtATime: a deletion waits during a read, and its caller does not.
func TestOneCallAtATime(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		looking := make(chan struct{})
		a := &stub{exists: func(context.Context, *machinev1.Machine) (bool, error) {
			<-looking
			return false, nil
		}}
		b.actuator = a
		s, r := b.open(b.start()), b.declared("m")
		if _, err := s.Find(b.t.Context(), r); err == nil {
			b.t.Error("a look that has not ended tells something")
		}
		if done, err := s.Delete(b.t.Context(), r, nil); done || err != nil || len(a.asked()) != 1 {
			b.t.Errorf("done %t, error %v, and the actuator was asked %v", done, err, a.asked())
		}
		close(looking)
		time.Sleep(time.Second)
		if done, err := s.Delete(b.t.Context(), r, nil); !done || err != nil || a.count("delete") != 1 {
			b.t.Errorf("then: done %t, error %v, and the actuator was asked %v", done, err, a.asked())
		}
	})
}

// TestNoMachineToPatch: an actuator patches the machine in Delete, and the machine was deleted before. Exists
// decides whether the instance is deleted.
func TestNoMachineToPatch(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		exists := true
		b.actuator = &stub{
			exists: func(context.Context, *machinev1.Machine) (bool, error) { return exists, nil },
			remove: func(ctx context.Context, m *machinev1.Machine) error {
				exists = false
				return b.api.Status().Patch(ctx, m, client.MergeFrom(m.DeepCopy()))
			},
		}
		s, r := b.open(b.start()), b.declared("m")
		found := b.find(s, r)
		b.must(b.api.Delete(b.t.Context(), b.machine(r)))
		if done, err := s.Delete(b.t.Context(), r, found); !done || err != nil {
			b.t.Errorf("done %t, error %v", done, err)
		}
	})
}
