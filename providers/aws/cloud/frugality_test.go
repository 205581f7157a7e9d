package cloud_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ec2"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

func TestCallsOfFiftyMachines(t *testing.T) {
	const machines = 50
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		w := newWorld(t, ec2.Options{Inventory: ec2.Sample()})
		class := classOf(api, "c1")
		class.Spec = merged(t, class.Spec, `{"srcAndDstChecksEnabled":null}`)
		s, err := decorate.Coalesce(w.start(), w.clock, decorate.Reads{}).Open(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		before := w.server.Counts()
		spent := func() map[string]int {
			now := w.server.Counts()
			out := map[string]int{}
			for op, n := range now {
				if n > before[op] {
					out[op] = n - before[op]
				}
			}
			before = now
			return out
		}
		all := make([]provider.Instance, machines)
		each(t, machines, func(ctx context.Context, n int) (err error) {
			all[n], err = s.Create(ctx, refOf(fmt.Sprintf("m-%d", n)), want)
			return err
		})
		if got := spent(); got["RunInstances"] != machines || got["DescribeInstances"] > machines/2+5 || got["DescribeSubnets"] > 1 || got["DescribeSecurityGroups"] > 1 || got["DescribeImages"] > 1 || writes(got) != machines {
			t.Errorf("%s: creating %d machines: %v", api, machines, got)
		} else {
			t.Logf("%s: creating %d machines: %v", api, machines, got)
		}
		w.clock.Advance(2 * time.Minute)
		for range 6 { // a minute at rest: every machine is read every ten seconds
			each(t, machines, func(ctx context.Context, n int) error {
				ref := refOf(fmt.Sprintf("m-%d", n))
				ref.ProviderID = all[n].ProviderID
				found, err := s.Find(ctx, ref)
				if err == nil && len(found) != 1 {
					err = fmt.Errorf("%d instances", len(found))
				}
				return err
			})
			w.clock.Advance(10 * time.Second)
		}
		if got := spent(); got["DescribeInstances"] > 60 || writes(got) != 0 {
			t.Errorf("%s: a minute at rest: %v", api, got)
		} else {
			t.Logf("%s: a minute at rest: %v", api, got)
		}
		for range 3 {
			each(t, machines, func(ctx context.Context, n int) error {
				_, err := s.Delete(ctx, refOf(fmt.Sprintf("m-%d", n)), all[n:n+1])
				return err
			})
			w.clock.Advance(3 * time.Second)
		}
		got := spent()
		if got["TerminateInstances"] > machines/2 || got["DescribeInstances"] > machines/2 || writes(got) > machines/2 {
			t.Errorf("%s: deleting: %v", api, got)
		}
		t.Logf("%s: deleting %d machines: %v", api, machines, got)
	}
}

// looks counts the searches for instances during do.
func (w *world) looks(do func()) int {
	before := w.server.Counts()["DescribeInstances"]
	do()
	return w.server.Counts()["DescribeInstances"] - before
}

// After an empty search, a creation need not search again: once, and not for long.
func TestCreationLooksOnce(t *testing.T) {
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		w := sample(t)
		s := w.open(t, classOf(api, "c1"))
		create := func(name string) {
			t.Helper()
			if _, err := s.Create(t.Context(), refOf(name), want); err != nil {
				t.Fatal(err)
			}
		}
		find := func(name string) {
			t.Helper()
			if found, err := s.Find(t.Context(), refOf(name)); err != nil || len(found) != 0 {
				t.Fatalf("found %v, error %v", found, err)
			}
		}
		if n := w.looks(func() { create("unseen") }); n == 0 {
			t.Errorf("%s: an instance is made that nobody has looked for", api)
		}
		find("seen")
		if n := w.looks(func() { create("seen") }); n != 0 {
			t.Errorf("%s: it was looked for just now, and is looked for %d times", api, n)
		}
		if n := w.looks(func() { create("seen") }); n == 0 {
			t.Errorf("%s: what was made since is not looked for", api)
		}
		find("late")
		w.clock.Advance(11 * time.Second)
		if n := w.looks(func() { create("late") }); n == 0 {
			t.Errorf("%s: what was seen long ago is believed", api)
		}
		find("lost")
		w.server.Inject(double.Fault{Operation: "RunInstances", Failure: double.Failure{Kind: "Transient"}, Times: 1, Done: true})
		if _, err := s.Create(t.Context(), refOf("lost"), want); err == nil {
			t.Fatal("a lost reply is none")
		}
		w.SetLag(5 * time.Second)
		find("lost") // it was created, and is not visible yet
		if n := w.looks(func() { create("lost") }); n == 0 {
			t.Errorf("%s: a machine that may have an instance is not looked for", api)
		}
		w.SetLag(0)
		if n := len(w.Instances()); n != 4 {
			t.Errorf("%s: %d instances of 4 machines", api, n)
		}
	}
}

// A given live instance is terminated without a search; Delete is only done after one.
func TestDeletionLooksAtItsEnd(t *testing.T) {
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		w := sample(t)
		class := classOf(api, "c1")
		s, ref := w.open(t, class), refOf("m")
		i := w.running(t, s, ref)
		if err := w.plant(class, provider.Instance{UID: ref.UID, Name: "of-another-name", Namespace: ref.Namespace}); err != nil {
			t.Fatal(err)
		}
		remove := func(given provider.Instance) (done bool) {
			t.Helper()
			done, err := s.Delete(t.Context(), ref, []provider.Instance{given})
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		if n := w.looks(func() { remove(i) }); n != 0 || w.server.Counts()["TerminateInstances"] != 1 {
			t.Errorf("%s: begun with %d looks and %v", api, n, w.server.Counts())
		}
		all, err := s.Find(t.Context(), ref)
		if err != nil || len(all) == 0 || all[0].State != provider.Stopping {
			t.Fatalf("%s: found %v, error %v", api, all, err)
		}
		if n := w.looks(func() { remove(all[0]) }); n != 0 || w.server.Counts()["TerminateInstances"] != 1 {
			t.Errorf("%s: what was seen on its way is looked for %d times", api, n)
		}
		w.clock.Advance(time.Minute)
		if remove(all[0]) {
			t.Errorf("%s: gone is said, and another instance of the machine lives", api)
		}
		w.deleted(t, s, ref, all[0])
		for _, left := range w.Instances() {
			if left.State != "terminated" {
				t.Errorf("%s: %s is %s", api, left.Name, left.State)
			}
		}
	}
}

// An instance under deletion in a listing need not be searched either: one listing is enough for machines
// that are deleted together.
func TestDeletionKnowsWhatAListingShowed(t *testing.T) {
	w := sample(t)
	s, ref := w.open(t, classOf(provider.OpenShift, "c1")), refOf("m")
	i := w.running(t, s, ref)
	if _, err := s.Delete(t.Context(), ref, []provider.Instance{i}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(3 * time.Second)
	var going []provider.Instance
	for one, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		going = append(going, one)
	}
	if len(going) != 1 || going[0].State != provider.Stopping {
		t.Fatalf("listed %v", going)
	}
	if n := w.looks(func() {
		if done, err := s.Delete(t.Context(), ref, going); err != nil || done {
			t.Errorf("done %t, error %v", done, err)
		}
	}); n != 0 {
		t.Errorf("it is looked for %d times", n)
	}
}

// Forty workers that wait for forty machines and repeat their calls share requests.
func TestCallsOfAFleetThatIsWaitedFor(t *testing.T) {
	const machines, polls = 40, 10
	w := sample(t)
	s := w.open(t, classOf(provider.OpenShift, "c1"))
	before, began := w.server.Counts()["DescribeInstances"], time.Now()
	each(t, machines, func(ctx context.Context, n int) error {
		ref := refOf(fmt.Sprintf("m-%d", n))
		if _, err := s.Find(ctx, ref); err != nil {
			return err
		}
		if _, err := s.Create(ctx, ref, want); err != nil {
			return err
		}
		for range polls {
			time.Sleep(50 * time.Millisecond)
			if found, err := s.Find(ctx, ref); err != nil || len(found) != 1 {
				return fmt.Errorf("%d instances, error %w", len(found), err)
			}
		}
		return nil
	})
	got, took := w.server.Counts()["DescribeInstances"]-before, time.Since(began)
	if most := 30 + int(took/(100*time.Millisecond)); got > most {
		t.Errorf("%d requests in %v, want at most %d", got, took, most)
	}
	t.Logf("%d requests for %d questions in %v", got, machines*(polls+2), took)
}

func writes(counts map[string]int) (n int) {
	for op, k := range counts {
		if !strings.HasPrefix(op, "Describe") && !strings.Contains(op, ".Describe") && op != "sts.GetCallerIdentity" {
			n += k
		}
	}
	return n
}

func each(t *testing.T, n int, do func(context.Context, int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() {
			if err := do(t.Context(), k); err != nil {
				t.Errorf("%d: %v", k, err)
			}
		})
	}
	wg.Wait()
}
