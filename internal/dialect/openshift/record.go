package openshift

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// Record writes o into m.
func (Machines) Record(m *machinev1.Machine, o lifecycle.Outcome) {
	switch {
	case o.Did(lifecycle.RemoveFinalizer):
		controllerutil.RemoveFinalizer(m, machinev1.MachineFinalizer)
	case o.Did(lifecycle.AddFinalizer):
		controllerutil.AddFinalizer(m, machinev1.MachineFinalizer)
		setNonEmpty(&m.Annotations, DefaultsAnnotation, string(o.World.Session.Inherited))
		was := Machines{}.View(m)
		text := dialect.KeepOrigin(m, kept(m), was.Recorded, o.World.Session.Origin)
		if text != "" {
			text = dialect.KeepRequests(m, text, was.Recorded, o.World.Requests)
			text = dialect.KeepTarget(m, text, was.Recorded, o.World.Node)
		}
		setKept(m, text, o.At)
		if kept(m) == "" {
			dialect.HoldOrigin(m, was)
		}
	}
	if o.Step == lifecycle.RecordRequest {
		setKept(m, dialect.KeepRequests(m, kept(m), Machines{}.View(m).Recorded, o.World.Requests), o.At)
	}
	if o.Step == lifecycle.AddFinalizer || o.Step == lifecycle.RecordRequest {
		return // the pass continues
	}
	if dialect.RecordReboot(m, o); o.Step == lifecycle.Reboot {
		return // and after this step, too
	}
	recordKept(m, o)
	before := m.Status.DeepCopy()
	if i := o.World.Instances.Recordable(ptr.Deref(m.Spec.ProviderID, "")); i != nil {
		recordInstance(m, i, o)
	}
	dialect.RecordUnrecorded(m, o.World)
	dialect.RecordStopped(m, o, Machines{}.View(m))
	recordNode(m, o)
	recordConditions(m, o)
	recordStarted(m, o)
	recordPhase(m, o)
	if recordTimeouts(m, o); !equality.Semantic.DeepEqual(before, &m.Status) {
		Machines{}.Stamp(m, o.At)
	}
}

// recordInstance records the infrastructure's facts. A missing answer never clears a known field: clients
// rely on provider ID and addresses staying.
func recordInstance(m *machinev1.Machine, i *provider.Instance, o lifecycle.Outcome) {
	dialect.RecordOrigin(m, dialect.OriginIn(kept(m)), recorded(m))
	if i.ProviderID != "" && ptr.Deref(m.Spec.ProviderID, "") == "" {
		m.Spec.ProviderID = ptr.To(i.ProviderID)
	}
	setNonEmpty(&m.Labels, InstanceTypeLabel, i.Type)
	setNonEmpty(&m.Labels, RegionLabel, i.Region)
	setNonEmpty(&m.Labels, ZoneLabel, i.Zone)
	if m.DeletionTimestamp == nil { // under deletion the phase is more precise, and each change would cost a write
		setNonEmpty(&m.Annotations, InstanceStateAnnotation, provider.Clip(i.RawState, dialect.MostWord))
	}
	setNonEmpty(&m.Annotations, DefaultsAnnotation, string(o.World.Session.Inherited)) // in case another client removed it
	if i.Interruptible {
		set(&m.Labels, InterruptibleLabel, "")
		set(&m.Spec.ObjectMeta.Labels, InterruptibleLabel, "")
	}
	if len(i.Addresses) > 0 {
		m.Status.Addresses = dialect.Addresses(i.Addresses)
	}
	if raw := o.World.Instances.ProviderStatus; dialect.Storable(raw) && json.Valid(raw) && !sameJSON(m.Status.ProviderStatus, raw) {
		m.Status.ProviderStatus = &runtime.RawExtension{Raw: bytes.Clone(raw)}
	}
}

// sameJSON compares by value: the API server returns documents with their keys in another order.
func sameJSON(stored *runtime.RawExtension, raw []byte) bool {
	if stored == nil {
		return false
	}
	var a, b any
	return json.Unmarshal(stored.Raw, &a) == nil && json.Unmarshal(raw, &b) == nil && equality.Semantic.DeepEqual(a, b)
}

func setNonEmpty(to *map[string]string, key, value string) {
	if value != "" {
		set(to, key, value)
	}
}

func set(to *map[string]string, key, value string) {
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[key] = value
}

var phases = map[lifecycle.Stage]string{
	lifecycle.StageCreating: machinev1.PhaseProvisioning,
	lifecycle.StageCrashing: machinev1.PhaseProvisioning,
	lifecycle.StageJoining:  machinev1.PhaseProvisioned,
	lifecycle.StageDetached: machinev1.PhaseProvisioned,
	lifecycle.StageRunning:  machinev1.PhaseRunning,
	lifecycle.StageLost:     machinev1.PhaseRunning,
	lifecycle.StageFailed:   machinev1.PhaseFailed,
	lifecycle.StageDeleting: machinev1.PhaseDeleting,
}

func recordPhase(m *machinev1.Machine, o lifecycle.Outcome) {
	phase, ok := phases[o.Stage]
	if !ok || o.Did(lifecycle.RemoveFinalizer) {
		return
	}
	if ptr.Deref(m.Status.Phase, "") != phase {
		m.Status.Phase = ptr.To(phase)
	}
	if o.Did(lifecycle.Fail) {
		recordFailure(m, o)
	}
}

// recordFailure records why the machine failed, and that its instance is no longer managed.
func recordFailure(m *machinev1.Machine, o lifecycle.Outcome) {
	why := o.Decision
	m.Status.ErrorMessage = ptr.To(provider.Clip(failed(m, why), dialect.MostText))
	m.Status.ErrorReason = nil
	switch {
	case provider.KindOf(why.Err) == provider.Invalid:
		m.Status.ErrorReason = ptr.To(machinev1.InvalidConfigurationMachineError)
	case why.Reason == lifecycle.ReasonGivenUp && provider.KindOf(why.Err) == provider.Exhausted:
		m.Status.ErrorReason = ptr.To(machinev1.InsufficientResourcesMachineError)
	case why.Reason == lifecycle.ReasonGivenUp:
		m.Status.ErrorReason = ptr.To(machinev1.CreateMachineError)
	case why.Reason == lifecycle.ReasonJoinTimeout, why.Reason == lifecycle.ReasonCreateTimeout:
		m.Status.ErrorReason = ptr.To[machinev1.MachineStatusError](machinev1.JoinClusterTimeoutMachineError)
	}
	set(&m.Annotations, InstanceStateAnnotation, "Unknown")
	if m.Status.ProviderStatus != nil {
		m.Status.ProviderStatus = unknownState(m.Status.ProviderStatus)
	}
}

// unknownState sets the field with the provider's instance state, if it exists, to Unknown.
func unknownState(status *runtime.RawExtension) *runtime.RawExtension {
	var fields map[string]json.RawMessage // numbers keep their notation
	if err := json.Unmarshal(status.Raw, &fields); err != nil {
		return status
	}
	for _, key := range []string{"instanceState", "vmState"} {
		if bytes.HasPrefix(fields[key], []byte(`"`)) {
			fields[key] = json.RawMessage(`"Unknown"`)
		}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return status
	}
	return &runtime.RawExtension{Raw: raw}
}

func recordConditions(m *machinev1.Machine, o lifecycle.Outcome) {
	setCondition(m, hookCondition(machinev1.MachineDrainable, "Drain", m.Spec.LifecycleHooks.PreDrain), o.At)
	setCondition(m, hookCondition(machinev1.MachineTerminable, "Terminate", m.Spec.LifecycleHooks.PreTerminate), o.At)
	if c := existence(m, o); c != nil {
		setCondition(m, *c, o.At)
	}
	recordDrained(m, o)
	recordNodeLost(m, o)
}

// recordDrained writes the progress of the drain. Records of an earlier deletion are removed: owners of hooks
// wait for the record that the node is drained. No timestamp is before the deletion, by any clock.
func recordDrained(m *machinev1.Machine, o lifecycle.Outcome) {
	at := o.At
	if d := m.DeletionTimestamp; d != nil {
		m.Status.Conditions = slices.DeleteFunc(m.Status.Conditions, func(c machinev1.Condition) bool {
			return c.Type == machinev1.MachineDrained && c.LastTransitionTime.Before(d)
		})
		if at.Before(d.Time) {
			at = d.Time
		}
	}
	if c := drained(m, o); c != nil {
		setCondition(m, *c, at)
	}
}

func hookCondition(t machinev1.ConditionType, operation string, hooks []machinev1.LifecycleHook) machinev1.Condition {
	if len(hooks) == 0 {
		return machinev1.Condition{Type: t, Status: corev1.ConditionTrue}
	}
	by := make([]string, len(hooks))
	for i, h := range hooks {
		by[i] = "{Name:" + h.Name + " Owner:" + h.Owner + "}"
	}
	return machinev1.Condition{
		Type: t, Status: corev1.ConditionFalse, Severity: machinev1.ConditionSeverityWarning,
		Reason:  machinev1.MachineHookPresent,
		Message: operation + " operation currently blocked by: [" + strings.Join(by, " ") + "]",
	}
}

// existence says whether there is an instance; nil leaves the condition as it is, because it was not looked
// up or cannot exist any more.
func existence(m *machinev1.Machine, o lifecycle.Outcome) *machinev1.Condition {
	c := &machinev1.Condition{Type: machinev1.InstanceExistsCondition, Status: corev1.ConditionTrue}
	contradiction := o.World.Contradiction(Machines{}.View(m))
	recorded := ptr.Deref(m.Spec.ProviderID, "") != "" || len(m.Status.Addresses) > 0
	err := o.World.Instances.Err
	if o.World.Session.Err != nil {
		err = o.World.Session.Err
	}
	switch {
	case o.World.Instances.Looked && contradiction != "" && o.Reason != lifecycle.ReasonUnconfirmed:
		c.Status, c.Reason, c.Message = corev1.ConditionUnknown, string(lifecycle.ReasonContradicted), contradiction
	case o.World.Removal.State == lifecycle.RemovalDone, len(m.Finalizers) == 0:
		return nil
	case o.Reason == lifecycle.ReasonInvalidObject:
		c.Status, c.Reason = corev1.ConditionUnknown, machinev1.ErrorCheckingProviderReason
		c.Message = notChecked + ": " + o.Message
	case !o.World.Instances.Looked && err == nil:
		return nil
	case !o.World.Instances.Looked:
		c.Status, c.Reason = corev1.ConditionUnknown, machinev1.ErrorCheckingProviderReason
		c.Message = notChecked + ": " + err.Error()
	case len(o.World.Instances.Own) > 0 && o.Reason == lifecycle.ReasonGivenUp:
		c.Message = o.Message
	case len(o.World.Instances.Own) > 0, recorded && o.Reason == lifecycle.ReasonUnconfirmed:
		c.Message = relabelled(m)
	case recorded:
		c.Status, c.Severity, c.Reason = corev1.ConditionFalse, machinev1.ConditionSeverityWarning, machinev1.InstanceMissingReason
		c.Message = "Instance not found on provider"
	default:
		c.Status, c.Severity, c.Reason = corev1.ConditionFalse, machinev1.ConditionSeverityWarning, machinev1.InstanceNotCreatedReason
		c.Message = notCreated
		if o.Err != nil {
			c.Message += ": " + o.Err.Error()
		}
	}
	return c
}

// relabelled says that the label which chose where the instance was requested has changed since, without an
// effect on the instance; empty if it has not.
func relabelled(m *machinev1.Machine) string {
	from := Machines{}.View(m).Recorded.Origin
	if from == nil || from.Cluster == "" || from.Cluster == m.Labels[ClusterLabel] {
		return ""
	}
	return fmt.Sprintf("The instance was requested in cluster %q and stays there: the label %s, now %q, does not move it",
		from.Cluster, ClusterLabel, m.Labels[ClusterLabel])
}

// drained follows the drain of a machine under deletion.
func drained(m *machinev1.Machine, o lifecycle.Outcome) *machinev1.Condition {
	if m.DeletionTimestamp == nil || isDrained(m) || o.Did(lifecycle.RemoveFinalizer) {
		return nil
	}
	c := &machinev1.Condition{Type: machinev1.MachineDrained, Status: corev1.ConditionTrue, Message: "Drain finished successfully"}
	switch {
	case o.Reason == lifecycle.ReasonDrainBlockedHook, o.Reason == lifecycle.ReasonDisruptionBudget:
		return nil
	case o.Reason == lifecycle.ReasonDraining, o.World.Drain.Result != nil && !o.World.Drain.Result.Done:
		c.Status, c.Severity, c.Reason = corev1.ConditionFalse, machinev1.ConditionSeverityWarning, machinev1.MachineDrainError
		c.Message = "could not drain machine: " + o.World.Drain.Result.Message
	case o.World.Drain.Result == nil && !undrained(m) && !leaves(o):
		return nil
	case o.World.Drain.Result == nil:
		c.Message = "Node drain skipped"
	case dialect.Abandoned(o) != "":
		c.Message = dialect.Abandoned(o)
	}
	return c
}

// undrained reports whether the drain is excluded. That is recorded at once: the owners of pre-terminate
// hooks wait for it.
func undrained(m *machinev1.Machine) bool {
	_, excluded := m.Annotations[ExcludeDrainAnnotation]
	return excluded
}

// leaves reports whether the instance is terminating, or certainly terminated. Before that, an unnecessary
// drain may still become necessary: the node may join. A terminating duplicate is not enough as long as
// listings do not show the instance.
func leaves(o lifecycle.Outcome) bool {
	if o.Reason == lifecycle.ReasonUnconfirmed || o.World.Removal.State == lifecycle.RemovalUntried {
		return false
	}
	return o.World.Removal.State == lifecycle.RemovalDone || len(o.World.Instances.Own) > 0 && !o.World.Instances.Substitute
}

// setCondition keeps the list sorted by type and updates the transition time if any other field differs.
func setCondition(m *machinev1.Machine, c machinev1.Condition, at time.Time) {
	list := m.Status.Conditions
	c.Message = provider.Clip(c.Message, dialect.MostText)
	c.LastTransitionTime = metav1.NewTime(at.Truncate(time.Second))
	i := slices.IndexFunc(list, func(o machinev1.Condition) bool { return o.Type == c.Type })
	if i < 0 {
		m.Status.Conditions = append(list, c)
		slices.SortFunc(m.Status.Conditions, func(a, b machinev1.Condition) int { return strings.Compare(string(a.Type), string(b.Type)) })
		return
	}
	old := list[i]
	old.LastTransitionTime = c.LastTransitionTime
	if old != c {
		list[i] = c
	}
}
