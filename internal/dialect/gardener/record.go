package gardener

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// Record writes o into m.
func (d Machines) Record(m *v1alpha1.Machine, o lifecycle.Outcome) {
	if o.Did(lifecycle.RemoveFinalizer) {
		controllerutil.RemoveFinalizer(m, v1alpha1.FinalizerMachine)
		return
	}
	if o.Did(lifecycle.AddFinalizer) {
		controllerutil.AddFinalizer(m, v1alpha1.FinalizerMachine)
		was := d.View(m)
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
		setKept(m, dialect.KeepRequests(m, kept(m), d.View(m).Recorded, o.World.Requests), o.At)
	}
	if o.Step == lifecycle.AddFinalizer || o.Step == lifecycle.RecordRequest {
		return // the pass continues
	}
	if dialect.RecordReboot(m, o); o.Step == lifecycle.Reboot {
		return // and after this step, too
	}
	d.recordKept(m, o)
	if i := o.World.Instances.Recordable(m.Spec.ProviderID); i != nil {
		recordInstance(m, i, o)
	}
	dialect.RecordUnrecorded(m, o.World)
	dialect.RecordStopped(m, o, d.View(m))
	recordNode(m, o, d.Policy(m))
	was := stages[m.Status.CurrentStatus.Phase]
	steps := recordStarted(m, o)
	if op := operation(m, was, o); op != nil {
		if text := lifecycle.Story(steps); text != "" {
			op.Description += " (" + text + ")" // after the text from which another implementation continues
		}
		recordOperation(m, *op, o.At)
	}
	recordPhase(m, was, o)
	recordKeep(m, o.Preserve)
}

// recordInstance records the infrastructure's facts. The node's name is known before the node exists.
// Addresses are stored only without a node.
func recordInstance(m *v1alpha1.Machine, i *provider.Instance, o lifecycle.Outcome) {
	dialect.RecordOrigin(m, dialect.OriginIn(kept(m)), m.Spec.ProviderID != "")
	if m.Spec.ProviderID == "" {
		m.Spec.ProviderID = i.ProviderID
	}
	if i.NodeName != "" && m.Labels[v1alpha1.LabelKeyNode] == "" {
		metav1.SetMetaDataLabel(&m.ObjectMeta, v1alpha1.LabelKeyNode, i.NodeName)
	}
	if m.Annotations[v1alpha1.AnnotationKeyMachinePriority] == "" && m.DeletionTimestamp == nil {
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, v1alpha1.AnnotationKeyMachinePriority, v1alpha1.MachinePriorityDefault)
	}
	if dialect.Storable(o.World.Instances.ProviderStatus) {
		m.Status.LastKnownState = string(o.World.Instances.ProviderStatus)
	}
	if o.Stage == lifecycle.StageDetached && len(i.Addresses) > 0 {
		m.Status.Addresses = addresses(*i)
	}
}

func addresses(i provider.Instance) []corev1.NodeAddress {
	out := dialect.Addresses(i.Addresses)
	if i.NodeName != "" {
		out = append(out, corev1.NodeAddress{Type: corev1.NodeHostName, Address: i.NodeName})
	}
	slices.SortFunc(out, func(a, b corev1.NodeAddress) int {
		return strings.Compare(string(a.Type)+"\x00"+a.Address, string(b.Type)+"\x00"+b.Address)
	})
	return slices.Compact(out)
}

// recordNode records the name of a node that was not predicted, and copies the node's conditions when one was
// added, removed or changed its status: heartbeats are not written. For an update in place, the reason is
// what changes. A kubelet may write any number of conditions; then only some are copied, and the others cause
// no writes.
func recordNode(m *v1alpha1.Machine, o lifecycle.Outcome, p lifecycle.Policy) {
	n, at := o.World.Node.Object, o.At
	if n == nil || m.DeletionTimestamp != nil {
		return
	}
	if m.Labels[v1alpha1.LabelKeyNode] == "" {
		metav1.SetMetaDataLabel(&m.ObjectMeta, v1alpha1.LabelKeyNode, n.Name)
	}
	told := lifecycle.Telling(n, p, v1alpha1.NodeInPlaceUpdate, v1alpha1.NodePreserved, v1alpha1.NodeTerminating)
	same := slices.EqualFunc(copied(m.Status.Conditions), told, func(a, b corev1.NodeCondition) bool {
		return a.Type == b.Type && a.Status == b.Status && (a.Reason == b.Reason || a.Type != v1alpha1.NodeInPlaceUpdate)
	})
	if !same {
		was := kept(m)
		m.Status.Conditions = told
		setKept(m, was, at)
	}
}

var phases = map[lifecycle.Stage]v1alpha1.MachinePhase{
	lifecycle.StageCreating:     v1alpha1.MachinePending,
	lifecycle.StageCrashing:     v1alpha1.MachineCrashLoopBackOff,
	lifecycle.StageJoining:      v1alpha1.MachinePending,
	lifecycle.StageDetached:     v1alpha1.MachineAvailable,
	lifecycle.StageRunning:      v1alpha1.MachineRunning,
	lifecycle.StageLost:         v1alpha1.MachineUnknown,
	lifecycle.StageUpdating:     v1alpha1.MachineInPlaceUpdating,
	lifecycle.StageUpdated:      v1alpha1.MachineInPlaceUpdateSuccessful,
	lifecycle.StageUpdateFailed: v1alpha1.MachineInPlaceUpdateFailed,
	lifecycle.StageFailed:       v1alpha1.MachineFailed,
	lifecycle.StageDeleting:     v1alpha1.MachineTerminating,
}

// timed are the phases with a timeout.
var timed = map[v1alpha1.MachinePhase]bool{
	v1alpha1.MachinePending: true, v1alpha1.MachineUnknown: true,
	v1alpha1.MachineInPlaceUpdating: true, v1alpha1.MachineInPlaceUpdateFailed: true,
}

// recordPhase writes the phase when the stage has changed. The end of the machine's preservation stays with
// it until it is deleted.
func recordPhase(m *v1alpha1.Machine, was lifecycle.Stage, o lifecycle.Outcome) {
	phase, ok := phases[o.Stage]
	current := &m.Status.CurrentStatus
	if !ok || o.Stage == was || current.Phase == phase {
		return
	}
	preserve := current.PreserveExpiryTime
	if phase == v1alpha1.MachineTerminating {
		preserve = nil
	}
	*current = v1alpha1.CurrentStatus{
		Phase: phase, LastUpdateTime: metav1.NewTime(o.At.Truncate(time.Second)),
		TimeoutActive:      timed[phase],
		PreserveExpiryTime: preserve,
	}
}

// recordOperation records the operation unless the object has it already.
func recordOperation(m *v1alpha1.Machine, op v1alpha1.LastOperation, at time.Time) {
	op.Description = provider.Clip(op.Description, dialect.MostText)
	was := m.Status.LastOperation
	was.LastUpdateTime = metav1.Time{}
	if was == op {
		return
	}
	op.LastUpdateTime = metav1.NewTime(at.Truncate(time.Second))
	m.Status.LastOperation = op
}

// operation returns the machine's current operation; nil keeps the last one.
func operation(m *v1alpha1.Machine, was lifecycle.Stage, o lifecycle.Outcome) *v1alpha1.LastOperation {
	if m.DeletionTimestamp != nil {
		return removal(o)
	}
	if op := updateOperation(m, was, o); op != nil {
		return op
	}
	last := m.Status.LastOperation
	say := func(t v1alpha1.MachineOperationType, s v1alpha1.MachineState, text string) *v1alpha1.LastOperation {
		return &v1alpha1.LastOperation{Type: t, State: s, Description: text}
	}
	switch {
	case o.Did(lifecycle.Fail):
		return failure(m, o.Decision)
	case o.Reason == lifecycle.ReasonInvalidObject:
		return say(v1alpha1.MachineOperationCreate, v1alpha1.MachineStateFailed, "Invalid machine: "+o.Message)
	case o.Stage == lifecycle.StageCrashing && o.Err != nil:
		return trouble(o.Err)
	case o.Stage == lifecycle.StageDetached && was != o.Stage:
		return say(v1alpha1.MachineOperationCreate, v1alpha1.MachineStateSuccessful, "Created machine on cloud provider")
	case o.Stage == lifecycle.StageCreating, o.Stage == lifecycle.StageJoining:
		return say(v1alpha1.MachineOperationCreate, v1alpha1.MachineStateProcessing, "Creating machine on cloud provider")
	case o.Stage == lifecycle.StageLost && was != o.Stage:
		return say(v1alpha1.MachineOperationHealthCheck, v1alpha1.MachineStateProcessing, unhealthy(m, o)+stopped(m))
	case o.Reason == lifecycle.ReasonReconnected:
		return say(v1alpha1.MachineOperationHealthCheck, v1alpha1.MachineStateSuccessful, "Machine Health Timeout was reset due to APIServer being unreachable")
	case o.Reason == lifecycle.ReasonContradicted, o.Decision.TargetDistrusted():
		return say(v1alpha1.MachineOperationHealthCheck, v1alpha1.MachineStateProcessing, o.Message)
	case o.Stage == lifecycle.StageRunning && was != o.Stage && joins(last):
		return say(v1alpha1.MachineOperationCreate, v1alpha1.MachineStateSuccessful,
			fmt.Sprintf("Machine %s successfully joined the cluster in %s", m.Name, max(0, o.At.Sub(m.CreationTimestamp.Time).Round(time.Second))))
	case o.Stage == lifecycle.StageRunning && was != o.Stage:
		return say(v1alpha1.MachineOperationHealthCheck, v1alpha1.MachineStateSuccessful,
			fmt.Sprintf("Machine %s successfully re-joined the cluster", m.Name))
	case lifecycle.Distrusts(last.Description) && o.World.Node.Looked && o.Stage == lifecycle.StageRunning:
		return say(v1alpha1.MachineOperationHealthCheck, v1alpha1.MachineStateSuccessful, "The target cluster is the one that the machine joined, and has its node")
	case lifecycle.Contradicts(last.Description) && o.World.Instances.Looked && o.Stage == lifecycle.StageRunning:
		return say(v1alpha1.MachineOperationHealthCheck, v1alpha1.MachineStateSuccessful, "The infrastructure's list agrees with the machine's node again")
	}
	return nil
}

// unhealthy returns the text about an unhealthy machine, for clients that match on the whole text.
func unhealthy(m *v1alpha1.Machine, o lifecycle.Outcome) string {
	text := fmt.Sprintf("Machine %s is unhealthy - changing MachinePhase to Unknown", m.Name)
	switch taken := o.World.Node.Taken; {
	case o.Reason == lifecycle.ReasonNodeMissing && taken != "" && len(o.World.Instances.Own) > 0:
		return fmt.Sprintf("Node %s is that of %s. %s", m.Labels[v1alpha1.LabelKeyNode], taken, text)
	case o.Reason == lifecycle.ReasonNodeMissing && taken != "":
		return fmt.Sprintf("Node %s is that of %s, and the machine's own instance does not exist. %s", m.Labels[v1alpha1.LabelKeyNode], taken, text)
	case o.Reason == lifecycle.ReasonNodeMissing:
		return "Node object went missing. " + text
	case o.Reason == lifecycle.ReasonNodeUnhealthy:
		return text + ". Node conditions: " + o.Args.Conditions
	}
	return o.Message
}

// stopped returns the infrastructure's state of the instance of an unhealthy machine, if that explains it.
func stopped(m *v1alpha1.Machine) string {
	if s := dialect.Stopped(m); s != "" {
		return "; " + s
	}
	return ""
}

// joins reports whether a machine that runs now has joined for the first time.
func joins(last v1alpha1.LastOperation) bool {
	return last.Type == "" || last.Type == v1alpha1.MachineOperationCreate && last.State != v1alpha1.MachineStateSuccessful
}

// failure keeps the type of the operation during which the machine failed.
func failure(m *v1alpha1.Machine, why lifecycle.Decision) *v1alpha1.LastOperation {
	if why.Err != nil {
		return trouble(why.Err)
	}
	t := m.Status.LastOperation.Type
	if t == "" {
		t = v1alpha1.MachineOperationCreate
	}
	return &v1alpha1.LastOperation{Type: t, State: v1alpha1.MachineStateFailed, Description: dialect.GivenUp(m.Name, why)}
}

func trouble(err error) *v1alpha1.LastOperation {
	return &v1alpha1.LastOperation{
		Type: v1alpha1.MachineOperationCreate, State: v1alpha1.MachineStateFailed,
		ErrorCode: code(err), Description: "Cloud provider message - " + coded(err),
	}
}

// removal returns the text for each step of a deletion, with the marks from which another implementation
// would continue it.
func removal(o lifecycle.Outcome) *v1alpha1.LastOperation {
	say := func(s v1alpha1.MachineState, text string) *v1alpha1.LastOperation {
		op := &v1alpha1.LastOperation{Type: v1alpha1.MachineOperationDelete, State: s, Description: text}
		if o.Err != nil {
			op.State, op.ErrorCode = v1alpha1.MachineStateFailed, code(o.Err)
		}
		return op
	}
	switch o.Reason {
	case lifecycle.ReasonDraining:
		return say(v1alpha1.MachineStateProcessing, "Drain is not done yet: "+o.Message+". Will retry in next sync. Initiate node drain")
	case lifecycle.ReasonDisruptionBudget:
		return say(v1alpha1.MachineStateProcessing, "Waits for "+o.Message+". Initiate node drain")
	case lifecycle.ReasonDeletionNeedsHelp:
		return say(v1alpha1.MachineStateFailed, coded(o.Err)+". Now, getting VM Status")
	case lifecycle.ReasonContradicted:
		return say(v1alpha1.MachineStateFailed, o.Message+". Now, getting VM Status")
	case lifecycle.ReasonTargetReplaced, lifecycle.ReasonNodeDoubted:
		return say(v1alpha1.MachineStateFailed, o.Message+". "+nodeMark(o))
	case lifecycle.ReasonTerminateFailed:
		return say(v1alpha1.MachineStateFailed, coded(o.Err)+". Initiate VM deletion")
	case lifecycle.ReasonTerminating, lifecycle.ReasonUnconfirmed:
		return say(v1alpha1.MachineStateProcessing, drainWord(o)+" Initiate VM deletion")
	case lifecycle.ReasonNodeUnknown:
		return say(v1alpha1.MachineStateFailed, "Node cannot be looked up or deleted: "+o.Message+". "+nodeMark(o))
	}
	return nil
}

// nodeMark returns where another implementation has to continue that finds a node which cannot be read: at
// the drain, unless the instance is terminated. From the mark of the node's deletion on it would no longer
// look for the instance.
func nodeMark(o lifecycle.Outcome) string {
	if o.World.Removal.State == lifecycle.RemovalDone {
		return "Initiate node object deletion"
	}
	return "Initiate node drain"
}

func drainWord(o lifecycle.Outcome) string {
	switch {
	case dialect.Abandoned(o) != "":
		return dialect.Abandoned(o) + "."
	case o.World.Drain.Result == nil:
		return "Node drain was not necessary or is done."
	case o.Did(lifecycle.Drain) && o.World.Drain.Result.Done:
		return "Drain successful."
	}
	return "Drain skipped."
}
