package openshift_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/adapters/openshift/internal/reference"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/provider"
)

// create creates an instance, and returns the duration of the call.
func (b *bench) create(s provider.Session, r provider.Ref) (provider.Instance, time.Duration, error) {
	b.t.Helper()
	began := time.Now()
	i, err := s.Create(b.t.Context(), r, provider.Want{})
	return i, time.Since(began), err
}

// declared is ref's machine in the control cluster.
func (b *bench) declared(name string) provider.Ref {
	b.t.Helper()
	r := ref(name)
	b.declare(r, class(provider.OpenShift, "blue"))
	return r
}

// joined gives the machine a node.
func (b *bench) joined(r provider.Ref) {
	b.t.Helper()
	m := b.machine(r)
	m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: r.Name}
	b.must(b.api.Status().Update(b.t.Context(), m))
}

// TestNoCallHoldsAWorker: the actuator blocks for a minute and a half, its callers wait for two seconds.
func TestNoCallHoldsAWorker(t *testing.T) {
	inBubble(t, reference.Habits{Blocks: true}, func(b *bench) {
		s, m := b.open(b.start()), b.declared("m")
		i, took, err := b.create(s, m)
		if err != nil || shape([]provider.Instance{i}) != "m Pending unnamed" || took > 2*time.Second {
			b.t.Fatalf("create reports %+v after %v, error %v", i, took, err)
		}
		if got := shape(b.find(s, m)); got != "m Pending unnamed" {
			b.t.Errorf("while it is made, find reports %q", got)
		}
		time.Sleep(boot + 10*time.Second)
		found := b.find(s, m)
		if got := shape(found); got != "m Running" || len(found[0].Addresses) == 0 || found[0].Type != "m1.test" {
			b.t.Errorf("then it reports %q: %+v", got, found)
		}
		if longest := b.removed(s, m, found); longest > 2*time.Second {
			b.t.Errorf("a delete held its caller for %v", longest)
		}
		b.holds(0)
	})
}

// TestWhatTheActuatorWritesIsToldAsItIs: the engine writes the status that the actuator wrote, without a
// difference.
func TestWhatTheActuatorWritesIsToldAsItIs(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		s, r := b.open(b.start()), b.declared("m")
		if _, _, err := b.create(s, r); err != nil {
			b.t.Fatal(err)
		}
		if got := shape(b.find(s, r)); got != "m Pending unnamed" {
			b.t.Errorf("while it boots, find reports %q", got)
		}
		time.Sleep(2 * boot)
		found, m := b.find(s, r), b.machine(r)
		if shape(found) != "m Running" {
			b.t.Fatalf("find reports %q", shape(found))
		}
		i := found[0]
		told := []any{i.ProviderID, i.Type, i.Region, i.Zone, i.RawState, len(i.Addresses)}
		wrote := []any{
			*m.Spec.ProviderID, m.Labels["machine.openshift.io/instance-type"], m.Labels["machine.openshift.io/region"],
			m.Labels["machine.openshift.io/zone"], m.Annotations["machine.openshift.io/instance-state"], len(m.Status.Addresses),
		}
		for n := range told {
			if told[n] != wrote[n] {
				b.t.Errorf("the engine is told %v, the actuator wrote %v", told[n], wrote[n])
			}
		}
		if m.Status.ProviderStatus == nil || !strings.Contains(string(m.Status.ProviderStatus.Raw), `"instanceState":"ACTIVE"`) {
			b.t.Errorf("the actuator's own status is %v", m.Status.ProviderStatus)
		}
		if status, err := s.Status(b.find(s, r)[0]); status != nil || err != nil {
			b.t.Error("the engine is given a status to write")
		}
		b.find(s, r)
		again := b.machine(r)
		again.ResourceVersion = m.ResourceVersion // the fake increments it for patches without a change
		if !reflect.DeepEqual(again, m) {
			b.t.Errorf("another look changes the machine from %+v to %+v", m, again)
		}
	})
}

// TestTheWholeMachineIsHandedOn: the actuator gets the Machine of the API server, with the spec of the class,
// which is not stored.
func TestTheWholeMachineIsHandedOn(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		b.actuator = &stub{exists: func(ctx context.Context, m *machinev1.Machine) (bool, error) {
			if m.Labels["pool"] != "a" || m.ResourceVersion == "" || string(m.Spec.ProviderSpec.Value.Raw) != `{"flavor":"other"}` {
				b.t.Errorf("the actuator is given %+v", m)
			}
			was := m.DeepCopy()
			m.Labels["seen"] = "yes"
			return true, b.api.Patch(ctx, m, client.MergeFrom(was))
		}}
		r := b.declared("m")
		m := b.machine(r)
		m.Labels["pool"] = "a"
		b.must(b.api.Update(b.t.Context(), m))
		s, err := b.start().Open(b.t.Context(), provider.Class{API: provider.OpenShift, Cluster: "blue", Spec: []byte(`{"flavor":"other"}`)})
		b.must(err)
		b.find(s, r)
		if m := b.machine(r); m.Labels["seen"] != "yes" || !strings.Contains(string(m.Spec.ProviderSpec.Value.Raw), "m1.test") {
			b.t.Errorf("the machine is %+v", m)
		}
	})
}

// TestFailureIsToldByTheNextCall: the next caller gets the outcome of a call for which no caller waited,
// once.
func TestFailureIsToldByTheNextCall(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		a := &stub{create: func(context.Context, *machinev1.Machine) error {
			time.Sleep(time.Minute)
			return &reference.MachineError{Reason: machinev1.InvalidConfigurationMachineError, Message: "no such image"}
		}}
		b.actuator = a
		s, r := b.open(b.start()), b.declared("m")
		if i, _, err := b.create(s, r); err != nil || i.State != provider.Pending {
			b.t.Fatalf("create reports %+v, error %v", i, err)
		}
		time.Sleep(2 * time.Minute)
		if all := b.find(s, r); len(all) > 0 {
			b.t.Errorf("after it failed, find reports %+v", all)
		}
		if _, took, err := b.create(s, r); provider.KindOf(err) != provider.Invalid || err.Error() != "no such image" || took > 0 {
			b.t.Errorf("the next create fails with %v after %v", err, took)
		}
		if a.count("create") != 1 {
			b.t.Errorf("the actuator was asked %d times", a.count("create"))
		}
	})
}

// TestADeafActuatorIsWaitedFor: an actuator that ignores its context delays only its own machine.
func TestADeafActuatorIsWaitedFor(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		free := make(chan struct{})
		a := &stub{exists: func(_ context.Context, m *machinev1.Machine) (bool, error) {
			if m.Name == "deaf" {
				<-free
			}
			return true, nil
		}}
		b.actuator = a
		s, deaf, other := b.open(b.start()), b.declared("deaf"), b.declared("other")
		for n, most := range []time.Duration{20 * time.Second, time.Second, time.Second} {
			began := time.Now()
			if _, err := s.Find(b.t.Context(), deaf); provider.KindOf(err) != provider.Transient || time.Since(began) > most {
				b.t.Errorf("find number %d ends after %v with %v", n, time.Since(began), err)
			}
		}
		if all := b.find(s, other); len(all) != 1 {
			b.t.Errorf("of another machine, find reports %+v", all)
		}
		if n := a.count("exists"); n != 2 {
			b.t.Errorf("the actuator was asked %d times", n)
		}
		close(free)
		time.Sleep(time.Second)
		if all := b.find(s, deaf); len(all) != 1 {
			b.t.Errorf("once it hears, find reports %+v", all)
		}
	})
}

// TestAPanicEndsACall: and the process continues.
func TestAPanicEndsACall(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		b.actuator = &stub{create: func(context.Context, *machinev1.Machine) error { panic("no such map") }}
		if _, _, err := b.create(b.open(b.start()), b.declared("m")); provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "no such map") {
			b.t.Errorf("create fails with %v", err)
		}
	})
}

// TestCrashIsFoundAgain: the process ends while the actuator waits for the server.
func TestCrashIsFoundAgain(t *testing.T) {
	inBubble(t, reference.Habits{Blocks: true}, func(b *bench) {
		all, crash := context.WithCancel(b.life)
		was := b.life
		b.life = all
		r := b.declared("m")
		if _, _, err := b.create(b.open(b.start()), r); err != nil {
			b.t.Fatal(err)
		}
		crash()
		b.life = was
		s := b.open(b.start())
		if got := shape(b.find(s, r)); got != "m Pending unclaimed unnamed" {
			b.t.Errorf("the next process finds %q", got)
		}
		if _, _, err := b.create(s, r); err != nil {
			b.t.Errorf("create: %v", err)
		}
		time.Sleep(2 * boot)
		if got := shape(b.find(s, r)); got != "m Running" {
			b.t.Errorf("in the end it finds %q", got)
		}
		b.holds(1)
	})
}

// TestAFreshProcessDoubtsEmptiness: the earlier process has created an instance that no listing shows yet.
func TestAFreshProcessDoubtsEmptiness(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		r := b.declared("m")
		b.plant("blue", "m")
		b.must(b.cloud.Do("lag", (lag - time.Second).String()))
		b.settled = false
		s := b.open(b.start())
		if _, _, err := b.create(s, r); err != nil {
			b.t.Fatal(err)
		}
		time.Sleep(2 * lag)
		if _, _, err := b.create(s, r); err != nil {
			b.t.Fatal(err)
		}
		if ids := b.servers("blue")["m"]; len(ids) != 1 {
			b.t.Errorf("the cloud has the servers %v", ids)
		}
	})
}

// TestOneInstanceForTheLifeOfAMachine: a dead instance is reported as such, and not created again.
func TestOneInstanceForTheLifeOfAMachine(t *testing.T) {
	inBubble(t, reference.Habits{NoProviderID: true}, func(b *bench) {
		s, r := b.open(b.start()), b.declared("m")
		if _, _, err := b.create(s, r); err != nil {
			b.t.Fatal(err)
		}
		time.Sleep(2 * boot)
		if got := shape(b.find(s, r)); got != "m Running unnamed" {
			b.t.Fatalf("find reports %q", got)
		}
		b.must(b.cloud.Do("terminate", b.servers("blue")["m"][0]))
		time.Sleep(time.Second)
		if all := b.find(s, r); len(all) > 0 {
			b.t.Errorf("find reports %+v", all)
		}
		if i, _, err := b.create(s, r); err != nil || i.State != provider.Terminated {
			b.t.Errorf("create reports %+v, error %v", i, err)
		}
		b.holds(0)
	})
}

// TestWhatIsThereIsAdopted: another controller has created the instance, with the same name.
func TestWhatIsThereIsAdopted(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		b.plant("blue", "m")
		s, r := b.open(b.start()), b.declared("m")
		if got := shape(b.find(s, r)); got != "m Running" {
			b.t.Errorf("find reports %q", got)
		}
		b.holds(1)
	})
}

// TestOnlyTheMachineThatIsMeant: another machine has the name by now. No instance is created for the deleted
// one.
func TestOnlyTheMachineThatIsMeant(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		a := &stub{}
		b.actuator = a
		s := b.open(b.start())
		former := b.declared("m")
		former.UID = "1f1c5b5e-5d0f-4b8e-9a60-000000000001"
		if _, _, err := b.create(s, former); provider.KindOf(err) != provider.Conflict {
			b.t.Errorf("create for a machine that is gone fails with %v", err)
		}
		leaving := b.declared("leaving")
		m := b.machine(leaving)
		m.Finalizers = []string{"x/y"}
		b.must(b.api.Update(b.t.Context(), m))
		b.must(b.api.Delete(b.t.Context(), m))
		if _, _, err := b.create(s, leaving); provider.KindOf(err) != provider.Conflict {
			b.t.Errorf("create for one on its way out fails with %v", err)
		}
		if a.count("create") > 0 {
			b.t.Error("the actuator was asked to create")
		}
	})
}

// TestWhatUpdateFailsWith: before the node joins, the machine waits and reports the error; after that the
// error is reported, and has no other effect.
func TestWhatUpdateFailsWith(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		said := errors.New("no such subnet")
		a := &stub{exists: there, update: func(context.Context, *machinev1.Machine) error { return said }}
		b.actuator = a
		s, r := b.open(b.start()), b.declared("m")
		found := b.find(s, r)
		if got := shape(found); got != "m Running unclaimed unnamed uninitialized" {
			b.t.Errorf("find reports %q", got)
		}
		if err := s.(provider.Initializer).Initialize(b.t.Context(), r, found[0]); !errors.Is(err, said) || a.count("update") != 1 {
			b.t.Errorf("initialize: %v, after %d updates", err, a.count("update"))
		}
		if err := s.(provider.Initializer).Initialize(b.t.Context(), r, found[0]); !errors.Is(err, said) || a.count("update") != 2 {
			b.t.Errorf("again: %v, after %d updates", err, a.count("update"))
		}
		b.joined(r)
		if found = b.find(s, r); shape(found) != "m Running unclaimed unnamed" {
			b.t.Errorf("with a node, find reports %q", shape(found))
		}
		keep := s.(provider.Maintainer)
		if !keep.Unkept(r, found[0]) {
			b.t.Error("nothing is to be mended")
		}
		if err := keep.Maintain(b.t.Context(), r, found[0]); !errors.Is(err, said) {
			b.t.Errorf("maintain: %v", err)
		}
		said = &reference.RequeueAfterError{RequeueAfter: time.Minute}
		if found = b.find(s, r); keep.Unkept(r, found[0]) || found[0].State != provider.Running {
			b.t.Errorf("one that asks for patience is told: %+v", found)
		}
	})
}

// TestWhoIsNotRefreshed: machines that failed, and those on their way out, as by the original.
func TestWhoIsNotRefreshed(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		a := &stub{exists: there}
		b.actuator = a
		s, failed, leaving := b.open(b.start()), b.declared("failed"), b.declared("leaving")
		m, phase := b.machine(failed), "Failed"
		m.Status.Phase = &phase
		b.must(b.api.Status().Update(b.t.Context(), m))
		m = b.machine(leaving)
		m.Finalizers = []string{"x/y"}
		b.must(b.api.Update(b.t.Context(), m))
		b.must(b.api.Delete(b.t.Context(), m))
		b.find(s, failed)
		b.find(s, leaving)
		if a.count("exists") != 2 || a.count("update") != 0 {
			b.t.Errorf("the actuator was asked %v", a.asked())
		}
	})
}

// TestLossOfSightIsNoLossOfMachines: the API server, or the cloud, does not answer.
func TestLossOfSightIsNoLossOfMachines(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		s, r := b.open(b.start()), b.declared("m")
		if _, _, err := b.create(s, r); err != nil {
			b.t.Fatal(err)
		}
		time.Sleep(2 * boot)
		found := b.find(s, r)
		b.server.Inject(double.Fault{Failure: double.Failure{Kind: string(provider.Transient)}, Operation: "nova.GET.servers.id", Times: 1})
		if all, err := s.Find(b.t.Context(), r); err == nil {
			b.t.Errorf("find reports %+v", all)
		}
		b.server.Inject(double.Fault{Failure: double.Failure{Kind: string(provider.Transient)}, Operation: "nova.GET.servers.id", Times: 1})
		if done, err := s.Delete(b.t.Context(), r, found); done || err == nil {
			b.t.Errorf("delete: done %t, error %v", done, err)
		}
		b.holds(1)
	})
}

// TestWithoutARecordItIsPending: as long as neither provider ID nor addresses say what it is, as by the original.
func TestWithoutARecordItIsPending(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		b.actuator = &stub{exists: there}
		s, r := b.open(b.start()), b.declared("m")
		if got := shape(b.find(s, r)); got != "m Pending unclaimed unnamed" {
			b.t.Errorf("find reports %q", got)
		}
	})
}
