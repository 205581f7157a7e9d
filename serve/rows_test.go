package serve

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestFlagsOfMachines: section 6.3 of the Gardener notes, the defaults of the flags of machine controllers.
func TestFlagsOfMachines(t *testing.T) {
	flags := Command(Plugin{Name: "any"}).Flags()
	for name, want := range map[string]string{
		"machine-creation-timeout": "20m0s", "machine-health-timeout": "10m0s", "machine-drain-timeout": "2h0m0s", "machine-inplace-update-timeout": "20m0s",
		"machine-max-evict-retries": "360", "machine-pv-detach-timeout": "2m0s", "machine-pv-reattach-timeout": "1m30s", "machine-preserve-timeout": "96h0m0s",
		"machine-safety-apiserver-statuscheck-timeout": "30s", "machine-safety-apiserver-statuscheck-period": "1m0s", "machine-safety-orphan-vms-period": "15m0s",
		"node-conditions": "KernelDeadlock,ReadonlyFilesystem,DiskPressure,NetworkUnavailable", "bootstrap-token-auth-extra-groups": "", "resource-exhausted-retry": "10m0s",
		"port": "10259", "address": "0.0.0.0",
	} {
		if f := flags.Lookup(name); f == nil || f.DefValue != want {
			t.Errorf("--%s is %+v, want %q", name, f, want)
		}
	}
}

// TestNothingIsAwaitedForLessThanNothing: section 6.3 of the Gardener notes, durations must not be negative. With a
// negative duration, each machine would be Failed, or drained by force, at its first reconcile.
func TestNothingIsAwaitedForLessThanNothing(t *testing.T) {
	for _, c := range []struct{ reason, args, want string }{
		{"the defaults", "", ""},
		{"0 is valid", "--machine-creation-timeout=0 --machine-drain-timeout=0s --machine-pv-detach-timeout=0 --resource-exhausted-retry=0 --hook-report-after=0", ""},
		{"the time to join", "--machine-creation-timeout=-1m", "--machine-creation-timeout: must not be negative, is -1m0s"},
		{"the time of an unhealthy node", "--machine-health-timeout=-1s", "--machine-health-timeout: must not be negative, is -1s"},
		{"the time of a drain", "--machine-drain-timeout=-2h", "--machine-drain-timeout: must not be negative, is -2h0m0s"},
		{"the attempts to evict a pod", "--machine-max-evict-retries=-1", "--machine-max-evict-retries: must not be negative, is -1"},
		{"the time of an update in place", "--machine-inplace-update-timeout=-1s", "--machine-inplace-update-timeout: must not be negative, is -1s"},
		{"the time to preserve a machine", "--machine-preserve-timeout=-1s", "--machine-preserve-timeout: must not be negative, is -1s"},
		{"the time to detach a volume", "--machine-pv-detach-timeout=-1s", "--machine-pv-detach-timeout: must not be negative, is -1s"},
		{"the time to attach a volume", "--machine-pv-reattach-timeout=-1s", "--machine-pv-reattach-timeout: must not be negative, is -1s"},
		{"the pause without capacity", "--resource-exhausted-retry=-1s", "--resource-exhausted-retry: must not be negative, is -1s"},
		{"the lifetime of a bootstrap token", "--bootstrap-token-ttl=-1s", "--bootstrap-token-ttl: must not be negative, is -1s"},
		{"the time of a lifecycle hook", "--hook-report-after=-1s", "--hook-report-after: must not be negative, is -1s"},
		{"two at once", "--machine-health-timeout=-1s --machine-drain-timeout=-1s", "--machine-health-timeout: must not be negative, is -1s\n--machine-drain-timeout: must not be negative, is -1s"},
	} {
		var m machineFlags
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		m.add(fs)
		if err := fs.Parse(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := m.check(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: error %q, want %q", c.reason, got, c.want)
		}
	}
	c := Command(Plugin{Name: "any"})
	c.SetArgs([]string{"--machine-drain-timeout=-2h"})
	if err := c.ExecuteContext(t.Context()); err == nil || err.Error() != "--machine-drain-timeout: must not be negative, is -2h0m0s" {
		t.Errorf("with a negative timeout, the program starts: error %v", err)
	}
}
