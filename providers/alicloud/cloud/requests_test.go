package cloud_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/ecs"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/fieldsdoc"
)

var want = provider.Want{UserData: []byte("#cloud-config\n"), Role: "worker"}

// refOf is a machine whose UID depends on its name.
func refOf(name string) provider.Ref {
	sum := sha256.Sum256([]byte(name))
	return provider.Ref{UID: fmt.Sprintf("0b8f5c3e-1d2a-4c6b-9e7f-%x", sum[:6]), Namespace: "machines", Name: name}
}

// patched is a class whose spec has a merge patch applied.
func patched(t *testing.T, class provider.Class, patch string) provider.Class {
	t.Helper()
	class.Spec = fieldsdoc.Patched(t, class.Spec, patch)
	return class
}

// sent creates a machine, and returns the parameters of the request that ECS received.
func sent(t *testing.T, class provider.Class, operation string) url.Values {
	t.Helper()
	w := newWorld(t, ecs.Options{Inventory: ecs.Sample()})
	if _, err := w.open(t, class).Create(t.Context(), refOf("worker-1"), want); err != nil {
		t.Fatal(err)
	}
	all := w.Received(operation)
	if len(all) == 0 {
		t.Fatalf("no request %s", operation)
	}
	return all[len(all)-1]
}

// tagsIn are the tags in a request.
func tagsIn(values url.Values) map[string]string {
	tags := map[string]string{}
	for n := 1; values.Has(fmt.Sprintf("Tag.%d.Key", n)); n++ {
		tags[values.Get(fmt.Sprintf("Tag.%d.Key", n))] = values.Get(fmt.Sprintf("Tag.%d.Value", n))
	}
	return tags
}

// TestTags: the tags of the original, those of the machine, and no tag of a user that names another owner.
func TestTags(t *testing.T) {
	ours := map[string]string{"millwright.dev/machine-uid": refOf("worker-1").UID, "millwright.dev/machine-namespace": "machines", "millwright.dev/owner": "owner-1", "millwright.dev/machine-role": "worker"}
	for api, more := range map[string]map[string]string{
		provider.OpenShift: {
			"kubernetes.io/cluster/c1": "owned", "Name": "worker-1", "GISV": "ocp", "kubernetes-sigs/cluster-api": "cluster-api-provider-alibaba",
			"sigs.k8s.io/cloud-provider-alibaba/origin": "ocp", "team": "blue",
		},
		provider.Gardener: {"kubernetes.io/cluster/c1": "1", "kubernetes.io/role/worker": "1", "team": "blue"},
	} {
		class := classOf(api, "c1")
		class.Owner = "owner-1"
		if api == provider.OpenShift {
			class = patched(t, class, `{"tag":[{"Key":"team","Value":"blue"},{"Key":"team","Value":"red"},{"Key":"millwright.dev/owner","Value":"me"},{"Key":"kubernetes.io/cluster/c2","Value":"owned"},{"Key":"Name","Value":"x"}]}`)
		} else {
			class = patched(t, class, `{"tags":{"kubernetes.io/cluster/c1":"1","kubernetes.io/role/worker":"1","team":"blue","millwright.dev/machine-uid":"me"}}`)
		}
		got := tagsIn(sent(t, class, "RunInstances"))
		for _, tags := range []map[string]string{ours, more} {
			for key, value := range tags {
				if got[key] != value {
					t.Errorf("%s: tag %s is %q, want %q", api, key, got[key], value)
				}
			}
		}
		if len(got) != len(ours)+len(more) {
			t.Errorf("%s: tags %v", api, got)
		}
	}
}

// TestClassWithoutTags: the name of the cluster replaces a missing tag.
func TestClassWithoutTags(t *testing.T) {
	w := sample(t)
	s := w.open(t, patched(t, classOf(provider.Gardener, "c1"), `{"tags":null}`))
	if _, err := s.Create(t.Context(), refOf("worker-1"), want); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("lists %d instances", n)
	}
}

// TestListingBeyondTheLimitOfTags: ECS ends a listing by tags after 1000 instances without an error.
func TestListingBeyondTheLimitOfTags(t *testing.T) {
	w := newWorld(t, ecs.Options{Inventory: ecs.Sample()})
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		class := classOf(api, "c-"+api[:9])
		for n := range 1003 {
			if err := w.plant(class, provider.Instance{UID: fmt.Sprint(n), Name: fmt.Sprintf("worker-%d", n)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.plant(classOf(api, "other"), provider.Instance{UID: "u", Name: "other"}); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, err := range w.open(t, class).List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if seen[i.ID] || i.Name == "other" {
				t.Errorf("lists %s (%s)", i.ID, i.Name)
			}
			seen[i.ID] = true
		}
		if len(seen) != 1003 {
			t.Errorf("%s: lists %d instances", api, len(seen))
		}
	}
}

// TestTokenOfAnotherRequest: a creation whose reply was lost is repeated after the class has changed. While the
// instance may be invisible, nothing is created; once it is visible, it is the machine's.
func TestTokenOfAnotherRequest(t *testing.T) {
	w := sample(t)
	ref, class := refOf("worker-1"), classOf(provider.Gardener, "c1")
	if _, err := w.open(t, class).Create(t.Context(), ref, want); err != nil {
		t.Fatal(err)
	}
	w.SetLag(10 * time.Second)
	changed := w.open(t, with(class, `"ecs.g7.large"`, `"ecs.g7.xlarge"`))
	if _, err := changed.Create(t.Context(), ref, want); provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "IdempotentParameterMismatch") {
		t.Errorf("create again: %v", err)
	}
	w.clock.Advance(11 * time.Second)
	if i, err := changed.Create(t.Context(), ref, want); err != nil || i.Type != "ecs.g7.large" {
		t.Errorf("create again: %v, %v", i, err)
	}
	if n := len(w.Instances()); n != 1 {
		t.Errorf("%d instances", n)
	}
}

// TestTokenOfARefusedRequest: a token whose request was refused is abandoned once an instance would be visible.
func TestTokenOfARefusedRequest(t *testing.T) {
	w := sample(t)
	ref, class := refOf("worker-1"), classOf(provider.Gardener, "c1")
	if err := w.Do("exhaust", "cn-hangzhou-h"); err != nil {
		t.Fatal(err)
	}
	_, err := w.open(t, class).Create(t.Context(), ref, want)
	if provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != provider.ScopeType {
		t.Fatalf("in an exhausted zone: %v", err)
	}
	if err := w.Do("restock", "cn-hangzhou-h"); err != nil {
		t.Fatal(err)
	}
	changed := w.open(t, with(class, `"ecs.g7.large"`, `"ecs.g7.xlarge"`))
	if _, err = changed.Create(t.Context(), ref, want); provider.KindOf(err) != provider.Transient {
		t.Errorf("with another spec: %v", err)
	}
	w.clock.Advance(time.Minute)
	for range 2 {
		_, err = changed.Create(t.Context(), ref, want)
	}
	if err != nil || len(w.Instances()) != 1 {
		t.Errorf("after a minute: %v, %d instances", err, len(w.Instances()))
	}
	attempt := want
	attempt.Attempt = 1
	if _, err := w.open(t, class).Create(t.Context(), refOf("worker-2"), attempt); err != nil || !strings.HasSuffix(w.Received("RunInstances")[len(w.Received("RunInstances"))-1].Get("ClientToken"), "-1") {
		t.Errorf("the second attempt: %v, %v", err, w.Received("RunInstances"))
	}
}

// TestRequestsOfTwentyMachines counts requests for machines that are created, at rest and deleted.
func TestRequestsOfTwentyMachines(t *testing.T) {
	const machines = 20
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		w := newWorld(t, ecs.Options{Inventory: ecs.Sample()})
		s, err := decorate.Coalesce(w.start(), w.clock, decorate.Reads{}).Open(t.Context(), classOf(api, "c1"))
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
		if got := spent(); got["RunInstances"] != machines || got["DescribeInstances"] > 4*machines+5 || got["vpc.DescribeVSwitches"] > 1 || got["DescribeSecurityGroups"] > 1 {
			t.Errorf("%s: creating: %v", api, got)
		} else {
			t.Logf("%s: creating: %v", api, got)
		}
		w.clock.Advance(2 * time.Minute)
		for range 6 { // a minute at rest: every machine is read every ten seconds
			each(t, machines, func(ctx context.Context, n int, ref provider.Ref) error {
				ref.ProviderID = all[n].ProviderID
				found, err := s.Find(ctx, ref)
				if err == nil && len(found) != 1 {
					err = fmt.Errorf("%d instances", len(found))
				}
				return err
			})
			w.clock.Advance(10 * time.Second)
		}
		if got := spent(); got["DescribeInstances"] > 60 || len(got) > 1 {
			t.Errorf("%s: at rest: %v", api, got)
		} else {
			t.Logf("%s: at rest: %v", api, got)
		}
		each(t, machines, func(ctx context.Context, n int, ref provider.Ref) error {
			all[n].State = provider.Running
			_, err := s.Delete(ctx, ref, all[n:n+1])
			return err
		})
		w.clock.Advance(10 * time.Second)
		each(t, machines, func(ctx context.Context, n int, ref provider.Ref) error {
			done, err := s.Delete(ctx, ref, all[n:n+1])
			if err == nil && !done {
				err = fmt.Errorf("%s is not deleted", ref.Name)
			}
			return err
		})
		if got := spent(); got["DeleteInstance"] != machines || got["DescribeInstances"] > machines {
			t.Errorf("%s: deleting: %v", api, got)
		} else {
			t.Logf("%s: deleting: %v", api, got)
		}
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
