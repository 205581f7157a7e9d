package machine_test

import (
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/internal/dialect/openshift"
)

// TestOldHooksAreReported: once for each owner that is waited for, and without
// any write.
func TestOldHooksAreReported(t *testing.T) {
	hook := func(name, owner string) []machinev1.LifecycleHook {
		return []machinev1.LifecycleHook{{Name: name, Owner: owner}}
	}
	lens := openshift.Machines{HookPatience: time.Hour}
	g := newRig[*machinev1.Machine](t, lens, openshiftMachine(func(m *machinev1.Machine) {
		m.Spec.LifecycleHooks = machinev1.LifecycleHooks{PreDrain: hook("EtcdQuorumOperator", "clusteroperator/etcd"), PreTerminate: hook("Backup", "backup-operator")}
	}), userData("boot"))
	g.settle()
	g.delete()
	g.clock.SetTime(g.read().DeletionTimestamp.Time) // the fake server's own
	res := g.pass()
	if got := g.told(); !slices.Equal(got, []string{"Normal DrainBlocked Drain blocked by pre-drain hook"}) {
		t.Errorf("told %q", got)
	}
	if res.RequeueAfter != time.Hour {
		t.Errorf("looked at again in %v, want 1h", res.RequeueAfter)
	}
	g.written()
	g.clock.Step(res.RequeueAfter)
	for pass, want := range [][]string{
		{"Warning HookPending For more than 1h0m0s waiting for the owners of the pre-drain hooks: EtcdQuorumOperator (clusteroperator/etcd)"}, nil,
	} {
		g.pass()
		if got := g.told(); !slices.Equal(got, want) {
			t.Errorf("pass %d: told %q, want %q", pass, got, want)
		}
	}
	if got := g.written(); len(got) > 0 {
		t.Errorf("it costs %q", got)
	}

	g.change(func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreDrain = nil })
	res = g.pass()
	g.told()
	if res.RequeueAfter != time.Hour {
		t.Errorf("after the drain, looked at again in %v, want 1h", res.RequeueAfter)
	}
	g.clock.Step(res.RequeueAfter)
	g.pass()
	want := []string{"Warning HookPending For more than 1h0m0s waiting for the owners of the pre-terminate hooks: Backup (backup-operator)"}
	if got := g.told(); !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if len(g.cloud.instances) != 1 {
		t.Error("the instance is gone: a hook that is reported holds all the same")
	}
}
