package gardener

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// setBurst is how many machines of one set are created, or deleted, in one
// pass.
const setBurst = 100

// Sets reads and writes machine sets of this API.
type Sets struct{}

var (
	_ dialect.Sets[*v1alpha1.MachineSet] = Sets{}
	_ dialect.SetPreserver               = Sets{}
	_ dialect.HealthJudge                = Sets{}
)

// Traits implements [dialect.Sets].
func (Sets) Traits() dialect.SetTraits {
	return dialect.SetTraits{
		Kind:      v1alpha1.GroupVersion.WithKind(v1alpha1.KindMachineSet),
		Finalizer: v1alpha1.FinalizerMachine,
		Machine:   func() client.Object { return &v1alpha1.Machine{} },
		Machines:  func() client.ObjectList { return &v1alpha1.MachineList{} },
		Sets:      func() client.ObjectList { return &v1alpha1.MachineSetList{} },
		Events: dialect.SetEvents{
			Created: "SuccessfulCreate", Deleted: "SuccessfulDelete",
			FailedCreate: v1alpha1.ReasonFailedCreate, FailedDelete: v1alpha1.ReasonFailedDelete,
			Invalid: v1alpha1.ReasonFailedCreate, Failure: "Error",
			Froze: "FrozeMachineSet", Thawed: "UnfrozeMachineSet",
		},
	}
}

// New implements [dialect.Sets].
func (Sets) New() *v1alpha1.MachineSet { return &v1alpha1.MachineSet{} }

// View returns the engine's facts of s.
func (Sets) View(s *v1alpha1.MachineSet) dialect.SetView {
	return dialect.SetView{Set: setFacts(s), Policy: setPolicy, Selector: setSelector(s)}
}

func setFacts(s *v1alpha1.MachineSet) replicas.Set {
	return replicas.Set{
		UID: s.UID, Namespace: s.Namespace, Name: s.Name,
		Replicas:  int(s.Spec.Replicas),
		Deleting:  s.DeletionTimestamp != nil,
		Orphaning: slices.Contains(s.Finalizers, metav1.FinalizerOrphanDependents),
		NoGrowth:  noGrowth(s),
		Frozen:    labelledFrozen(s),
		Scaled:    stamp(s.Annotations[v1alpha1.AnnotationKeyScalerReplicaChange]),
		AutoKeep:  int(s.Spec.AutoPreserveFailedMachineMax),
		Guard:     dialect.ReadDeletionGuard(s),
		Growth:    dialect.ReadGrowthGuard(s),
		Faults:    setFaults(s),
	}
}

// noGrowth returns why s creates no machine. The freeze needs its exact value, an update in place only the
// label's presence.
func noGrowth(s *v1alpha1.MachineSet) string {
	if labelledFrozen(s) {
		return "the set is frozen (label " + v1alpha1.LabelKeyFreeze + ")"
	}
	if _, ok := s.Labels[v1alpha1.LabelKeyScaleUpDisabled]; ok {
		return "scaling up is disabled (label " + v1alpha1.LabelKeyScaleUpDisabled + ")"
	}
	return ""
}

// setFaults returns the errors that keep a set from being scaled. They do not keep it from being deleted.
func setFaults(s *v1alpha1.MachineSet) (out []lifecycle.Fault) {
	add := func(field, message string) { out = append(out, lifecycle.Fault{Field: field, Message: message}) }
	if s.Spec.Replicas < 0 {
		add("spec.replicas", fmt.Sprintf("must not be negative, is %d", s.Spec.Replicas))
	}
	selector, err := metav1.LabelSelectorAsSelector(s.Spec.Selector)
	switch {
	case err != nil:
		add("spec.selector", err.Error())
	case s.Spec.Selector == nil || selector.Empty():
		add("spec.selector", "must not be empty")
	case !selector.Matches(labels.Set(s.Spec.Template.Labels)):
		add("spec.template.metadata.labels", "are not matched by spec.selector")
	}
	if s.Spec.Template.Spec.Class.Kind == "" {
		add("spec.template.spec.class.kind", "is required")
	}
	if s.Spec.Template.Spec.Class.Name == "" {
		add("spec.template.spec.class.name", "is required")
	}
	return out
}

// setOrder is the order in which machines are deleted.
var setOrder = []replicas.Criterion{
	replicas.KeptLast, replicas.ByPriority, replicas.MarkedFirst, replicas.ByPhase, replicas.ByAge,
}

// setPolicy: failed machines are replaced, the autoscaler's choice is honoured, and a set deletes its
// machines with it. minReadySeconds is not used.
var setPolicy = replicas.Policy{
	Burst: setBurst, Order: setOrder,
	ReplaceFailed: true, HonourMarks: true, Cascade: true, StatusCountsLeaving: true,
}

// shielded reports whether m was handed over to s and waits for room there. The shield ends if no controller
// is left that would make room: the deployment was deleted and its sets were not.
func shielded(s *v1alpha1.MachineSet, m *v1alpha1.Machine) bool {
	return m.Labels[v1alpha1.LabelKeyNodeUpdateResult] == v1alpha1.LabelValueNodeUpdateSuccessful && metav1.GetControllerOf(s) != nil
}

// setSelector matches nothing if s's selector is invalid.
func setSelector(s *v1alpha1.MachineSet) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s.Spec.Selector)
	if err != nil || selector.Empty() {
		return labels.Nothing()
	}
	return selector
}

var setPhases = map[v1alpha1.MachinePhase]replicas.Phase{
	v1alpha1.MachineFailed:           replicas.PhaseFailed,
	v1alpha1.MachineCrashLoopBackOff: replicas.PhaseCrashing,
	v1alpha1.MachineUnknown:          replicas.PhaseLost,
	v1alpha1.MachinePending:          replicas.PhasePending,
	v1alpha1.MachineAvailable:        replicas.PhaseDetached,
	v1alpha1.MachineRunning:          replicas.PhaseRunning,
}

// Member returns the facts of a machine of s.
func (Sets) Member(s *v1alpha1.MachineSet, o client.Object, _ dialect.Nodes) replicas.Member {
	m := o.(*v1alpha1.Machine)
	out := member(m)
	out.Shielded = shielded(s, m)
	out.FullyLabeled = labels.SelectorFromSet(s.Spec.Template.Labels).Matches(labels.Set(m.Labels))
	return out
}

// FailedByHealth implements [dialect.HealthJudge]: the last failed operation is the health check.
func (Sets) FailedByHealth(o client.Object) bool {
	m := o.(*v1alpha1.Machine)
	return m.Status.CurrentStatus.Phase == v1alpha1.MachineFailed && m.Status.LastOperation.Type == v1alpha1.MachineOperationHealthCheck
}

// member returns the facts of m, for any owner. Its phase determines its readiness.
func member(m *v1alpha1.Machine) replicas.Member {
	phase := m.Status.CurrentStatus.Phase
	return replicas.Member{
		UID: m.UID, Name: m.Name, Created: m.CreationTimestamp.Time,
		Deleting:     m.DeletionTimestamp != nil,
		Leaving:      phase == v1alpha1.MachineTerminating,
		Phase:        setPhases[phase],
		Failed:       phase == v1alpha1.MachineFailed,
		Linked:       m.Labels[v1alpha1.LabelKeyNode] != "",
		Priority:     priority(m),
		Marked:       stamp(m.Annotations[v1alpha1.AnnotationKeyMarkedForDeletionTime]),
		Preservation: keeping(m),
		Ready:        phase == v1alpha1.MachineRunning,
		Usable:       phase == v1alpha1.MachineRunning || phase == v1alpha1.MachineAvailable,
	}
}

// priority returns the machine's priority, or the default if it is missing or not a number.
func priority(m *v1alpha1.Machine) int {
	const usual = 3
	p, err := strconv.Atoi(m.Annotations[v1alpha1.AnnotationKeyMachinePriority])
	if err != nil {
		return usual
	}
	return p
}

// stamp reads a time in RFC 3339; zero if it is missing or invalid.
func stamp(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// NewMachine creates a machine from the template. It gets the creation timeout in force for the set, and the
// default priority.
func (d Sets) NewMachine(s *v1alpha1.MachineSet, name string) client.Object {
	t := s.Spec.Template.DeepCopy()
	m := &v1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, GenerateName: dialect.GenerateName(s.Name), Namespace: s.Namespace,
			Labels: maps.Clone(t.Labels), Annotations: maps.Clone(t.Annotations),
			Finalizers:      slices.Clone(t.Finalizers),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, d.Traits().Kind)},
		},
		Spec: t.Spec,
	}
	if !slices.Contains(m.Finalizers, v1alpha1.FinalizerMachine) {
		m.Finalizers = append(m.Finalizers, v1alpha1.FinalizerMachine)
	}
	annotate(m, v1alpha1.AnnotationKeyMachinePriority, v1alpha1.MachinePriorityDefault)
	dialect.Unasked(m)
	if timeout := s.Annotations[v1alpha1.AnnotationKeyEffectiveCreationTimeout]; timeout != "" {
		overrideCreationTimeout(m, timeout)
	}
	return m
}

// annotate sets annotations that the template does not set.
func annotate(m *v1alpha1.Machine, key, value string) {
	if _, ok := m.Annotations[key]; ok {
		return
	}
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[key] = value
}

func overrideCreationTimeout(m *v1alpha1.Machine, timeout string) {
	delete(m.Annotations, v1alpha1.AnnotationKeyEffectiveCreationTimeout)
	annotate(m, v1alpha1.AnnotationKeyEffectiveCreationTimeout, timeout)
	d, err := time.ParseDuration(timeout)
	if err != nil {
		return
	}
	if m.Spec.MachineConfiguration == nil {
		m.Spec.MachineConfiguration = &v1alpha1.MachineConfiguration{}
	}
	m.Spec.MachineCreationTimeout = &metav1.Duration{Duration: d}
}

// Propagate copies changes of the template that need no new machine to existing machines: node template and
// timeouts. It corrects the class kind on all of them.
func (Sets) Propagate(s *v1alpha1.MachineSet, o client.Object, dry bool) bool {
	m, t := o.(*v1alpha1.Machine), &s.Spec.Template.Spec
	want := m.Spec
	want.Class.Kind = t.Class.Kind
	if phase := m.Status.CurrentStatus.Phase; phase != v1alpha1.MachineFailed && phase != v1alpha1.MachineTerminating {
		want.NodeTemplateSpec = t.NodeTemplateSpec
		want.MachineConfiguration = configuration(s)
	}
	if equality.Semantic.DeepEqual(want, m.Spec) {
		return false
	}
	if !dry {
		want.DeepCopyInto(&m.Spec)
	}
	return true
}

// configuration returns the configuration of the machines of s, including the creation timeout in force, so
// that a machine's own copy of it does not look like a difference.
func configuration(s *v1alpha1.MachineSet) *v1alpha1.MachineConfiguration {
	m := &v1alpha1.Machine{Spec: v1alpha1.MachineSpec{MachineConfiguration: s.Spec.Template.Spec.MachineConfiguration.DeepCopy()}}
	if timeout := s.Annotations[v1alpha1.AnnotationKeyEffectiveCreationTimeout]; timeout != "" {
		overrideCreationTimeout(m, timeout)
	}
	return m.Spec.MachineConfiguration
}

// PreserveMachine writes the set's own choice to keep m, or removes it.
func (Sets) PreserveMachine(o client.Object, keep bool) {
	m := o.(*v1alpha1.Machine)
	delete(m.Annotations, v1alpha1.AnnotationKeyPreserve)
	if keep {
		annotate(m, v1alpha1.AnnotationKeyPreserve, v1alpha1.PreserveAuto)
	}
}
