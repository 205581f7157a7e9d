package cloud_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/ibmcloud"
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
	// The resources of the spec are looked up once: a token, the resource group, and six of VPC.
	if got := spent(); got["create_instance"] != machines || got["list_instances"] > 4*machines || got["request_token"] != 1 || got["list_images"]+got["list_vpcs"]+got["list_subnets"] != 3 || len(got) != 9 {
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
		w.clock.Advance(10 * time.Second)
	}
	if got := spent(); got["list_instances"]+got["get_instance"] > 60 || got["create_instance"]+got["delete_instance"] > 0 {
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
		w.clock.Advance(10 * time.Second)
	}
	if got := spent(); got["delete_instance"] != machines || got["list_instances"] > 2*machines || len(w.Instances()) > 0 {
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
			ref := provider.Ref{UID: fmt.Sprintf("0b8f5c3e-1d2a-4c6b-9e7f-%012d", n), Namespace: "openshift-machine-api", Name: fmt.Sprintf("worker-%d", n)}
			if err := do(t.Context(), n, ref); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// everything is a spec with a value in each field.
const everything = `{"dedicatedHost":"c1-host","networkResourceGroup":"c1","tags":[{"name":"team","value":"blue"}],"bootVolume":{"profile":"sdp","sizeGiB":500,"iops":3000,"bandwidth":1000,"encryptionKey":"crn:v1:k"}}`

// use calls everything that the provider calls, and returns the first refusal.
func (w *world) use(t *testing.T) error {
	ctx, ref := t.Context(), refOf("worker-1")
	s := w.open(t, patched(t, w.class("c1"), everything))
	if _, err := s.Create(ctx, ref, want); err != nil {
		return err
	}
	w.clock.Advance(minute)
	found, err := s.Find(ctx, ref)
	if err != nil || len(found) != 1 {
		return fmt.Errorf("found %v: %w", found, err)
	}
	if err := w.plant(w.class("c1"), provider.Instance{Name: "worker-2"}); err != nil {
		return err
	}
	old, err := s.Find(ctx, refOf("worker-2"))
	if err != nil || len(old) != 1 {
		return fmt.Errorf("found %v: %w", old, err)
	}
	maintainer, _ := provider.As[provider.Maintainer](s)
	if err := maintainer.Maintain(ctx, ref, found[0]); err != nil {
		return err
	}
	if err := maintainer.Maintain(ctx, refOf("worker-2"), old[0]); err != nil {
		return err
	}
	power, _ := provider.As[provider.Powerer](s)
	for _, op := range []provider.PowerOp{provider.Reboot, provider.PowerOff, provider.PowerOn} {
		if err := power.Power(ctx, ref, found[0], op, "r"); err != nil {
			return err
		}
		w.clock.Advance(minute)
	}
	for range 2 {
		if _, err := s.Delete(ctx, ref, found); err != nil {
			return err
		}
		w.clock.Advance(minute)
	}
	return nil
}

// without are the sample's credentials without the permission for an operation.
func (w *world) without(operation string) ibmcloud.Credential {
	return ibmcloud.Credential{APIKey: sampleKey, Deny: []string{operation}}
}

// TestEachPermissionIsNeeded: without the permission for any called operation, the provider reports Denied. The page has the
// list of operations.
func TestEachPermissionIsNeeded(t *testing.T) {
	w := newWorld(t)
	if err := w.use(t); err != nil {
		t.Fatal(err)
	}
	var called []string
	for operation := range w.server.Counts() {
		called = append(called, operation)
	}
	slices.Sort(called)
	page, err := os.ReadFile("../../../docs/providers/ibmcloud.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, operation := range called {
		if !strings.Contains(string(page), "`"+operation+"`") {
			t.Errorf("the page has no operation %s", operation)
		}
		if operation == "request_token" {
			continue
		}
		w := newWorld(t)
		w.SetCredentials(w.without(operation))
		if err := w.use(t); provider.KindOf(err) != provider.Denied {
			t.Errorf("without %s: %v", operation, err)
		}
	}
}

// described is the part of the published description of the API that the provider may use.
type described struct {
	Method string   `json:"method"`
	Path   string   `json:"path"`
	Query  []string `json:"query"`
	Body   []string `json:"body"`
}

// TestRequestsAreAsDescribed: every request has only paths, parameters and fields of the published description.
func TestRequestsAreAsDescribed(t *testing.T) {
	raw, err := os.ReadFile("testdata/description.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]described
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(o *ibmcloud.Options) { o.PageSize = 1 })
	if err := w.use(t); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, sent := range w.sent.With("") {
		method, rest, _ := strings.Cut(sent, " ")
		target, body, _ := strings.Cut(rest, " ")
		path, query, _ := strings.Cut(target, "?")
		if path == "/identity/token" {
			continue // a form of IAM
		}
		name := ""
		for operation, d := range all {
			if d.Method == method && isOf(d.Path, path) {
				name = operation
			}
		}
		if name == "" {
			t.Errorf("%s %s is not described", method, path)
			continue
		}
		seen[name] = true
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		for parameter := range values {
			if !slices.Contains(all[name].Query, parameter) {
				t.Errorf("%s has no parameter %s", name, parameter)
			}
		}
		if body != "" {
			for _, field := range fieldsOf(decoded(t, body), "") {
				if !slices.Contains(all[name].Body, field) {
					t.Errorf("%s has no field %s", name, field)
				}
			}
		}
	}
	for name := range all {
		if !seen[name] {
			t.Errorf("no request %s", name)
		}
	}
}

// isOf reports whether a path has the form of a described one, in which {id} stands for an ID.
func isOf(form, path string) bool {
	a, b := strings.Split(form, "/"), strings.Split(path, "/")
	if len(a) != len(b) {
		return false
	}
	for n := range a {
		if a[n] != b[n] && !strings.HasPrefix(a[n], "{") {
			return false
		}
	}
	return true
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// fieldsOf are the paths of the values in a tree.
func fieldsOf(v any, at string) (all []string) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			all = append(all, fieldsOf(value, strings.TrimPrefix(at+"."+key, "."))...)
		}
		return all
	case []any:
		for _, value := range v {
			all = append(all, fieldsOf(value, at+"[]")...)
		}
		return all
	}
	return []string{at}
}
