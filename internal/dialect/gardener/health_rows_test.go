package gardener_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestRowsOfGardenerConfiguration: the table of timeouts in section 1.3 of the
// Gardener notes. Each row without the field, with it, and with what beats it.
func TestRowsOfGardenerConfiguration(t *testing.T) {
	minute := &metav1.Duration{Duration: time.Minute}
	for _, c := range []struct {
		name string
		// set makes the field another than the default, beat what beats it.
		set, beat               func(*v1alpha1.MachineConfiguration, *v1alpha1.Machine)
		read                    func(lifecycle.Policy) any
		byDefault, bySet, byAll any
	}{
		{
			"drainTimeout: else flag --machine-drain-timeout (2h)",
			func(c *v1alpha1.MachineConfiguration, _ *v1alpha1.Machine) { c.MachineDrainTimeout = minute }, nil,
			func(p lifecycle.Policy) any { return p.Drain.Timeout }, 2 * time.Hour, time.Minute, nil,
		},
		{
			"healthTimeout: else flag (10m); disableHealthTimeout true ⇒ never",
			func(c *v1alpha1.MachineConfiguration, _ *v1alpha1.Machine) { c.MachineHealthTimeout = minute },
			func(c *v1alpha1.MachineConfiguration, _ *v1alpha1.Machine) { c.DisableHealthTimeout = ptr.To(true) },
			func(p lifecycle.Policy) any { return p.Health.Timeout }, 10 * time.Minute, time.Minute, time.Duration(0),
		},
		{
			"healthTimeout: disableHealthTimeout false ⇒ as without",
			func(c *v1alpha1.MachineConfiguration, _ *v1alpha1.Machine) { c.MachineHealthTimeout = minute },
			func(c *v1alpha1.MachineConfiguration, _ *v1alpha1.Machine) { c.DisableHealthTimeout = ptr.To(false) },
			func(p lifecycle.Policy) any { return p.Health.Timeout }, 10 * time.Minute, time.Minute, time.Minute,
		},
		{
			"creationTimeout: else flag (20m); annotation node.machine.sapcloud.io/effective-creation-timeout beats it",
			func(c *v1alpha1.MachineConfiguration, _ *v1alpha1.Machine) { c.MachineCreationTimeout = minute },
			func(_ *v1alpha1.MachineConfiguration, m *v1alpha1.Machine) {
				m.Annotations = map[string]string{"node.machine.sapcloud.io/effective-creation-timeout": "7m"}
			},
			func(p lifecycle.Policy) any { return p.Join.Timeout }, 20 * time.Minute, time.Minute, 7 * time.Minute,
		},
		{
			"inPlaceUpdateTimeout: else flag (20m)",
			func(c *v1alpha1.MachineConfiguration, _ *v1alpha1.Machine) { c.MachineInPlaceUpdateTimeout = minute }, nil,
			func(p lifecycle.Policy) any { return p.Update.Timeout }, 20 * time.Minute, time.Minute, nil,
		},
		{
			"machinePreserveTimeout: else flag (96h)",
			func(c *v1alpha1.MachineConfiguration, _ *v1alpha1.Machine) { c.MachinePreserveTimeout = minute }, nil,
			func(p lifecycle.Policy) any { return p.Preserve.Timeout }, 96 * time.Hour, time.Minute, nil,
		},
		{
			"maxEvictRetries: else flag (360)",
			func(c *v1alpha1.MachineConfiguration, _ *v1alpha1.Machine) { c.MaxEvictRetries = ptr.To[int32](7) }, nil,
			func(p lifecycle.Policy) any { return p.Drain.Policy.MaxEvictAttempts }, 360, 7, nil,
		},
		{
			"nodeConditions: else flag, KernelDeadlock,ReadonlyFilesystem,DiskPressure,NetworkUnavailable; replaces the list",
			func(c *v1alpha1.MachineConfiguration, _ *v1alpha1.Machine) { c.NodeConditions = ptr.To("A,B") }, nil,
			func(p lifecycle.Policy) any { return fmt.Sprint(p.Health.Conditions) },
			"[KernelDeadlock ReadonlyFilesystem DiskPressure NetworkUnavailable]", "[A B]", nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := freshMachine()
			m.Spec.MachineConfiguration = nil
			lens := gardener.Machines{Defaults: gardener.StandardDefaults()}
			if got := c.read(lens.Policy(m)); got != c.byDefault {
				t.Errorf("by default %v, want %v", got, c.byDefault)
			}
			m.Spec.MachineConfiguration = &v1alpha1.MachineConfiguration{}
			if got := c.read(lens.Policy(m)); got != c.byDefault {
				t.Errorf("with other fields %v, want %v", got, c.byDefault)
			}
			c.set(m.Spec.MachineConfiguration, m)
			if got := c.read(lens.Policy(m)); got != c.bySet {
				t.Errorf("set: %v, want %v", got, c.bySet)
			}
			if c.beat == nil {
				return
			}
			c.beat(m.Spec.MachineConfiguration, m)
			if got := c.read(lens.Policy(m)); got != c.byAll {
				t.Errorf("beaten: %v, want %v", got, c.byAll)
			}
		})
	}
}

// TestRowsOfGardenerPermits: the permit of section 2.5 is per label name.
func TestRowsOfGardenerPermits(t *testing.T) {
	m := freshMachine()
	m.Labels = map[string]string{"name": "pool-a"}
	if key, group := (gardener.Machines{}).Group(m); key != "name" || group != "pool-a" {
		t.Errorf("permit per MD name (label name): %s=%s", key, group)
	}
}
