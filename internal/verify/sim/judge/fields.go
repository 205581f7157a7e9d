package judge

import (
	"slices"
	"strconv"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// The documented keys of annotations, labels and taints.
const (
	excludeDrain      = "machine.openshift.io/exclude-node-draining"
	deleteMachine     = "machine.openshift.io/delete-machine"
	oldDeleteMachine  = "machine.openshift.io/cluster-api-delete-machine"
	clusterLabel      = "machine.openshift.io/cluster-api-cluster"
	heldSet           = "millwright.dev/scale-up-disabled"
	avoidedSet        = "millwright.dev/outdated"
	setLabel          = "machine.openshift.io/cluster-api-machineset"
	nodeHealthy       = "NodeHealthy"
	creationTimeout   = "millwright.dev/creation-timeout"
	healthTimeout     = "millwright.dev/health-timeout"
	drainTimeout      = "millwright.dev/drain-timeout"
	preserve          = "node.machine.sapcloud.io/preserve"
	maxShare          = "millwright.dev/max-deletion-share"
	approveShrink     = "millwright.dev/approve-mass-deletion"
	approveOrphans    = "millwright.dev/approve-orphan-removal"
	unrecorded        = "millwright.dev/unrecorded-instances"
	overlap           = "millwright.dev/rollout-overlap"
	skipRemediation   = "millwright.dev/skip-remediation"
	externalRemedy    = "host.metal3.io/external-remediation"
	remediationPaused = "cluster.x-k8s.io/paused"
)

// machine is a machine of either API, by its fields.
type machine struct {
	client.Object
	phase          string
	provider, node string
	owner          types.UID
	// updated is when the status last changed.
	updated time.Time
	// going: its deletion was requested, or its phase says so. failed: it has failed. works: its API counts it as
	// available. running: it has reached its final phase.
	going, failed, works, running bool
	// joining: it waits for its node. lost: its node has been unhealthy since lostSince.
	joining, lost bool
	lostSince     time.Time
	// hurried: a user forces its deletion. preDrain and preTerminate: it has such a hook. drained: it records that its
	// drain is done.
	hurried, preDrain, preTerminate, drained bool
	// asked: users want its set to delete it first. marked: an autoscaler wants that.
	asked, marked bool
	// shielded: it was handed over, and its new set still has to make room for it.
	shielded bool
	// kept: it has failed and is preserved.
	kept bool
	// unsure: it reports that it does not know its instance.
	unsure bool
	// group is the group of machines that are replaced one at a time.
	group string
	// join, health and drain are the machine's own timeouts, retries is its own number of refusals by disruption budgets; nil:
	// the defaults of the rules.
	join, health, drain *time.Duration
	retries             *int32
}

func controller(o client.Object) types.UID {
	if ref := metav1.GetControllerOf(o); ref != nil {
		return ref.UID
	}
	return ""
}

func duration(text string) *time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil
	}
	return &d
}

func instant(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

func readMachine(o client.Object) machine {
	out := machine{Object: o, owner: controller(o), going: o.GetDeletionTimestamp() != nil}
	switch m := o.(type) {
	case *v1alpha1.Machine:
		readGardener(&out, m)
	case *machinev1.Machine:
		readOpenShift(&out, m)
	}
	return out
}

func readGardener(out *machine, m *v1alpha1.Machine) {
	st := m.Status.CurrentStatus
	out.phase, out.provider, out.node = string(st.Phase), m.Spec.ProviderID, m.Labels[v1alpha1.LabelKeyNode]
	out.updated = st.LastUpdateTime.Time
	out.going = out.going || st.Phase == v1alpha1.MachineTerminating
	out.failed = st.Phase == v1alpha1.MachineFailed
	out.running = st.Phase == v1alpha1.MachineRunning
	out.works = out.running || st.Phase == v1alpha1.MachineAvailable
	out.joining = st.Phase == v1alpha1.MachinePending
	out.lost, out.lostSince = st.Phase == v1alpha1.MachineUnknown, st.LastUpdateTime.Time
	force, err := strconv.ParseBool(m.Labels[v1alpha1.LabelKeyForceDeletion])
	out.hurried = err == nil && force || m.Labels[v1alpha1.LabelKeyForceDrain] == "True"
	out.asked = m.Annotations[v1alpha1.AnnotationKeyMachinePriority] == "1"
	out.marked = !instant(m.Annotations[v1alpha1.AnnotationKeyMarkedForDeletionTime]).IsZero()
	out.shielded = m.Labels[v1alpha1.LabelKeyNodeUpdateResult] == "successful"
	out.kept = st.PreserveExpiryTime != nil
	out.group = m.Labels[v1alpha1.LabelKeyName]
	if c := m.Spec.MachineConfiguration; c != nil {
		out.join, out.health, out.drain = span(c.MachineCreationTimeout), span(c.MachineHealthTimeout), span(c.MachineDrainTimeout)
		out.retries = c.MaxEvictRetries
	}
	if d := duration(m.Annotations[v1alpha1.AnnotationKeyEffectiveCreationTimeout]); d != nil {
		out.join = d
	}
}

func span(d *metav1.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	return &d.Duration
}

func readOpenShift(out *machine, m *machinev1.Machine) {
	st := m.Status
	if st.Phase != nil {
		out.phase = *st.Phase
	}
	if m.Spec.ProviderID != nil {
		out.provider = *m.Spec.ProviderID
	}
	if st.NodeRef != nil {
		out.node = st.NodeRef.Name
	}
	if st.LastUpdated != nil {
		out.updated = st.LastUpdated.Time
	}
	out.failed = st.ErrorReason != nil || st.ErrorMessage != nil || out.phase == machinev1.PhaseFailed
	for _, c := range st.Conditions {
		if c.Type == nodeHealthy && c.Status == corev1.ConditionFalse {
			out.lostSince = c.LastTransitionTime.Time
		}
	}
	out.lost = out.phase == machinev1.PhaseRunning && !out.lostSince.IsZero()
	out.running = out.phase == machinev1.PhaseRunning && !out.lost
	out.joining = out.phase == machinev1.PhaseProvisioned
	_, out.hurried = m.Annotations[excludeDrain]
	out.preDrain, out.preTerminate = len(m.Spec.LifecycleHooks.PreDrain) > 0, len(m.Spec.LifecycleHooks.PreTerminate) > 0
	for _, c := range st.Conditions {
		out.drained = out.drained || c.Type == machinev1.MachineDrained && c.Status == corev1.ConditionTrue
		out.unsure = out.unsure || c.Type == machinev1.InstanceExistsCondition && c.Status == corev1.ConditionUnknown
	}
	out.asked = m.Annotations[deleteMachine] != "" || m.Annotations[oldDeleteMachine] != ""
	out.group = m.Labels[setLabel]
	if out.group == "" {
		out.group = m.Labels[clusterLabel]
	}
	out.join, out.health = duration(m.Annotations[creationTimeout]), duration(m.Annotations[healthTimeout])
	out.drain = duration(m.Annotations[drainTimeout])
}

// replaced reports whether its set replaces the failed machine.
func (j *Judge) replaced(m machine) bool {
	_, gardener := m.Object.(*v1alpha1.Machine)
	return gardener && m.failed
}

// held reports whether the machine has our finalizer.
func (j *Judge) held(m machine) bool {
	return slices.Contains(m.GetFinalizers(), j.apiOf(m.Object).Finalizer)
}

// set is a set of either API.
type set struct {
	client.Object
	size     int
	owner    types.UID
	selector labels.Selector
	// frozen: it creates no machines because it has far too many.
	frozen bool
	// held: its deployment does not let it grow. avoided: its nodes have a taint that keeps new pods away.
	held, avoided bool
	// share and approved bound how many machines may be deleted at once, as users set them; share 0: no limit.
	share, approved int
	// replicas, ready and available are the status's counters for the observed generation.
	replicas, ready, available int32
	observed                   int64
}

func readSet(o client.Object) set {
	out := set{Object: o, owner: controller(o), selector: labels.Nothing()}
	switch s := o.(type) {
	case *v1alpha1.MachineSet:
		out.size, out.selector = int(s.Spec.Replicas), selectorOf(s.Spec.Selector)
		out.frozen = s.Labels[v1alpha1.LabelKeyFreeze] == "True"
		_, out.held = s.Labels[v1alpha1.LabelKeyScaleUpDisabled]
		out.avoided = s.Annotations[v1alpha1.AnnotationKeyPreferNoSchedule] == "True"
		out.replicas, out.ready, out.available, out.observed = s.Status.Replicas, s.Status.ReadyReplicas, s.Status.AvailableReplicas, s.Status.ObservedGeneration
	case *machinev1.MachineSet:
		out.size, out.selector = 1, selectorOf(&s.Spec.Selector)
		text, held := s.Annotations[heldSet]
		out.held, out.avoided = held && text != "false", s.Annotations[avoidedSet] == "true"
		if s.Spec.Replicas != nil {
			out.size = int(*s.Spec.Replicas)
		}
		out.replicas, out.ready, out.available, out.observed = s.Status.Replicas, s.Status.ReadyReplicas, s.Status.AvailableReplicas, s.Status.ObservedGeneration
	}
	out.share, out.approved = guardOf(o)
	return out
}

// guardOf reads how many machines may be deleted at once: a share from 1 % to 100 %, 20 % if the value is unreadable, and
// an approved number.
func guardOf(o client.Object) (share, approved int) {
	text := o.GetAnnotations()[maxShare]
	if text == "" {
		return 0, 0
	}
	share, percent, err := amount(text)
	if err != nil || !percent || share < 1 || share > 100 {
		share = 20
	}
	approved, err = strconv.Atoi(o.GetAnnotations()[approveShrink])
	if err != nil {
		approved = 0
	}
	return share, approved
}

func selectorOf(s *metav1.LabelSelector) labels.Selector {
	out, err := metav1.LabelSelectorAsSelector(s)
	if err != nil || out.Empty() {
		return labels.Nothing()
	}
	return out
}

// selects reports whether the set owns m and selects its labels.
func (s set) selects(m machine) bool {
	return m.owner == s.GetUID() && s.selector.Matches(labels.Set(m.GetLabels()))
}

// claims reports whether the set adopts m, which has no controller.
func (s set) claims(m machine) bool {
	return m.owner == "" && s.selector.Matches(labels.Set(m.GetLabels()))
}

// counts reports whether the set counts m as a replica.
func (s set) counts(m machine) bool { return s.selects(m) && !m.going }

// readyAt is the time since which the node has been ready; false if it is not ready.
func readyAt(n *corev1.Node) (since time.Time, ready bool) {
	if n == nil {
		return since, false
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return since, false
}

func ready(n *corev1.Node) bool {
	_, is := readyAt(n)
	return is
}

func daemon(pod *corev1.Pod) bool {
	ref := metav1.GetControllerOf(pod)
	return ref != nil && ref.Kind == "DaemonSet"
}
