package cloud_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
)

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// counted returns the simulator's requests since the last count.
func (b *bench) counted(before map[string]int) (delta map[string]int, now map[string]int) {
	now = b.server.Counts()
	delta = map[string]int{}
	for op, n := range now {
		if d := n - before[op]; d > 0 {
			delta[op] = d
		}
	}
	return delta, now
}

// TestCallsPerMachine counts the calls for 50 machines: to create, to find, to delete.
func TestCallsPerMachine(t *testing.T) {
	const n = 50
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		t.Run(api, func(t *testing.T) {
			b := newBench(t, func(o *nova.Options) { o.PageSize = 1000 })
			s := b.session(b.class(api, "c1"))
			var refs []provider.Ref
			for k := range n {
				r := ref(fmt.Sprintf("m-%d", k))
				r.UID = fmt.Sprintf("0b2f6d3e-6b1c-4c56-9f1b-7f0b3c2a1d%02d", k)
				refs = append(refs, r)
			}
			made := map[string]provider.Instance{}
			for _, r := range refs {
				i, err := s.Create(t.Context(), r, provider.Want{UserData: []byte("x")})
				if err != nil {
					t.Fatal(err)
				}
				made[r.UID] = i
			}
			delta, before := b.counted(nil)
			expect(t, "make", delta, map[string]int{
				// Nova requires the port, Neutron the tags after it. One lookup checks whether another
				// choice has left a port in another network.
				"nova.POST.servers": n, "neutron.POST.ports": n, "neutron.PUT.ports.id.tags": n, "neutron.GET.ports": n,
				"nova.GET.servers.detail": 2 * n,
				// Once for all: the token, the versions of the services, and the lookups of names.
				"keystone.POST.auth.tokens": 1, "neutron.GET": 1, "glance.GET": 1, "nova.GET": 0,
				"nova.GET.flavors.detail": 1, "glance.GET.images": 1, "neutron.GET.security-groups": 1, "neutron.GET.subnets": 2,
			})
			b.clock.Advance(30e9)
			seen := 0
			for _, err := range s.List(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				seen++
			}
			delta, before = b.counted(before)
			if seen != n {
				t.Errorf("%d are listed", seen)
			}
			expect(t, "list", delta, map[string]int{"nova.GET.servers.detail": 1})
			for _, r := range refs {
				i := made[r.UID]
				if err := b.remove(s, r, i); err != nil {
					t.Fatal(err)
				}
			}
			delta, _ = b.counted(before)
			if w := writes(delta); w["nova.DELETE.servers.id"] != n || w["neutron.DELETE.ports.id"] != n || len(w) != 2 {
				t.Errorf("to remove %d machines: %v", n, w)
			}
			b.holds(t, 0, 0)
		})
	}
}

func expect(t *testing.T, what string, got, most map[string]int) {
	t.Helper()
	for _, op := range slices.Sorted(maps.Keys(got)) {
		if got[op] > most[op] {
			t.Errorf("%s: %s %d times, want %d at most", what, op, got[op], most[op])
		}
	}
}

func writes(all map[string]int) map[string]int {
	out := map[string]int{}
	for op, n := range all {
		if !strings.Contains(op, ".GET") && !strings.HasPrefix(op, "keystone.") {
			out[op] = n
		}
	}
	return out
}
