package cloud_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

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
		if got := spent(); got["RunInstances"] != machines || got["DescribeInstances"] > machines || got["DescribeSubnets"] > 1 || got["DescribeSecurityGroups"] > 1 || got["DescribeImages"] > 1 || writes(got) != machines {
			t.Errorf("%s: creating %d machines: %v", api, machines, got)
		} else {
			t.Logf("%s: creating %d machines: %v", api, machines, got)
		}
		w.clock.Advance(2 * time.Minute)
		for range 6 { // a minute at rest: everybody looks every ten seconds
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
		if got["TerminateInstances"] > machines/2 || writes(got) > machines/2 {
			t.Errorf("%s: deleting: %v", api, got)
		}
		t.Logf("%s: deleting %d machines: %v", api, machines, got)
	}
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
