package cloud_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/openstack/cloud"
)

// crashed is a cloud in which a process created the port of m and ended before it requested the server.
func crashed(t *testing.T, change ...func(*nova.Options)) (*bench, provider.Class) {
	t.Helper()
	b := newBench(t, change...)
	class := b.class(provider.OpenShift, "c1")
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "nova.POST.servers", Times: 1})
	if _, err := b.session(class).Create(t.Context(), ref("m"), provider.Want{UserData: boot}); provider.KindOf(err) != provider.Transient {
		t.Fatal(err)
	}
	return b, class
}

// others makes the network one of another project, in which MAC addresses may not be chosen.
func others(o *nova.Options) { o.Inventory.Networks[0].Shared = true }

var networkKinds = map[string]func(*nova.Options){"own network": func(*nova.Options) {}, "others' network": others}

// TestPortOfAProcessThatEnded: a new process waits while the other may still be about to create the server,
// and then creates it.
func TestPortOfAProcessThatEnded(t *testing.T) {
	for name, change := range networkKinds {
		t.Run(name, func(t *testing.T) {
			b, class := crashed(t, change)
			s := b.session(class)
			_, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot})
			if provider.KindOf(err) != provider.Conflict || provider.AfterOf(err) == 0 {
				t.Errorf("at once: %v, want a Conflict that says when to ask again", err)
			}
			b.clock.Advance(cloud.Lease)
			if _, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot}); err != nil {
				t.Errorf("after the lease: %v", err)
			}
			b.holds(t, 1, 1)
		})
	}
}

// TestSameProcessGoesOn: the process that created the port recognizes it, and does not wait.
func TestSameProcessGoesOn(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.OpenShift, "c1"))
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "nova.POST.servers", Times: 1})
	if _, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot}); err == nil {
		t.Fatal("no error")
	}
	if _, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot}); err != nil {
		t.Error(err)
	}
	b.holds(t, 1, 1)
}

// TestLateRequest: the first process's request after another process has taken over is refused, since its
// port was deleted.
func TestLateRequest(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	first := b.session(class)
	b.server.Inject(double.Fault{Operation: "nova.POST.servers", Times: 1, Delay: 500 * time.Millisecond})
	var wg sync.WaitGroup
	var late error
	wg.Go(func() { _, late = first.Create(t.Context(), ref("m"), provider.Want{UserData: boot}) })
	for len(b.sent.With("POST /compute/v2.1/servers")) == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	b.clock.Advance(cloud.Lease)
	if _, err := b.session(class).Create(t.Context(), ref("m"), provider.Want{UserData: boot}); err != nil {
		t.Errorf("the one that took over: %v", err)
	}
	wg.Wait()
	if provider.KindOf(late) != provider.Conflict {
		t.Errorf("the one that was late: %v, want a Conflict", late)
	}
	b.holds(t, 1, 1)
}

// TestAtTheSameTime: of many processes that create one machine at the same time none creates a second
// server, in any network.
func TestAtTheSameTime(t *testing.T) {
	for name, change := range networkKinds {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, change)
			class := b.class(provider.OpenShift, "c1")
			for round := range 5 {
				r := ref(fmt.Sprintf("m-%d", round))
				r.UID = fmt.Sprintf("0b2f6d3e-6b1c-4c56-9f1b-7f0b3c2a1d%02d", round)
				var wg sync.WaitGroup
				errs := make([]error, 6)
				for n := range errs {
					s := b.session(class)
					wg.Go(func() { _, errs[n] = s.Create(t.Context(), r, provider.Want{UserData: boot}) })
				}
				wg.Wait()
				for _, err := range errs {
					if err != nil && provider.KindOf(err) != provider.Conflict {
						t.Error(err)
					}
				}
				b.clock.Advance(2 * cloud.Lease)
				b.running(b.session(class), r)
				b.holds(t, round+1, round+1)
			}
		})
	}
}

// TestServerLeadsBackByItsPort: while listings lag, the port names the server.
func TestServerLeadsBackByItsPort(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	b.cloud.SetLag(time.Hour)
	made, err := b.session(class).Create(t.Context(), ref("m"), provider.Want{UserData: boot})
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.session(class).Create(t.Context(), ref("m"), provider.Want{UserData: boot})
	if err != nil || again.ID != made.ID {
		t.Errorf("%s, error %v; want %s", again.ID, err, made.ID)
	}
}

// TestTagsAreMended: a process ended after it created the server and before it tagged the port; the next
// one tags it.
func TestTagsAreMended(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "neutron.PUT.ports.id.tags", Times: 1})
	if _, err := b.session(class).Create(t.Context(), ref("m"), provider.Want{UserData: boot}); err == nil {
		t.Fatal("no error")
	}
	if _, err := b.session(class).Create(t.Context(), ref("m"), provider.Want{UserData: boot}); err != nil {
		t.Fatal(err)
	}
	for _, d := range b.cloud.Dependants() {
		if !strings.Contains(strings.Join(d.Tags, " "), "millwright-server=") {
			t.Errorf("%s %s has the tags %q", d.Kind, d.Name, d.Tags)
		}
	}
	b.holds(t, 1, 1)
}

// TestMACAddressOfAnother: a MAC address of the spec is kept, one that collides by chance is replaced.
func TestMACAddressOfAnother(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	class.Spec = merged(t, string(class.Spec), `{"networks":null,"ports":[{"networkID":"`+net1+`","macAddress":"fa:16:3e:00:00:01"}]}`)
	b.running(b.session(class), ref("m"))
	other := ref("other")
	other.UID = "1b2f6d3e-6b1c-4c56-9f1b-7f0b3c2a1d4e"
	_, err := b.session(class).Create(t.Context(), other, provider.Want{UserData: boot})
	if provider.KindOf(err) != provider.Conflict || !strings.Contains(err.Error(), "ports[0]") {
		t.Errorf("the second machine with the MAC address: %v", err)
	}
	b.holds(t, 1, 1)
}

// holds checks the number of servers and dependants.
func (b *bench) holds(t *testing.T, servers, dependants int) {
	t.Helper()
	s, d := len(b.cloud.Instances()), len(b.cloud.Dependants())
	if s != servers || d != dependants {
		t.Errorf("there are %d servers and %d dependants, want %d and %d: %v %+v", s, d, servers, dependants, b.cloud.Orphans(), b.cloud.Dependants())
	}
}

var errNotDone = errors.New("not done")

// remove deletes until it is done.
func (b *bench) remove(s provider.Session, r provider.Ref, given ...provider.Instance) error {
	for range 20 {
		done, err := s.Delete(b.t.Context(), r, given)
		if done || err != nil {
			return err
		}
		b.clock.Advance(time.Second)
	}
	return errNotDone
}
