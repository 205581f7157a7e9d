package serve

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/internal/controller/disruption"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
)

// machineFlags has the flags about machines.
type machineFlags struct {
	defaults    defaults
	tokenGroups string
	tokenTTL    time.Duration
	cluster     string
	approve     bool
	hooks       time.Duration
	orphans     orphanFlags
	prometheus  disruption.Server
	set         *pflag.FlagSet
}

func (m *machineFlags) add(fs *pflag.FlagSet) {
	m.set = fs
	d := standardDefaults()
	fs.DurationVar(&m.defaults.CreationTimeout, "machine-creation-timeout", d.CreationTimeout, "how long a machine of machine.sapcloud.io may take to join before it is Failed")
	fs.DurationVar(&m.defaults.HealthTimeout, "machine-health-timeout", d.HealthTimeout, "how long the node of a machine of machine.sapcloud.io may be unhealthy before the machine is Failed")
	fs.DurationVar(&m.defaults.DrainTimeout, "machine-drain-timeout", d.DrainTimeout, "how long the drain of a machine of machine.sapcloud.io may take before it is forced")
	fs.DurationVar(&m.defaults.UpdateTimeout, "machine-inplace-update-timeout", d.UpdateTimeout, "how long the agent on the node may take for an update in place before the update counts as failed")
	fs.DurationVar(&m.defaults.PreserveTimeout, "machine-preserve-timeout", d.PreserveTimeout, "how long a machine is preserved if its preservation is requested")
	fs.Int32Var(&m.defaults.MaxEvictRetries, "machine-max-evict-retries", d.MaxEvictRetries, "number of attempts to evict a pod before the pod is deleted")
	fs.DurationVar(&m.defaults.DetachTimeout, "machine-pv-detach-timeout", d.DetachTimeout, "how long a drain waits until the volumes of an evicted pod are detached, before it evicts the next pod with volumes; 0 for no limit")
	fs.DurationVar(&m.defaults.ReattachTimeout, "machine-pv-reattach-timeout", d.ReattachTimeout, "how long a drain then waits until the volumes are attached to another node, before it evicts the next pod with volumes; 0 for not at all")
	fs.StringVar(&m.defaults.NodeConditions, "node-conditions", d.NodeConditions, "node conditions that must be False on a healthy node")
	fs.DurationVar(&m.defaults.ExhaustedRetry, "resource-exhausted-retry", d.ExhaustedRetry, "pause after the infrastructure reported no capacity")
	fs.StringVar(&m.tokenGroups, "bootstrap-token-auth-extra-groups", "", "extra groups of bootstrap tokens, separated by commas")
	fs.DurationVar(&m.tokenTTL, "bootstrap-token-ttl", time.Hour, "lifetime of a bootstrap token that is created for a machine of machine.openshift.io whose user data requests one")
	fs.StringVar(&m.cluster, "cluster-id", "", "ownership scope of instances; empty is the control namespace for machine.sapcloud.io, and the label of the machine for machine.openshift.io")
	fs.BoolVar(&m.approve, "approve-csrs", true, "approve certificate requests of the machines' kubelets; by default only if machine.openshift.io is served")
	fs.DurationVar(&m.hooks, "hook-report-after", time.Hour, "time after which a lifecycle hook that blocks the deletion of a machine of machine.openshift.io is reported with its owner; 0 for never")
	m.orphans.add(fs)
	m.prometheus.Add(fs)
}

// patience has the names of the flags with timeouts.
var patience = []string{
	"machine-creation-timeout", "machine-health-timeout", "machine-drain-timeout", "machine-inplace-update-timeout", "machine-preserve-timeout",
	"machine-pv-detach-timeout", "machine-pv-reattach-timeout", "resource-exhausted-retry", "bootstrap-token-ttl", "hook-report-after",
}

// check returns an error for negative timeouts. With a negative timeout, each machine would be Failed, or drained by
// force, at its first reconcile.
func (m *machineFlags) check() error {
	var faults []error
	for _, name := range patience {
		if d, err := m.set.GetDuration(name); err != nil || d < 0 {
			faults = append(faults, errors.Join(err, fmt.Errorf("--%s: must not be negative, is %s", name, d)))
		}
	}
	if _, err := m.prometheus.Client(); err != nil {
		faults = append(faults, err)
	}
	if n := m.defaults.MaxEvictRetries; n < 0 {
		faults = append(faults, fmt.Errorf("--machine-max-evict-retries: must not be negative, is %d", n))
	}
	return errors.Join(faults...)
}

// approves reports whether a process that serves the APIs approves certificate requests: the value of the flag or,
// without the flag, the behaviour of the originals.
func (m *machineFlags) approves(served []string) bool {
	if m.set.Changed("approve-csrs") {
		return m.approve
	}
	return slices.ContainsFunc(served, func(name string) bool {
		api, _ := apis.Of(name)
		return api.Approves
	})
}
