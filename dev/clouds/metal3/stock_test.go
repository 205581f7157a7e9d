package metal3_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/metal3"
)

// bench is one cluster of hosts.
type bench struct {
	t      *testing.T
	clock  *double.Clock
	cloud  *metal3.Cloud
	server *double.Server
}

func newBench(t *testing.T, acceptAny bool) *bench {
	t.Helper()
	b := &bench{t: t, clock: &double.Clock{}}
	inventory := metal3.Sample()
	inventory.Hosts = []metal3.Hosts{
		{Name: "worker", Count: 2, Labels: map[string]string{"role": "worker"}, CPUs: 16, MemoryMiB: 65536},
		{Name: "storage", Count: 1, Labels: map[string]string{"role": "storage"}, CPUs: 32, MemoryMiB: 131072},
	}
	b.cloud = metal3.New(b.clock, metal3.Options{Inventory: inventory, AcceptAny: acceptAny})
	b.server = double.NewServer(b.clock, b.cloud)
	return b
}

const path = "/apis/metal3.io/v1alpha1/namespaces/demo/baremetalhosts"

func (b *bench) ask(method, path, body string, into any) {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer secret")
	r.Header.Set("Content-Type", "application/merge-patch+json")
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	if w.Code != http.StatusOK || into != nil && json.Unmarshal(w.Body.Bytes(), into) != nil {
		b.t.Fatalf("%s %s is answered with %d: %s", method, path, w.Code, w.Body)
	}
}

// take and give claim and release a host, as machines do.
func (b *bench) take(host string) {
	b.t.Helper()
	b.ask(http.MethodPatch, path+"/"+host, `{"spec":{"online":true,"customDeploy":{"method":"m"},"consumerRef":{"kind":"Machine","name":"m"}}}`, nil)
}

func (b *bench) give(host string) {
	b.t.Helper()
	b.ask(http.MethodPatch, path+"/"+host, `{"spec":{"online":false,"customDeploy":null}}`, nil)
	b.settle()
	b.ask(http.MethodPatch, path+"/"+host, `{"spec":{"consumerRef":null}}`, nil)
}

func (b *bench) settle() {
	for range 6 {
		b.clock.Advance(time.Second)
		b.cloud.Instances()
	}
}

// free counts the working hosts of a role without a consumer.
func (b *bench) free(role string) (n int) {
	b.t.Helper()
	var list struct {
		Items []struct {
			Spec   struct{ ConsumerRef any }
			Status struct{ ErrorMessage string }
		}
	}
	b.ask(http.MethodGet, path+"?labelSelector=role%3D"+role, "", &list)
	for _, h := range list.Items {
		if h.Spec.ConsumerRef == nil && h.Status.ErrorMessage == "" {
			n++
		}
	}
	return n
}

// TestHostsAreMadeUp: the number of hosts is fixed. If hosts are generated, as many hosts are free at any time as
// initially.
func TestHostsAreMadeUp(t *testing.T) {
	for _, r := range []struct {
		acceptAny bool
		want      [3]int
	}{{false, [3]int{1, 0, 0}}, {true, [3]int{2, 2, 2}}} {
		b := newBench(t, r.acceptAny)
		var got [3]int
		for n, happens := range []func() error{
			func() error { b.take("worker-1"); return nil },
			func() error { return b.cloud.Do("fail", "demo/worker-2") },
			func() error { return b.cloud.Do("terminate", "demo/worker-2") },
		} {
			if err := happens(); err != nil {
				t.Fatal(err)
			}
			b.settle()
			got[n] = b.free("worker")
		}
		if other := b.free("storage"); got != r.want || other != 1 {
			t.Errorf("made up %t: %v workers are free, want %v, and %d others", r.acceptAny, got, r.want, other)
		}
	}
}

// TestAnotherGuest: after a release, another guest boots on the host. After a reboot, the same guest does.
func TestAnotherGuest(t *testing.T) {
	b := newBench(t, false)
	guest := func() string {
		t.Helper()
		b.settle()
		all := b.cloud.Guests()
		if len(all) != 1 {
			t.Fatalf("%d guests run", len(all))
		}
		return all[0].ID
	}
	b.take("worker-1")
	first := guest()
	b.ask(http.MethodPatch, path+"/worker-1", `{"metadata":{"annotations":{"reboot.metal3.io":""}}}`, nil)
	if rebooted := guest(); rebooted != first {
		t.Errorf("rebooted it is %s, was %s", rebooted, first)
	}
	b.give("worker-1")
	b.take("worker-1")
	if second := guest(); second == first {
		t.Errorf("%s has come back", second)
	}
}
