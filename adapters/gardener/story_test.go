package gardener_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"

	"github.com/millwright-dev/millwright/adapters/gardener/internal/reference"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/provider"
)

var want = provider.Want{UserData: []byte("#cloud-config\nhostname: m\n")}

// create creates an instance, and returns the duration of the call.
func (b *bench) create(s provider.Session, r provider.Ref) (provider.Instance, time.Duration, error) {
	b.t.Helper()
	began := time.Now()
	i, err := s.Create(b.t.Context(), r, want)
	return i, time.Since(began), err
}

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

// TestNoCallHoldsAWorker: the driver blocks for a minute and a half, its callers wait for two seconds.
func TestNoCallHoldsAWorker(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		s := b.open(b.start())
		i, took, err := b.create(s, ref("m"))
		if err != nil || shape([]provider.Instance{i}) != "m Pending unnamed" || took > 2*time.Second {
			b.t.Fatalf("create reports %+v after %v, error %v", i, took, err)
		}
		if got := shape(b.find(s, ref("m"))); got != "m Pending" {
			b.t.Errorf("while it is made, find reports %q", got)
		}
		time.Sleep(boot + 10*time.Second)
		found := b.find(s, ref("m"))
		if got := shape(found); got != "m Running" || found[0].NodeName != "m" || len(found[0].Addresses) == 0 {
			b.t.Errorf("then it reports %q: %+v", got, found)
		}
		if said, _ := s.Status(found[0]); !strings.HasPrefix(string(said), "server ") {
			b.t.Errorf("what the driver said of its state is %q", said)
		}
		if _, err := s.Delete(b.t.Context(), ref("m"), found); err != nil {
			b.t.Fatal(err)
		}
		if got := shape(b.find(s, ref("m"))); got != "m Stopping" {
			b.t.Errorf("while it goes, find reports %q", got)
		}
		if longest := b.removed(s, ref("m"), found); longest > 2*time.Second {
			b.t.Errorf("a delete held its caller for %v", longest)
		}
		b.holds(0)
	})
}

// TestFailureIsToldByTheNextCall: the next caller gets the outcome of a call for which no caller waited,
// once.
func TestFailureIsToldByTheNextCall(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		refuse := time.Minute
		b.driver = &stub{
			status: func(*driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error) {
				return nil, status.Error(codes.NotFound, "")
			},
			create: func(context.Context, *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
				time.Sleep(refuse)
				return nil, status.Error(codes.ResourceExhausted, "no stock")
			},
		}
		s := b.open(b.start())
		if i, _, err := b.create(s, ref("m")); err != nil || i.State != provider.Pending {
			b.t.Fatalf("create reports %+v, error %v", i, err)
		}
		time.Sleep(2 * time.Minute)
		if all := b.find(s, ref("m")); len(all) > 0 {
			b.t.Errorf("after it failed, find reports %+v", all)
		}
		if _, took, err := b.create(s, ref("m")); provider.KindOf(err) != provider.Exhausted || err.Error() != "no stock" || took > 0 {
			b.t.Errorf("the next create fails with %v after %v", err, took)
		}
		if i, _, err := b.create(s, ref("m")); err != nil || i.State != provider.Pending {
			b.t.Errorf("and the one after it tries again: %+v, error %v", i, err)
		}
		time.Sleep(2 * time.Minute)
	})
}

// TestNoRoomIsAShortage: Nova accepts the server, which then fails. The driver deletes it, and the machine
// waits for capacity.
func TestNoRoomIsAShortage(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		if err := b.cloud.Do("exhaust", "nova"); err != nil {
			b.t.Fatal(err)
		}
		_, _, err := b.create(b.open(b.start()), ref("m"))
		if provider.KindOf(err) != provider.Exhausted {
			b.t.Errorf("create fails with %v", err)
		}
		time.Sleep(2 * boot)
		b.holds(0)
	})
}

// TestCrashIsFoundAgain: a process ends while the driver waits for a server. The next process finds the
// server by name, and creates no other.
func TestCrashIsFoundAgain(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		all := b.life
		life, end := context.WithCancel(all)
		b.life = life
		if _, _, err := b.create(b.open(b.start()), ref("m")); err != nil {
			b.t.Fatal(err)
		}
		end()
		b.life, b.settled = all, false
		s := b.open(b.start())
		if got := shape(b.find(s, ref("m"))); got != "m Running unclaimed" {
			b.t.Errorf("a fresh process finds %q", got)
		}
		if i, _, err := b.create(s, ref("m")); err != nil || i.ProviderID == "" {
			b.t.Errorf("and creates %+v, error %v", i, err)
		}
		time.Sleep(2 * boot)
		b.holds(1)
		recorded := ref("m")
		recorded.ProviderID = b.find(s, ref("m"))[0].ProviderID
		b.find(s, recorded)
		if got := shape(b.find(s, recorded)); got != "m Running" {
			b.t.Errorf("once the machine has recorded it, find reports %q", got)
		}
	})
}

// TestAFreshProcessDoubtsEmptiness: an instance that an earlier process has requested is not shown yet. The
// adapter waits for it in the background.
func TestAFreshProcessDoubtsEmptiness(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		if err := b.cloud.Do("lag", "20s"); err != nil {
			b.t.Fatal(err)
		}
		b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "nova.POST.servers", Times: 1, Done: true})
		if _, _, err := b.create(b.open(b.start()), ref("m")); provider.KindOf(err) != provider.Transient {
			b.t.Fatalf("the reply is lost, and create says %v", err)
		}
		b.settled = false
		i, took, err := b.create(b.open(b.start()), ref("m"))
		if err != nil || i.State != provider.Pending || took > 2*time.Second {
			b.t.Errorf("create reports %+v after %v, error %v", i, took, err)
		}
		time.Sleep(time.Hour)
		b.holds(1)
		if ids := b.servers("blue")["m"]; len(ids) != 1 {
			b.t.Errorf("there are the servers %v of one machine", ids)
		}
	})
}

// TestDeletionStopsACreation: a concurrent creation leaves nothing behind, whichever call is faster.
func TestDeletionStopsACreation(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		s := b.open(b.start())
		if _, _, err := b.create(s, ref("m")); err != nil {
			b.t.Fatal(err)
		}
		b.removed(s, ref("m"), b.find(s, ref("m")))
		time.Sleep(2 * boot)
		b.holds(0)
	})
}

// TestADeafDriverIsWaitedFor: while a driver ignores its context, no other call is made for the machine,
// neither after the timeout nor for a deletion.
func TestADeafDriverIsWaitedFor(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		free, calls := make(chan struct{}), 0
		b.settings.CallTimeout = time.Minute
		b.driver = &stub{
			status: func(*driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error) {
				return nil, status.Error(codes.NotFound, "")
			},
			create: func(context.Context, *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
				calls++
				<-free
				return nil, errors.New("late")
			},
			remove: func(context.Context, *driver.DeleteMachineRequest) (*driver.DeleteMachineResponse, error) {
				return nil, status.Error(codes.NotFound, "")
			},
		}
		s := b.open(b.start())
		for range 3 {
			if i, _, err := b.create(s, ref("m")); err != nil || i.State != provider.Pending {
				b.t.Fatalf("create reports %+v, error %v", i, err)
			}
			time.Sleep(time.Hour)
		}
		if done, err := s.Delete(b.t.Context(), ref("m"), nil); done || provider.KindOf(err) != provider.Conflict {
			b.t.Errorf("delete: done %t, error %v", done, err)
		}
		close(free)
		b.removed(s, ref("m"), nil)
		if calls != 1 {
			b.t.Errorf("the driver was asked %d times", calls)
		}
	})
}

// TestAPanicEndsACall: and no other call.
func TestAPanicEndsACall(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		b.driver = &stub{
			status: func(*driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error) {
				return nil, status.Error(codes.NotFound, "")
			},
			create: func(context.Context, *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
				panic("nil map")
			},
		}
		if _, _, err := b.create(b.open(b.start()), ref("m")); provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "nil map") {
			b.t.Errorf("create fails with %v", err)
		}
	})
}

// TestWhatIsNotShownYetIsNotMadeAgain: the driver has created the instance, its status does not show it yet,
// and the machine has not recorded it. Later the instance has died: a machine gets one instance.
func TestWhatIsNotShownYetIsNotMadeAgain(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		calls := 0
		b.driver = &stub{
			status: func(*driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error) {
				return nil, status.Error(codes.NotFound, "")
			},
			create: func(context.Context, *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
				calls++
				return &driver.CreateMachineResponse{ProviderID: "x:///1", NodeName: "m"}, nil
			},
		}
		s := b.open(b.start())
		for _, want := range []string{"m Running", "m Running", "m Terminated"} {
			if i, _, err := b.create(s, ref("m")); err != nil || shape([]provider.Instance{i}) != want {
				b.t.Errorf("create reports %+v, error %v, want %q", i, err, want)
			}
			time.Sleep(lag * 2 / 3)
		}
		if calls != 1 {
			b.t.Errorf("the driver was asked %d times", calls)
		}
	})
}

// TestARemovalIsOverWhenTheStatusAgrees: some drivers return as soon as the deletion is accepted.
func TestARemovalIsOverWhenTheStatusAgrees(t *testing.T) {
	for name, told := range map[string]bool{"by the status": true, "by the listing": false} {
		inBubble(t, reference.Habits{}, func(b *bench) {
			until, calls := time.Now().Add(time.Minute), 0
			there := func() bool { return time.Now().Before(until) }
			d := &stub{
				list: func(*driver.ListMachinesRequest) (*driver.ListMachinesResponse, error) {
					if !there() {
						return &driver.ListMachinesResponse{}, nil
					}
					return &driver.ListMachinesResponse{MachineList: map[string]string{"x:///1": "m"}}, nil
				},
				remove: func(context.Context, *driver.DeleteMachineRequest) (*driver.DeleteMachineResponse, error) {
					calls++
					return &driver.DeleteMachineResponse{}, nil
				},
			}
			if told {
				d.status = func(*driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error) {
					if !there() {
						return nil, status.Error(codes.NotFound, "")
					}
					return &driver.GetMachineStatusResponse{ProviderID: "x:///1"}, nil
				}
			}
			b.driver = d
			s := b.open(b.start())
			b.removed(s, ref("m"), b.find(s, ref("m")))
			if there() || calls < 2 {
				b.t.Errorf("%s: it is done after %d calls, and there: %t", name, calls, there())
			}
		})
	}
}

// TestACallThatTakesTooLongIsCalledOff: and its outcome is unknown.
func TestACallThatTakesTooLongIsCalledOff(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		b.settings.CallTimeout = 10 * time.Minute
		b.driver = &stub{
			status: func(*driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error) {
				return nil, status.Error(codes.NotFound, "")
			},
			create: func(ctx context.Context, _ *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
				<-ctx.Done()
				return nil, status.Error(codes.InvalidArgument, "the image is not there")
			},
		}
		s := b.open(b.start())
		if i, _, err := b.create(s, ref("m")); err != nil || i.State != provider.Pending {
			b.t.Fatalf("create reports %+v, error %v", i, err)
		}
		time.Sleep(11 * time.Minute)
		_, _, err := b.create(s, ref("m"))
		if provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "the creation has taken longer than 10m0s") {
			b.t.Errorf("the next one fails with %v", err)
		}
	})
}
