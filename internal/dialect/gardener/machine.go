// Package gardener is the machine.sapcloud.io/v1alpha1 dialect.
package gardener

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/nodemeta"
	"github.com/millwright-dev/millwright/provider"
)

// Machines reads and writes machines of this API.
type Machines struct{ Defaults Defaults }

// Defaults apply to a machine without its own configuration.
type Defaults struct {
	CreationTimeout time.Duration // --machine-creation-timeout
	HealthTimeout   time.Duration // --machine-health-timeout
	DrainTimeout    time.Duration // --machine-drain-timeout
	UpdateTimeout   time.Duration // --machine-inplace-update-timeout
	PreserveTimeout time.Duration // --machine-preserve-timeout
	DetachTimeout   time.Duration // --machine-pv-detach-timeout
	ReattachTimeout time.Duration // --machine-pv-reattach-timeout
	MaxEvictRetries int32         // --machine-max-evict-retries
	NodeConditions  string        // --node-conditions
	ExhaustedRetry  time.Duration // --resource-exhausted-retry
}

// StandardDefaults returns the defaults of the original's flags.
func StandardDefaults() Defaults {
	return Defaults{
		CreationTimeout: 20 * time.Minute,
		HealthTimeout:   10 * time.Minute,
		DrainTimeout:    2 * time.Hour,
		UpdateTimeout:   20 * time.Minute,
		PreserveTimeout: 96 * time.Hour,
		DetachTimeout:   2 * time.Minute,
		ReattachTimeout: 90 * time.Second,
		MaxEvictRetries: 360,
		NodeConditions:  "KernelDeadlock,ReadonlyFilesystem,DiskPressure,NetworkUnavailable",
		ExhaustedRetry:  10 * time.Minute,
	}
}

var (
	_ dialect.Machines[*v1alpha1.Machine] = Machines{}
	_ dialect.InPlaceUpdater              = Machines{}
	_ dialect.Preserver                   = Machines{}
	_ dialect.DrainNarrator               = Machines{}
)

// API implements [dialect.Machines].
func (Machines) API() string { return provider.Gardener }

// New implements [dialect.Machines].
func (Machines) New() *v1alpha1.Machine { return &v1alpha1.Machine{} }

// NewList implements [dialect.Machines].
func (Machines) NewList() client.ObjectList { return &v1alpha1.MachineList{} }

// Group returns the machine's deployment, by the label of its template.
func (Machines) Group(m *v1alpha1.Machine) (key, value string) {
	return v1alpha1.LabelKeyName, m.Labels[v1alpha1.LabelKeyName]
}

// View returns the engine's facts of m.
func (Machines) View(m *v1alpha1.Machine) lifecycle.Machine {
	force, _ := strconv.ParseBool(m.Labels[v1alpha1.LabelKeyForceDeletion])
	v := lifecycle.Machine{
		UID:       string(m.UID),
		Namespace: m.Namespace,
		Name:      m.Name,
		Recorded: lifecycle.Recorded{
			ProviderID: m.Spec.ProviderID, Provisioned: m.Spec.ProviderID != "",
			NodeName: m.Labels[v1alpha1.LabelKeyNode], Addresses: m.Status.Addresses,
		},
		Created:      m.CreationTimestamp.Time,
		HasFinalizer: controllerutil.ContainsFinalizer(m, v1alpha1.FinalizerMachine),
		Stage:        stages[m.Status.CurrentStatus.Phase],
		StageSince:   m.Status.CurrentStatus.LastUpdateTime.Time,
		Deletion:     lifecycle.Deletion{Force: force, Abandon: dialect.On(m, dialect.AbandonAnnotation)},
		ForceDrain:   m.Labels[v1alpha1.LabelKeyForceDrain] == v1alpha1.LabelValueTrue,
		Owned:        metav1.GetControllerOfNoCopy(m) != nil,
		Preservation: keeping(m),
		Reboot:       dialect.ReadRebooting(m),
		MovedTo:      m.Annotations[dialect.MovedToAnnotation],
		Faults:       faults(m),
	}
	v.Faults = append(v.Faults, dialect.Recall(m, kept(m), &v.Recorded)...)
	v.Recorded.Provisioned = v.Recorded.ProviderID != ""
	v.Recorded.NodeName, v.Recorded.NodeUID = cmp.Or(v.Recorded.NodeName, v.Recorded.Joined.Node), v.Recorded.Joined.UID
	if m.DeletionTimestamp != nil {
		v.Deleted = m.DeletionTimestamp.Time
		v.Deletion.Started = started(m)
	}
	return v
}

func faults(m *v1alpha1.Machine) (out []lifecycle.Fault) {
	if m.Spec.Class.Kind == "" {
		out = append(out, lifecycle.Fault{Field: "spec.class.kind", Message: "must be MachineClass"})
	}
	if m.Spec.Class.Name == "" {
		out = append(out, lifecycle.Fault{Field: "spec.class.name", Message: "must name the MachineClass"})
	}
	if m.Spec.ProviderID == "" {
		out = append(out, creationFaults(m)...)
	}
	return out
}

// creationFaults concern machines without an instance: a machine with an instance is managed despite them.
func creationFaults(m *v1alpha1.Machine) (out []lifecycle.Fault) {
	const negative = "must not be negative, is %s; 0 waits for ever"
	key := v1alpha1.AnnotationKeyEffectiveCreationTimeout
	if t, err := time.ParseDuration(m.Annotations[key]); err == nil && t < 0 {
		out = append(out, lifecycle.Fault{Field: "metadata.annotations[" + key + "]", Message: fmt.Sprintf(negative, t)})
	}
	if c := m.Spec.MachineConfiguration; c != nil && c.MachineCreationTimeout != nil && c.MachineCreationTimeout.Duration < 0 {
		out = append(out, lifecycle.Fault{Field: "spec.creationTimeout", Message: fmt.Sprintf(negative, c.MachineCreationTimeout.Duration)})
	}
	return out
}

// stages maps phases.
var stages = map[v1alpha1.MachinePhase]lifecycle.Stage{
	v1alpha1.MachinePhaseNone:               lifecycle.StageNew,
	v1alpha1.MachinePending:                 lifecycle.StageJoining,
	v1alpha1.MachineAvailable:               lifecycle.StageDetached,
	v1alpha1.MachineRunning:                 lifecycle.StageRunning,
	v1alpha1.MachineTerminating:             lifecycle.StageDeleting,
	v1alpha1.MachineUnknown:                 lifecycle.StageLost,
	v1alpha1.MachineFailed:                  lifecycle.StageFailed,
	v1alpha1.MachineCrashLoopBackOff:        lifecycle.StageCrashing,
	v1alpha1.MachineInPlaceUpdating:         lifecycle.StageUpdating,
	v1alpha1.MachineInPlaceUpdateSuccessful: lifecycle.StageUpdated,
	v1alpha1.MachineInPlaceUpdateFailed:     lifecycle.StageUpdateFailed,
}

// Policy reads the timeouts that this API has on each machine.
func (d Machines) Policy(m *v1alpha1.Machine) lifecycle.Policy {
	p := lifecycle.Policy{
		Join: lifecycle.JoinPolicy{Timeout: d.creationTimeout(m), HoldingTaints: []string{v1alpha1.TaintKeyCriticalComponentsNotReady}},
		Health: lifecycle.HealthPolicy{
			Conditions: split(d.Defaults.NodeConditions), Tracked: true, Timeout: d.Defaults.HealthTimeout,
			FailedRecovers: true, NodeLossDeletes: true,
		},
		Delays: lifecycle.Delays{Transient: 5 * time.Second, Exhausted: cmp.Or(d.Defaults.ExhaustedRetry, 10*time.Minute), Other: 3 * time.Minute},
		Drain:  lifecycle.DrainPolicy{Timeout: d.Defaults.DrainTimeout},
		Update: lifecycle.UpdatePolicy{InPlace: true, Timeout: d.Defaults.UpdateTimeout},
	}
	if c := m.Spec.MachineConfiguration; c != nil {
		override(&p.Drain.Timeout, c.MachineDrainTimeout)
		override(&p.Health.Timeout, c.MachineHealthTimeout)
		override(&p.Update.Timeout, c.MachineInPlaceUpdateTimeout)
		if c.DisableHealthTimeout != nil && *c.DisableHealthTimeout {
			p.Health.Timeout = 0
		}
		if c.NodeConditions != nil {
			p.Health.Conditions = split(*c.NodeConditions)
		}
	}
	d.patience(&p, m)
	d.keeps(&p, m)
	return p
}

// creationTimeout returns that of the annotation, otherwise of the spec, otherwise the default; zero: no
// limit. A value that is not a duration, or negative, is ignored.
func (d Machines) creationTimeout(m *v1alpha1.Machine) time.Duration {
	if t, err := time.ParseDuration(m.Annotations[v1alpha1.AnnotationKeyEffectiveCreationTimeout]); err == nil && t >= 0 {
		return t
	}
	if c := m.Spec.MachineConfiguration; c != nil && c.MachineCreationTimeout != nil && c.MachineCreationTimeout.Duration >= 0 {
		return c.MachineCreationTimeout.Duration
	}
	return max(d.Defaults.CreationTimeout, 0)
}

func override(d *time.Duration, o *metav1.Duration) {
	if o != nil {
		*d = o.Duration
	}
}

func split(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}

// Want mirrors spec.nodeTemplate to the node and removes entries that were removed from it.
func (Machines) Want(m *v1alpha1.Machine, c dialect.Class) nodemeta.Want {
	t := m.Spec.NodeTemplateSpec
	return nodemeta.Want{
		Labels: t.Labels, Annotations: t.Annotations, Taints: t.Spec.Taints,
		MarkLabels:  map[string]string{v1alpha1.LabelKeyNodeMachineName: m.Name},
		Capacity:    c.Capacity,
		Finalizer:   v1alpha1.FinalizerNode,
		AppliedKey:  v1alpha1.AnnotationKeyLastAppliedNodeTemplate,
		CapacityKey: v1alpha1.AnnotationKeyLastAppliedVirtualCapacity,
	}
}

// Leaving returns the condition Terminating. Its reason is determined once, when the condition is set: the
// state of a node during its drain proves nothing.
func (Machines) Leaving(n *corev1.Node, unwell bool) corev1.NodeCondition {
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == v1alpha1.NodeTerminating && c.Status == corev1.ConditionTrue && c.Reason != ""
	})
	if i >= 0 {
		return n.Status.Conditions[i]
	}
	c := corev1.NodeCondition{Type: v1alpha1.NodeTerminating, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonNodeScaleDown}
	if unwell {
		c.Reason = v1alpha1.ReasonNodeUnhealthy
	}
	return c
}
