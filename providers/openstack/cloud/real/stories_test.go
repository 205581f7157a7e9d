package real_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/millwright-dev/millwright/provider"
)

func networkID(ctx context.Context, c *gophercloud.ServiceClient, name string) (string, error) {
	pages, err := networks.List(c, networks.ListOpts{Name: name}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	all, err := networks.ExtractNetworks(pages)
	if err != nil || len(all) != 1 {
		return "", fmt.Errorf("%d networks are called %s: %w", len(all), name, err)
	}
	return all[0].ID, nil
}

// TestLife: a server is created, found, listed, switched and deleted, in both APIs, in a network of the
// project and in one of another project.
func TestLife(t *testing.T) {
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		for _, network := range []string{"net1", "shared1"} {
			if api == provider.Gardener && network == "shared1" {
				continue // TestPodsInNetworksOfOthers
			}
			t.Run(api+" "+network, func(t *testing.T) {
				w := newWorld(t)
				s, r := w.openClass(w.class(api, network)), ref(1)
				made, err := create(t.Context(), s, r)
				if err != nil {
					t.Fatal(err)
				}
				i, err := running(t.Context(), s, r)
				if err != nil || i.ID != made.ID || i.UID != r.UID || i.Type != "m1.test" || i.Zone != "nova" || len(i.Addresses) != 3 || i.Namespace != r.Namespace || i.Owner == "" {
					t.Fatalf("%+v, %v", i, err)
				}
				t.Logf("%s: %s in %v, after %v", api, i.ProviderID, i.Addresses, time.Since(i.Created).Round(time.Second))
				if s.(provider.Maintainer).Unkept(r, i) {
					t.Error("it lacks tags or metadata that it was made with")
				}
				listed := 0
				for l, err := range s.List(t.Context()) {
					if err != nil || l.ID != i.ID {
						t.Errorf("%+v, %v", l, err)
					}
					listed++
				}
				if listed != 1 {
					t.Errorf("%d are listed", listed)
				}
				w.switched(s, r, i)
				if again, err := w.openClass(w.class(api, network)).Create(t.Context(), r, provider.Want{}); err != nil || again.ID != i.ID {
					t.Errorf("made again by another process: %s, %v", again.ID, err)
				}
				if err := remove(t.Context(), s, r, i); err != nil {
					t.Error(err)
				}
				w.nothing()
			})
		}
	}
}

// TestPodsInNetworksOfOthers: Neutron lets only the owner of a network set the address pairs of a port. The
// error reports that, and does not blame the MAC address.
func TestPodsInNetworksOfOthers(t *testing.T) {
	w := newWorld(t)
	s, r := w.openClass(w.class(provider.Gardener, "shared1")), ref(1)
	if _, err := s.Create(t.Context(), r, provider.Want{}); provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), "allowed_address_pairs") {
		t.Errorf("%v", err)
	}
	w.nothing()
}

func (w *world) switched(s provider.Session, r provider.Ref, i provider.Instance) {
	w.t.Helper()
	for _, op := range []struct {
		op   provider.PowerOp
		then provider.State
	}{{provider.PowerOff, provider.Stopped}, {provider.PowerOff, provider.Stopped}, {provider.PowerOn, provider.Running}, {provider.Reboot, provider.Running}} {
		err := until(w.t.Context(), func() (bool, error) {
			err := s.(provider.Powerer).Power(w.t.Context(), r, i, op.op, "")
			return err == nil, notConflict(err)
		})
		if err != nil {
			w.t.Errorf("power %s: %v", op.op, err)
		}
		err = until(w.t.Context(), func() (bool, error) {
			all, err := s.Find(w.t.Context(), r)
			return err == nil && len(all) == 1 && all[0].State == op.then && !strings.Contains(all[0].RawState, "("), err
		})
		if err != nil {
			w.t.Errorf("after power %s: %v", op.op, err)
		}
	}
	if out, err := s.(provider.ConsoleReader).Console(w.t.Context(), r, i, 1000); err != nil || out == "" {
		w.t.Errorf("console: %q, %v", out, err)
	}
	if size, err := s.(provider.Sizer).Size(w.t.Context()); err != nil || size.VCPU != 2 || size.MemoryMiB != 4096 {
		w.t.Errorf("size: %+v, %v", size, err)
	}
}

func notConflict(err error) error {
	if provider.KindOf(err) == provider.Conflict {
		return nil
	}
	return err
}

// TestThirtyInParallel: each machine gets one server, and nothing is left.
func TestThirtyInParallel(t *testing.T) {
	w := newWorld(t)
	s := w.session("net1")
	refs := make([]provider.Ref, 30)
	for n := range refs {
		refs[n] = ref(n)
	}
	began := time.Now()
	err := together(len(refs), func(n int) error {
		if _, err := create(t.Context(), s, refs[n]); err != nil {
			return err
		}
		_, err := running(t.Context(), s, refs[n])
		return err
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("30 servers run after %v", time.Since(began).Round(time.Second))
	listed := 0
	for _, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		listed++
	}
	if listed != len(refs) || len(w.ports()) != len(refs) {
		t.Errorf("%d servers and %d ports", listed, len(w.ports()))
	}
	if err := together(len(refs), func(n int) error { return remove(t.Context(), s, refs[n]) }); err != nil {
		t.Error(err)
	}
	w.nothing()
}

// TestQuota: a machine waits for capacity, and continues when there is some.
func TestQuota(t *testing.T) {
	w := newWorld(t)
	s, r := w.session("net1"), ref(1)
	w.quota(0, 0)
	_, err := create(t.Context(), s, r)
	if provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != provider.ScopeAccount || !strings.Contains(err.Error(), "Quota exceeded") {
		t.Errorf("%v", err)
	}
	w.quota(100, 200)
	if _, err := create(t.Context(), s, r); err != nil {
		t.Error(err)
	}
	if err := remove(t.Context(), s, r); err != nil {
		t.Error(err)
	}
	w.nothing()
}

// TestNoValidHost: the server is accepted, goes into ERROR with the cause, and can be deleted.
func TestNoValidHost(t *testing.T) {
	w := newWorld(t)
	s, r := w.session("net1"), ref(1)
	w.scheduling(false)
	t.Cleanup(func() { w.scheduling(true) })
	if _, err := create(t.Context(), s, r); err != nil {
		t.Fatalf("Nova accepts it: %v", err)
	}
	var i provider.Instance
	err := until(t.Context(), func() (bool, error) {
		all, err := s.Find(t.Context(), r)
		if err == nil && len(all) == 1 {
			i = all[0]
		}
		return i.Fault != nil, err
	})
	if err != nil || i.Fault == nil || i.Fault.Kind != provider.Exhausted || i.Fault.Scope != provider.ScopeType || i.State != provider.Stopped {
		t.Errorf("%+v, fault %v, error %v", i, i.Fault, err)
	}
	if err := remove(t.Context(), s, r, i); err != nil {
		t.Error(err)
	}
	w.nothing()
}

// TestBadNames: invalid names are reported with the field.
func TestBadNames(t *testing.T) {
	w := newWorld(t)
	for set, field := range map[string]string{
		`,"flavor":"nope"`: "flavor", `,"image":"nope"`: "image", `,"availabilityZone":"mars"`: "availabilityZone", `,"keyName":"nope"`: "keyName",
		`,"networks":[{"filter":{"name":"nope"}}]`: "networks[0]", `,"networks":[{"uuid":"00000000-0000-4000-8000-000000000000"}]`: "networks[0]",
		`,"securityGroups":[{"uuid":"00000000-0000-4000-8000-000000000000"}]`: "securityGroups", `,"serverGroupID":"00000000-0000-4000-8000-000000000000"`: "serverGroupID",
		`,"tags":["a/b"]`: "tags", `,"serverMetadata":{"a/b":"c"}`: "serverMetadata",
	} {
		s, r := w.session("net1", set), ref(1)
		_, err := create(t.Context(), s, r)
		e, ok := fieldOf(err)
		if !ok || e != field {
			t.Errorf("%s: %v, want field %s", set, err, field)
		}
		if err := remove(t.Context(), s, r); err != nil {
			t.Errorf("%s: %v", set, err)
		}
	}
	w.nothing()
}

// TestPortsLeftBehind: ports of a process that ended before it requested the server, with a trunk, are
// listed, unused, and removed.
func TestPortsLeftBehind(t *testing.T) {
	w := newWorld(t)
	r := ref(1)
	more := `,"availabilityZone":"mars","trunk":true,"ports":[{"networkID":"` + must(networkID(t.Context(), w.network, "net1"))(t) + `","nameSuffix":"x","description":"for backups"}]`
	s := w.session("net1", more)
	if _, err := create(t.Context(), s, r); provider.KindOf(err) != provider.Invalid {
		t.Fatalf("%v", err)
	}
	if n := len(w.ports()); n != 2 {
		t.Errorf("%d ports are left", n)
	}
	listed := 0
	for l, err := range s.(provider.LeftoverLister).Leftovers(t.Context()) {
		if err != nil || l.UID != r.UID || l.Namespace != r.Namespace || l.Owner == "" {
			t.Errorf("%+v, %v", l, err)
		}
		listed++
	}
	if listed != 2 {
		t.Errorf("%d leftovers are listed", listed)
	}
	good := w.session("net1", strings.Replace(more, `"availabilityZone":"mars",`, "", 1))
	if _, err := good.Create(t.Context(), r, provider.Want{}); provider.KindOf(err) != provider.Conflict {
		t.Errorf("another process, at once: %v, want a Conflict", err)
	}
	bare := w.class(provider.OpenShift, "net1")
	bare.Spec = nil
	one, _, _ := strings.Cut(w.file, "  admin:")
	bare.Credentials = map[string][]byte{"clouds.yaml": []byte(one)}
	if err := remove(t.Context(), w.openClass(bare), r); err != nil {
		t.Error(err)
	}
	w.nothing()
}

// TestTrunks: trunks are created and deleted with their server.
func TestTrunks(t *testing.T) {
	w := newWorld(t)
	s, r := w.session("net1", `,"trunk":true`), ref(1)
	if _, err := create(t.Context(), s, r); err != nil {
		t.Fatal(err)
	}
	i, err := running(t.Context(), s, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := remove(t.Context(), s, r, i); err != nil {
		t.Error(err)
	}
	w.nothing()
}

// TestTwoControllers: two controllers create the same machines at the same time, and each machine gets one
// server.
func TestTwoControllers(t *testing.T) {
	for _, network := range []string{"net1", "shared1"} {
		t.Run(network, func(t *testing.T) {
			w := newWorld(t)
			const machines, controllers = 8, 2
			refs := make([]provider.Ref, machines)
			for n := range refs {
				refs[n] = ref(n)
			}
			all := []provider.Session{w.session(network), w.session(network)}
			var conflicts atomic.Int32
			err := together(machines*controllers, func(n int) error {
				_, err := all[n%controllers].Create(t.Context(), refs[n/controllers], provider.Want{})
				if provider.KindOf(err) == provider.Conflict {
					conflicts.Add(1)
					return nil
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			t.Logf("%d of %d were told that another is at it", conflicts.Load(), machines*controllers)
			ids := map[string]string{}
			for n, r := range refs {
				// A process that gets a Conflict retries; a port that both have released is created again
				// after the lease.
				i, err := create(t.Context(), all[n%controllers], r)
				if err != nil {
					t.Error(err)
					continue
				}
				ids[i.ID] = r.Name
				if _, err := running(t.Context(), all[0], r); err != nil {
					t.Errorf("%s: %v", r.Name, err)
				}
			}
			found := must(servers.ExtractServers(must(servers.List(w.compute, servers.ListOpts{}).AllPages(t.Context()))(t)))(t)
			count := 0
			for _, s := range found {
				if s.Metadata["millwright.dev-cluster"] == w.cluster {
					count++
				}
			}
			if count != machines || len(ids) != machines {
				t.Errorf("%d servers of %d machines", count, machines)
			}
			err = together(machines, func(n int) error { return remove(t.Context(), all[0], refs[n]) })
			if err != nil {
				t.Error(err)
			}
			w.nothing()
		})
	}
}

// TestCredentialsRevoked: a wrong password is a denial, and does not mean that a machine is missing.
func TestCredentialsRevoked(t *testing.T) {
	w := newWorld(t)
	class := w.class(provider.OpenShift, "net1")
	class.Credentials = map[string][]byte{"clouds.yaml": []byte(strings.ReplaceAll(w.file, "password: secret", "password: wrong"))}
	all, err := w.openClass(class).Find(t.Context(), ref(1))
	if provider.KindOf(err) != provider.Denied || len(all) > 0 || !strings.Contains(err.Error(), fmt.Sprint(http.StatusUnauthorized)) {
		t.Errorf("%v, %v", all, err)
	}
}
