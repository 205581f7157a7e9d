package machine_test

import (
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/provider"
)

var errNoCapacity = provider.Errorf(provider.Exhausted, "InsufficientInstanceCapacity in eu-1a")

// acceptedThenFailed makes a machine whose instance was accepted, and then came to
// the state with the error.
func acceptedThenFailed(c *cloud, pass func(), s provider.State, why *provider.Error) {
	c.next.State, c.next.RawState = provider.Pending, "pending"
	pass()
	c.instances[0].State, c.instances[0].RawState, c.instances[0].Fault = s, "error", why
	pass()
}

// goesOnce deletes the machine: one instance was asked for, and that goes.
func (g *rig[M]) goesOnce() {
	g.Helper()
	if g.cloud.count("Create") != 1 {
		g.Error("another instance was asked for")
	}
	g.delete()
	g.pass()
	if g.cloud.count("Delete") != 1 {
		g.Errorf("its instance was not removed: %v", g.cloud.calls)
	}
}

// TestGivenUpOpenShift: the machine is Failed at once, with the cause in words and in
// the reason, whether or not something of the instance is left.
func TestGivenUpOpenShift(t *testing.T) {
	for name, c := range map[string]struct {
		reason        string
		state         provider.State
		err           *provider.Error
		phase, errMsg string
		errReason     machinev1.MachineStatusError
	}{
		"exhausted": {"the API has a reason for it", provider.Stopped, errNoCapacity, "Failed", errNoCapacity.Error(), machinev1.InsufficientResourcesMachineError},
		"exhausted, nothing left": {
			"clients wait for these words", provider.Terminated, errNoCapacity, "Failed", "can't find created instance: " + errNoCapacity.Error(), machinev1.InsufficientResourcesMachineError,
		},
		"invalid": {"as at creation", provider.Stopped, provider.InvalidField("image", "does not boot"), "Failed", "image: does not boot", machinev1.InvalidConfigurationMachineError},
		"denied":  {"some other failure of creation", provider.Stopped, provider.Errorf(provider.Denied, "the policy forbids it"), "Failed", "the policy forbids it", machinev1.CreateMachineError},
		"mending": {"it may come yet", provider.Stopped, provider.Errorf(provider.Conflict, "the host restarts"), "Provisioning", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := openshiftRig(t)
			acceptedThenFailed(g.cloud, func() { g.pass() }, c.state, c.err)
			m := g.read()
			message := ptr.Deref(m.Status.ErrorMessage, "")
			if ptr.Deref(m.Status.Phase, "") != c.phase || !strings.Contains(message, c.errMsg) || ptr.Deref(m.Status.ErrorReason, "") != c.errReason {
				t.Errorf("%s: %s, %q, reason %q", c.reason, ptr.Deref(m.Status.Phase, ""), message, ptr.Deref(m.Status.ErrorReason, ""))
			}
			if all := strings.Join(g.told(), "\n"); !strings.Contains(all, "FailedCreate") || !strings.Contains(all, c.err.Error()) {
				t.Errorf("told: %s", all)
			}
			if exists := condition(m, machinev1.InstanceExistsCondition); !strings.Contains(exists.Message, c.err.Error()) && c.state != provider.Terminated {
				t.Errorf("%s: %q", exists.Type, exists.Message)
			}
			g.clock.Step(time.Minute)
			g.pass()
			g.goesOnce()
		})
	}
}

// TestGivenUpGardener: the autoscaler hears of it in the words of a failed creation,
// at once, and the set after the creation timeout.
func TestGivenUpGardener(t *testing.T) {
	for _, state := range []provider.State{provider.Stopped, provider.Terminated} {
		t.Run(string(state), func(t *testing.T) {
			g := gardenerRig(t)
			acceptedThenFailed(g.cloud, func() { g.pass() }, state, errNoCapacity)
			says := func(phase v1alpha1.MachinePhase) {
				t.Helper()
				s := g.read().Status
				op := s.LastOperation
				if s.CurrentStatus.Phase != phase || op.Type != v1alpha1.MachineOperationCreate || op.State != v1alpha1.MachineStateFailed ||
					op.ErrorCode != "ResourceExhausted" || !strings.Contains(op.Description, "message = ["+errNoCapacity.Error()+"]") {
					t.Errorf("%s, %s %s, code %q: %s", s.CurrentStatus.Phase, op.Type, op.State, op.ErrorCode, op.Description)
				}
			}
			says(v1alpha1.MachineCrashLoopBackOff)
			if all := strings.Join(g.told(), "\n"); !strings.Contains(all, corev1.EventTypeWarning+" FailedCreate Cloud provider message") {
				t.Errorf("told: %s", all)
			}
			g.clock.Step(g.pass().RequeueAfter)
			g.pass()
			g.clock.Step(20 * time.Minute)
			g.pass()
			says(v1alpha1.MachineFailed)
			g.goesOnce()
		})
	}
}
