package gardener_test

import (
	"context"
	"testing"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"

	"github.com/millwright-dev/millwright/adapters/gardener/internal/reference"
	"github.com/millwright-dev/millwright/provider"
)

// ended is the duration of a deletion that the driver reports as complete, and the instances that the driver
// still shows.
func (b *bench) ended(s provider.Session, r provider.Ref, all []provider.Instance) time.Duration {
	b.t.Helper()
	began := time.Now()
	b.removed(s, r, all)
	return time.Since(began)
}

// made creates a machine's instance, and returns the found instance after it is recorded.
func (b *bench) made(s provider.Session, name string) (provider.Ref, []provider.Instance) {
	b.t.Helper()
	r := ref(name)
	for end := time.Now().Add(time.Hour); time.Now().Before(end); time.Sleep(5 * time.Second) {
		i, _, err := b.create(s, r)
		if err == nil && i.ProviderID != "" {
			r.ProviderID = i.ProviderID
			return r, []provider.Instance{i}
		}
	}
	b.t.Fatal("nothing is made within an hour")
	return r, nil
}

// TestARemovalEndsThatTheDriverStillShows: a driver whose DeleteMachine succeeds has deleted the instance,
// also if its status or its listing shows the instance for an hour. The status does not cause repeated
// deletions, nor does the listing cause a collection.
func TestARemovalEndsThatTheDriverStillShows(t *testing.T) {
	for name, c := range map[string]struct {
		habits reference.Habits
		within time.Duration
	}{
		"status falls back on the ID":        {reference.Habits{Removal: reference.Removal{Shows: time.Hour}}, 2 * time.Minute},
		"the same, accepted only":            {reference.Habits{Removal: reference.Removal{Shows: time.Hour, Accepts: true}}, 2 * time.Minute},
		"the listing shows it too":           {reference.Habits{Removal: reference.Removal{Shows: time.Hour, Lists: true}}, 6 * time.Minute},
		"the status fails":                   {reference.Habits{Removal: reference.Removal{Shows: time.Hour, Refuses: true}}, 2 * time.Minute},
		"the status fails, and it is listed": {reference.Habits{Removal: reference.Removal{Shows: time.Hour, Refuses: true, Lists: true}}, 6 * time.Minute},
		"there is no listing":                {reference.Habits{NoListing: true, Removal: reference.Removal{Shows: time.Hour}}, 6 * time.Minute},
		"there is a listing only":            {reference.Habits{NoStatus: true, Removal: reference.Removal{Shows: time.Hour, Lists: true}}, 6 * time.Minute},
	} {
		for _, crash := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				inBubble(t, c.habits, func(b *bench) {
					counted := &counting{Driver: b.driver}
					b.driver = counted
					s := b.open(b.start())
					r, all := b.made(s, "m")
					if crash {
						if _, err := s.Delete(b.t.Context(), r, all); err != nil {
							b.t.Fatal(err)
						}
						s = b.open(b.start())
					}
					if took := b.ended(s, r, all); took > boot+c.within {
						b.t.Errorf("the removal took %v", took)
					}
					if counted.removals > 30 {
						b.t.Errorf("the driver was asked %d times to remove one machine", counted.removals)
					}
					b.shownAsEnded(s, r)
				})
			})
		}
	}
}

// shownAsEnded: a deleted instance costs nothing more, even if it is read, until the driver has forgotten it.
func (b *bench) shownAsEnded(s provider.Session, r provider.Ref) {
	b.t.Helper()
	if all, err := s.Find(b.t.Context(), r); err == nil && len(provider.Existing(all)) > 0 {
		b.t.Errorf("after its removal, find reports %q", shape(all))
	}
	for i, err := range s.List(b.t.Context()) {
		if err == nil && i.Exists() {
			b.t.Errorf("after its removal, the listing has %+v", i)
		}
	}
	again := r
	again.UID, again.ProviderID = "5f1c5b5e-5d0f-4b8e-9a60-0d7a3f6f2c11", ""
	if i, _, err := b.create(s, again); err != nil || !i.Exists() || i.ProviderID == r.ProviderID {
		b.t.Errorf("a machine made anew under its name gets %+v, error %v", i, err)
	}
	time.Sleep(5 * time.Minute)
	b.holds(1)
}

// counting is a driver whose deletions are counted.
type counting struct {
	driver.Driver
	removals int
}

func (c *counting) DeleteMachine(ctx context.Context, r *driver.DeleteMachineRequest) (*driver.DeleteMachineResponse, error) {
	c.removals++
	return c.Driver.DeleteMachine(ctx, r)
}

// TestARemovalIsNotDoneForARefusal: an error of a driver does not prove that an instance is deleted.
func TestARemovalIsNotDoneForARefusal(t *testing.T) {
	failed := func(c codes.Code) func() error { return func() error { return status.Error(c, "said") } }
	accepted := func() error { return nil }
	for _, c := range []struct {
		reason               string
		remove, look, listed func() error
		done                 bool
	}{
		{"the removal fails", failed(codes.Internal), accepted, accepted, false},
		{"the status and the listing are denied", accepted, failed(codes.PermissionDenied), failed(codes.PermissionDenied), false},
		{"the status is denied, and the listing shows it", accepted, failed(codes.Unauthenticated), accepted, false},
		{"both show it", accepted, accepted, accepted, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			inBubble(t, reference.Habits{}, func(b *bench) {
				id := "x:///1"
				b.driver = &stub{
					remove: func(context.Context, *driver.DeleteMachineRequest) (*driver.DeleteMachineResponse, error) {
						return &driver.DeleteMachineResponse{}, c.remove()
					},
					status: func(*driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error) {
						return &driver.GetMachineStatusResponse{ProviderID: id}, c.look()
					},
					list: func(*driver.ListMachinesRequest) (*driver.ListMachinesResponse, error) {
						return &driver.ListMachinesResponse{MachineList: map[string]string{id: "m"}}, c.listed()
					},
				}
				s, r := b.open(b.start()), ref("m")
				r.ProviderID = id
				done := false
				for range 120 {
					if done, _ = s.Delete(b.t.Context(), r, []provider.Instance{{ID: "m", Name: "m", ProviderID: id, State: provider.Running}}); done {
						break
					}
					time.Sleep(15 * time.Second)
				}
				if done != c.done {
					b.t.Errorf("done %t, want %t", done, c.done)
				}
			})
		})
	}
}

// TestASlowDriverIsWaitedFor: a driver whose status takes minutes holds no worker, and its result counts.
func TestASlowDriverIsWaitedFor(t *testing.T) {
	inBubble(t, reference.Habits{Slow: 3 * time.Minute}, func(b *bench) {
		s := b.open(b.start())
		found := func(r provider.Ref) (all []provider.Instance, longest time.Duration) {
			for end := time.Now().Add(time.Hour); time.Now().Before(end); time.Sleep(time.Second) {
				began := time.Now()
				ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute) // as in the process
				all, err := s.Find(ctx, r)
				cancel()
				longest = max(longest, time.Since(began))
				switch {
				case err == nil:
					return all, longest
				case provider.KindOf(err) != provider.Transient:
					b.t.Fatal(err)
				}
			}
			b.t.Fatal("nothing is found within an hour")
			return nil, 0
		}
		if all, longest := found(ref("m")); len(all) > 0 || longest > 30*time.Second {
			b.t.Errorf("before anything was made it finds %q, and held its caller for %v", shape(all), longest)
		}
		r, _ := b.made(s, "m")
		all, longest := found(r)
		if got := shape(all); got != "m Running" || longest > 30*time.Second {
			b.t.Errorf("then it finds %q, and held its caller for %v", got, longest)
		}
		listed := 0
		for end := time.Now().Add(time.Hour); time.Now().Before(end) && listed == 0; time.Sleep(time.Second) {
			for _, err := range s.List(b.t.Context()) {
				if err == nil {
					listed++
				}
			}
		}
		if listed != 1 {
			b.t.Errorf("its listing has %d instances", listed)
		}
		b.removed(s, r, all)
		b.holds(0)
	})
}
