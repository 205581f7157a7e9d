package cloud_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/prism"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// spending returns a function with the numbers of requests since its last call.
func (w *world) spending() func() map[string]int {
	before := map[string]int{}
	return func() map[string]int {
		now, out := w.server.Counts(), map[string]int{}
		for operation, n := range now {
			if n > before[operation] {
				out[operation] = n - before[operation]
			}
		}
		before = now
		return out
	}
}

// eachMachine runs a function for several machines at the same time.
func eachMachine(t *testing.T, machines int, do func(ctx context.Context, n int, ref provider.Ref) error) {
	t.Helper()
	var wg sync.WaitGroup
	for n := range machines {
		wg.Go(func() {
			if err := do(t.Context(), n, refOf(fmt.Sprintf("worker-%d", n))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestRequestsOfTwentyMachines counts requests for machines that are created, at rest and deleted.
func TestRequestsOfTwentyMachines(t *testing.T) {
	const machines = 20
	w := sample(t)
	s, err := decorate.Coalesce(w.start(), w.clock, decorate.Reads{}).Open(t.Context(), classOf("", "c1"))
	if err != nil {
		t.Fatal(err)
	}
	spent, all := w.spending(), make([]provider.Instance, machines)
	eachMachine(t, machines, func(ctx context.Context, n int, ref provider.Ref) (err error) {
		if _, err = s.Find(ctx, ref); err == nil {
			all[n], err = s.Create(ctx, ref, want)
		}
		return err
	})
	got := spent()
	t.Logf("creating: %v", got)
	lookups := got["POST clusters/list"] + got["POST images/list"] + got["POST subnets/list"] + got["GET categories/*/*"]
	if got["POST vms"] != machines || got["POST idempotence_identifiers"] != machines || got["POST vms/list"]+got["GET idempotence_identifiers/*"] > 2*machines+3 || lookups > 5 || len(got) != 8 {
		t.Errorf("creating: %v", got)
	}
	w.clock.Advance(2 * time.Minute)
	for range 6 { // a minute at rest: every machine is read every ten seconds
		eachMachine(t, machines, func(ctx context.Context, n int, ref provider.Ref) error {
			ref.ProviderID = all[n].ProviderID
			is, err := s.Find(ctx, ref)
			if err == nil && len(is) != 1 {
				err = fmt.Errorf("%d instances", len(is))
			}
			return err
		})
		w.clock.Advance(10 * time.Second)
	}
	if got = spent(); got["POST vms/list"] > 30 || len(got) > 2 {
		t.Errorf("at rest: %v", got)
	}
	t.Logf("at rest: %v", got)
	for range 2 {
		eachMachine(t, machines, func(ctx context.Context, n int, ref provider.Ref) error {
			_, err := s.Delete(ctx, ref, all[n:n+1])
			return err
		})
		w.clock.Advance(5 * time.Second)
	}
	got = spent()
	t.Logf("deleting: %v", got)
	reads := 0
	for operation, n := range got {
		if operation != "DELETE vms/*" && operation != "DELETE idempotence_identifiers/*" {
			reads += n
		}
	}
	if got["DELETE vms/*"] != machines || reads > 3*machines || len(w.Instances()) > 0 {
		t.Errorf("deleting: %v", got)
	}
}

// allowed are the documented operations.
func allowed(t *testing.T) (operations []string) {
	t.Helper()
	raw, err := os.ReadFile("../../../docs/providers/nutanix-operations.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &operations); err != nil {
		t.Fatal(err)
	}
	return operations
}

// restricted is a world whose user may call only some operations.
func restricted(t *testing.T, operations []string) *world {
	t.Helper()
	w := newWorld(t, prism.Options{Inventory: inventory()})
	user := prism.Sample().Credentials[0]
	for _, o := range operations {
		user.Allow = append(user.Allow, escaped(o))
	}
	w.SetCredentials(user)
	return w
}

// escaped is an operation as a pattern for itself.
func escaped(operation string) string {
	out := ""
	for _, c := range operation {
		if c == '*' {
			out += `\`
		}
		out += string(c)
	}
	return out
}

// TestTheOperationsSuffice: the documented operations suffice, and each of them is used.
func TestTheOperationsSuffice(t *testing.T) {
	w := restricted(t, allowed(t))
	w.playLife(t)
	class := patched(t, classOf("", "c1"), `{"cluster":{"type":"uuid","uuid":"0005f1a0-0000-4000-8000-00000000000a"},"image":{"type":"uuid","uuid":"`+imageA+`"},
		"subnets":[{"type":"uuid","uuid":"0005f1a0-0000-4000-8000-00000000020a"}],"project":{"type":"uuid","uuid":"0005f1a0-0000-4000-8000-000000000301"},"gpus":[{"type":"DeviceID","deviceID":7864}]}`)
	for _, c := range []provider.Class{class, patched(t, class, `{"project":{"type":"name","name":"machines"}}`)} {
		if _, err := w.open(t, c).Create(t.Context(), refOf("worker-"+fmt.Sprint(len(w.Instances()))), want); err != nil {
			t.Fatal(err)
		}
	}
	used := w.server.Counts()
	for _, operation := range allowed(t) {
		if used[operation] == 0 {
			t.Errorf("the permission for %s is not needed", operation)
		}
	}
	for _, r := range w.server.Requests() {
		if r.Status >= 400 && r.Status != 404 {
			t.Errorf("%s is refused with %d", r.Operation, r.Status)
		}
	}
}

// TestMissingPermissions: a missing permission is Denied, and no empty answer.
func TestMissingPermissions(t *testing.T) {
	for _, missing := range []string{
		"POST vms/list", "POST vms", "POST idempotence_identifiers", "GET idempotence_identifiers/*", "POST clusters/list", "POST images/list", "POST subnets/list", "GET categories/*/*",
	} {
		w := restricted(t, slices.DeleteFunc(allowed(t), func(o string) bool { return o == missing }))
		_, err := w.open(t, classOf("", "c1")).Create(t.Context(), refOf("worker-1"), want)
		if provider.KindOf(err) != provider.Denied {
			t.Errorf("without %s: %v of kind %q", missing, err, provider.KindOf(err))
		}
		if n := len(w.Instances()); n > 0 {
			t.Errorf("without %s there are %d", missing, n)
		}
	}
}

// TestOperationsAreDescribed: the list of operations has exactly those of the description.
func TestOperationsAreDescribed(t *testing.T) {
	described := maps.Clone(describedAPI(t).Operations)
	for _, o := range allowed(t) {
		name := variables.Replace(o[:len(o)-len(pathOf(o))] + "/" + pathOf(o))
		if _, ok := described[name]; !ok {
			t.Errorf("the description has no %s", name)
		}
		delete(described, name)
	}
	if len(described) > 0 {
		t.Errorf("the list lacks %v", slices.Sorted(maps.Keys(described)))
	}
}

func pathOf(operation string) string {
	for i, c := range operation {
		if c == ' ' {
			return operation[i+1:]
		}
	}
	return operation
}
