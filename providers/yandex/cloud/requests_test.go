package cloud_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/yandex"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// TestRequestsOfTwentyMachines counts requests for machines that are created, at rest and deleted.
func TestRequestsOfTwentyMachines(t *testing.T) {
	const machines = 20
	w := newWorld(t)
	s, err := decorate.Coalesce(w.start(), w.clock, decorate.Reads{}).Open(t.Context(), w.class("c1"))
	if err != nil {
		t.Fatal(err)
	}
	spent := w.spending()
	all := make([]provider.Instance, machines)
	each(t, machines, func(ctx context.Context, n int, ref provider.Ref) (err error) {
		for range 3 { // the engine finds before it stores that it creates, and after
			if _, err := s.Find(ctx, ref); err != nil {
				return err
			}
		}
		all[n], err = s.Create(ctx, ref, want)
		return err
	})
	if got := spent(); got["Instance.Create"] != machines || got["Instance.List"] > 4*machines || got["IamToken.Create"] != 1 || len(got) != 3 {
		t.Errorf("creating: %v", got)
	} else {
		t.Logf("creating: %v", got)
	}
	w.clock.Advance(2 * minute)
	for range 6 { // a minute at rest: every machine is read every ten seconds
		each(t, machines, func(ctx context.Context, n int, ref provider.Ref) error {
			ref.ProviderID = all[n].ProviderID
			is, err := s.Find(ctx, ref)
			if err == nil && len(is) != 1 {
				err = fmt.Errorf("%d instances", len(is))
			}
			return err
		})
		w.clock.Advance(10 * second)
	}
	if got := spent(); got["Instance.List"]+got["Instance.Get"] > 60 || got["Instance.Create"]+got["Instance.Delete"] > 0 {
		t.Errorf("at rest: %v", got)
	} else {
		t.Logf("at rest: %v", got)
	}
	for range 2 {
		each(t, machines, func(ctx context.Context, n int, ref provider.Ref) error {
			all[n].State = provider.Running
			_, err := s.Delete(ctx, ref, all[n:n+1])
			return err
		})
		w.clock.Advance(10 * second)
	}
	if got := spent(); got["Instance.Delete"] != machines || got["Instance.List"] > 2*machines || len(w.Instances()) > 0 {
		t.Errorf("deleting: %v", got)
	} else {
		t.Logf("deleting: %v", got)
	}
}

// spending returns the numbers of requests since its last call, by operation.
func (w *world) spending() func() map[string]int {
	before := w.server.Counts()
	return func() map[string]int {
		now, out := w.server.Counts(), map[string]int{}
		for op, n := range now {
			if n > before[op] {
				out[op] = n - before[op]
			}
		}
		before = now
		return out
	}
}

// each calls do for several machines at the same time.
func each(t *testing.T, machines int, do func(ctx context.Context, n int, ref provider.Ref) error) {
	t.Helper()
	var wg sync.WaitGroup
	for n := range machines {
		wg.Go(func() {
			ref := provider.Ref{UID: fmt.Sprintf("0b8f5c3e-1d2a-4c6b-9e7f-%012d", n), Namespace: "machines", Name: fmt.Sprintf("worker-%d", n)}
			if err := do(t.Context(), n, ref); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// documentedRoles are those of the documentation, for specs with public addresses.
func documentedRoles(t *testing.T) (all []string) {
	t.Helper()
	raw, err := os.ReadFile("../../../docs/providers/yandex-roles.json")
	if err != nil {
		t.Fatal(err)
	}
	var roles []struct{ Role string }
	if err := json.Unmarshal(raw, &roles); err != nil {
		t.Fatal(err)
	}
	for _, r := range roles {
		all = append(all, r.Role)
	}
	return all
}

// use calls everything that the provider calls, and returns the first refusal.
func (w *world) use(t *testing.T) error {
	ctx, ref := t.Context(), refOf("worker-1")
	s := w.open(t, patched(t, w.class("c1"), `{"networkInterfaceSpecs":[{"subnetID":"e9bexample0000000001","assignPublicIPAddress":true,"publicIPAddresses":["84.201.128.10"]}]}`))
	i, err := s.Create(ctx, ref, want)
	if err != nil {
		return err
	}
	w.clock.Advance(minute)
	console, _ := provider.As[provider.ConsoleReader](s)
	if text, err := console.Console(ctx, ref, i, 7); err != nil || text != "login: " {
		return fmt.Errorf("console %q: %w", text, err)
	}
	power, _ := provider.As[provider.Powerer](s)
	for _, op := range []provider.PowerOp{provider.Reboot, provider.PowerOff, provider.PowerOn} {
		if err := power.Power(ctx, ref, i, op, "r"); err != nil {
			return err
		}
		w.clock.Advance(minute)
	}
	if err := w.Do("unlabel", i.ID+"=millwright.dev/machine-namespace"); err != nil {
		return err
	}
	all, err := s.Find(ctx, ref)
	if err != nil || len(all) != 1 {
		return fmt.Errorf("found %v: %w", all, err)
	}
	maintainer, _ := provider.As[provider.Maintainer](s)
	if err := maintainer.Maintain(ctx, ref, all[0]); err != nil {
		return err
	}
	w.SetLag(second) // the operation of a creation is read
	if _, err := s.Create(ctx, refOf("worker-2"), want); err != nil && provider.KindOf(err) != provider.Exhausted {
		return err
	}
	other := w.open(t, w.class("c1"))
	if _, err := other.Create(ctx, refOf("worker-3"), want); err != nil {
		return err
	}
	if _, err := other.Find(ctx, refOf("worker-3")); err != nil {
		return err
	}
	w.SetLag(0)
	w.clock.Advance(minute)
	return w.deleted(ctx, s, ref, i)
}

// TestTheRolesAreSufficient: the documented roles suffice for everything, and each is needed.
func TestTheRolesAreSufficient(t *testing.T) {
	all := documentedRoles(t)
	w := newWorld(t)
	w.Permit(yandex.SampleAccount, all...)
	if err := w.use(t); err != nil {
		t.Errorf("with %q: %v", all, err)
	}
	for operation := range w.server.Counts() {
		if name := strings.TrimSuffix(operation, "+"); !yandex.RolesAllow(all, name) && name != "IamToken.Create" {
			t.Errorf("%s needs no role of the documentation", name)
		}
	}
	if len(all) < 3 {
		t.Errorf("roles %q", all)
	}
	for _, role := range all {
		w := newWorld(t)
		w.Permit(yandex.SampleAccount, slices.DeleteFunc(slices.Clone(all), func(r string) bool { return r == role })...)
		if err := w.use(t); provider.KindOf(err) != provider.Denied {
			t.Errorf("without %s: %v", role, err)
		}
	}
}

// TestSize: the spec has the size of an instance.
func TestSize(t *testing.T) {
	w := newWorld(t)
	sizer, _ := provider.As[provider.Sizer](w.open(t, patched(t, w.class("c1"), `{"platformID":"gpu-standard-v3","resourcesSpec":{"cores":8,"memory":103079215104,"gpus":1}}`)))
	size, err := sizer.Size(t.Context())
	if err != nil || size.VCPU != 8 || size.MemoryMiB != 96<<10 || size.GPU != 1 || size.GPUResource != "nvidia.com/gpu" || size.Architecture != "amd64" || size.EphemeralStorageMiB != 50<<10 ||
		size.Labels["topology.kubernetes.io/zone"] != "ru-central1-a" || size.Labels["topology.kubernetes.io/region"] != "ru-central1" || len(w.server.Counts()) > 0 {
		t.Errorf("size: %+v, %v, requests %v", size, err, w.server.Counts())
	}
}

// TestRebootsOnce: a reboot with a request is one reboot, however often the call is repeated.
func TestRebootsOnce(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	s := w.open(t, w.class("c1"))
	i := w.created(t, s, ref)
	power, _ := provider.As[provider.Powerer](s)
	for n, request := range []string{"a", "a", "b"} {
		if err := power.Power(t.Context(), ref, i, provider.Reboot, request); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(minute)
		if boots := w.Guests()[0].Boots; boots != 1+n/2 {
			t.Errorf("after reboot %d: %d boots", n, boots)
		}
	}
}
