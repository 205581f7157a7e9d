// Package openshift is the machine.openshift.io/v1beta1 dialect.
package openshift

import (
	"fmt"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/nodemeta"
	"github.com/millwright-dev/millwright/provider"
)

// Labels and annotations that clients of this API depend on.
const (
	ClusterLabel            = "machine.openshift.io/cluster-api-cluster"
	RoleLabel               = "machine.openshift.io/cluster-api-machine-role"
	InstanceTypeLabel       = "machine.openshift.io/instance-type"
	RegionLabel             = "machine.openshift.io/region"
	ZoneLabel               = "machine.openshift.io/zone"
	InterruptibleLabel      = "machine.openshift.io/interruptible-instance"
	InstanceStateAnnotation = "machine.openshift.io/instance-state"
	ExcludeDrainAnnotation  = "machine.openshift.io/exclude-node-draining"
	// NodeAnnotation on a node holds <namespace>/<machine>.
	NodeAnnotation = "machine.openshift.io/machine"
)

// Machines reads and writes machines of this API.
type Machines struct {
	// HookPatience is how long a hook stops a deletion before it is reported with its owner; zero: never.
	HookPatience time.Duration
}

var _ dialect.Machines[*machinev1.Machine] = Machines{}

// API implements [dialect.Machines].
func (Machines) API() string { return provider.OpenShift }

// New implements [dialect.Machines].
func (Machines) New() *machinev1.Machine { return &machinev1.Machine{} }

// NewList implements [dialect.Machines].
func (Machines) NewList() client.ObjectList { return &machinev1.MachineList{} }

// View returns the engine's facts of m.
func (Machines) View(m *machinev1.Machine) lifecycle.Machine {
	_, skipDrain := m.Annotations[ExcludeDrainAnnotation]
	v := lifecycle.Machine{
		UID:          string(m.UID),
		Namespace:    m.Namespace,
		Name:         m.Name,
		Recorded:     lifecycle.Recorded{ProviderID: ptr.Deref(m.Spec.ProviderID, ""), Addresses: m.Status.Addresses},
		Created:      m.CreationTimestamp.Time,
		HasFinalizer: controllerutil.ContainsFinalizer(m, machinev1.MachineFinalizer),
		Stage:        stages[ptr.Deref(m.Status.Phase, "")],
		Deletion: lifecycle.Deletion{
			Drained: isDrained(m), DrainedAt: drainedAt(m), SkipDrain: skipDrain, Abandon: millwright.Read(m.Annotations).On(dialect.AbandonAnnotation),
			PreDrain: hooks(m.Spec.LifecycleHooks.PreDrain), PreTerminate: hooks(m.Spec.LifecycleHooks.PreTerminate),
		},
		Reboot:  dialect.ReadRebooting(m),
		MovedTo: m.Annotations[dialect.MovedToAnnotation],
		Faults:  faults(m),
	}
	v.Faults = append(v.Faults, dialect.Recall(m, kept(m), &v.Recorded)...)
	v.Recorded.Provisioned = v.Recorded.ProviderID != "" || provisioned(m)
	if m.DeletionTimestamp != nil {
		v.Deleted = m.DeletionTimestamp.Time
		v.Deletion.Started = started(m)
	}
	if m.Status.LastUpdated != nil {
		v.StageSince = m.Status.LastUpdated.Time
	}
	if ref := m.Status.NodeRef; ref != nil {
		v.Recorded.NodeName, v.Recorded.NodeUID = ref.Name, ref.UID
	}
	v.Owned = metav1.GetControllerOfNoCopy(m) != nil
	viewTimeouts(&v, m)
	return v
}

// recorded reports whether the machine names its instance.
func recorded(m *machinev1.Machine) bool { return ptr.Deref(m.Spec.ProviderID, "") != "" }

// provisioned reports whether an instance was recorded.
func provisioned(m *machinev1.Machine) bool {
	return recorded(m) || len(m.Status.Addresses) > 0
}

// faults returns the errors that prevent the creation of a machine. They do not prevent its deletion.
func faults(m *machinev1.Machine) (out []lifecycle.Fault) {
	if m.Labels[ClusterLabel] == "" {
		out = append(out, lifecycle.Fault{
			Field:   "metadata.labels[" + ClusterLabel + "]",
			Message: fmt.Sprintf("missing %s label.", ClusterLabel),
		})
	}
	if v := m.Spec.ProviderSpec.Value; v == nil || len(v.Raw) == 0 {
		out = append(out, lifecycle.Fault{Field: "spec.providerSpec.value", Message: "value field must be set"})
	}
	return out
}

var stages = map[string]lifecycle.Stage{
	"":                          lifecycle.StageNew,
	machinev1.PhaseProvisioning: lifecycle.StageCreating,
	machinev1.PhaseProvisioned:  lifecycle.StageJoining,
	machinev1.PhaseRunning:      lifecycle.StageRunning,
	machinev1.PhaseFailed:       lifecycle.StageFailed,
	machinev1.PhaseDeleting:     lifecycle.StageDeleting,
}

func hooks(in []machinev1.LifecycleHook) (out []lifecycle.Hook) {
	for _, h := range in {
		out = append(out, lifecycle.Hook{Name: h.Name, Owner: h.Owner})
	}
	return out
}

// Policy is the same for all machines except for their drain: this API leaves timeouts to
// MachineHealthChecks, and a failed machine waits for its creator. A machine may have its own timeouts.
func (d Machines) Policy(m *machinev1.Machine) lifecycle.Policy {
	p := lifecycle.Policy{
		Join:   lifecycle.JoinPolicy{MissingFails: true, InvalidFails: true, LinkedIsRunning: true},
		Drain:  lifecycle.DrainPolicy{HookPatience: d.HookPatience},
		Delays: lifecycle.Delays{Transient: 30 * time.Second, Exhausted: time.Minute, Other: time.Minute},
	}
	patience(&p, m)
	timeouts(&p, m)
	return p
}

// Want copies spec.metadata and spec.taints to the node. Nothing is ever removed from the node: clients rely
// on that.
func (Machines) Want(m *machinev1.Machine, _ dialect.Class) nodemeta.Want {
	return nodemeta.Want{
		Additive:        true,
		Labels:          m.Spec.ObjectMeta.Labels,
		Annotations:     m.Spec.ObjectMeta.Annotations,
		Taints:          m.Spec.Taints,
		MarkAnnotations: map[string]string{NodeAnnotation: m.Namespace + "/" + m.Name},
	}
}

// isDrained reports whether the drain for m's deletion was recorded as finished. A condition from before the
// deletion is from an earlier life of an object that was restored with its status; one of the same second may
// be of this one.
func isDrained(m *machinev1.Machine) bool {
	c := find(m, machinev1.MachineDrained)
	return c.Status == corev1.ConditionTrue && (m.DeletionTimestamp == nil || !c.LastTransitionTime.Before(m.DeletionTimestamp))
}

// drainedAt returns when that was recorded; zero if it was not.
func drainedAt(m *machinev1.Machine) time.Time {
	if !isDrained(m) {
		return time.Time{}
	}
	return find(m, machinev1.MachineDrained).LastTransitionTime.Time
}
