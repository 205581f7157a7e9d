package judge

import (
	"slices"
	"strconv"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
)

// The strategies.
const (
	rolling  = "RollingUpdate"
	recreate = "Recreate"
	onDelete = "OnDelete"
	inPlace  = "InPlaceUpdate"
)

// deployment is a deployment of either API, by its fields.
type deployment struct {
	client.Object
	size     int
	strategy string
	selector labels.Selector
	// surge and unavailable are bounds in machines.
	surge, unavailable int
	byHand, paused     bool
	minReady           time.Duration
	rollbackTo         *int64
	history            *int32
	// overlaps: machines that are being deleted do not count against the surge.
	overlaps bool
	// wishes: the rollout has not yet marked all machines that an autoscaler chose.
	wishes bool
	// done: the status reports a complete rollout; says are the status's counters.
	done bool
	says counters
}

// counters are the counters of a deployment's status.
type counters struct{ replicas, updated, ready, available, unavailable int32 }

func readDeployment(o client.Object) deployment {
	out := deployment{Object: o}
	text, asked := o.GetAnnotations()[overlap]
	out.overlaps = asked && text != "false"
	switch d := o.(type) {
	case *v1alpha1.MachineDeployment:
		readGardenerDeployment(&out, d)
	case *v1beta1.MachineDeployment:
		readOpenShiftDeployment(&out, d)
	}
	return out
}

func readGardenerDeployment(out *deployment, d *v1alpha1.MachineDeployment) {
	out.size, out.strategy, out.selector = int(d.Spec.Replicas), string(d.Spec.Strategy.Type), selectorOf(d.Spec.Selector)
	var bounds v1alpha1.UpdateConfiguration
	if u := d.Spec.Strategy.RollingUpdate; u != nil && out.strategy == rolling {
		bounds = u.UpdateConfiguration
	}
	if u := d.Spec.Strategy.InPlaceUpdate; u != nil && out.strategy == inPlace {
		bounds, out.byHand = u.UpdateConfiguration, u.OrchestrationType == v1alpha1.OrchestrationTypeManual
	}
	out.bounds(bounds.MaxSurge, bounds.MaxUnavailable)
	out.paused = d.Spec.Paused
	if d.Spec.RollbackTo != nil {
		out.rollbackTo = &d.Spec.RollbackTo.Revision
	}
	out.history, out.wishes = d.Spec.RevisionHistoryLimit, d.Annotations[v1alpha1.AnnotationKeyTriggerDeletion] != ""
	st := d.Status
	out.says = counters{st.Replicas, st.UpdatedReplicas, st.ReadyReplicas, st.AvailableReplicas, st.UnavailableReplicas}
	frozen := d.Labels[v1alpha1.LabelKeyFreeze] != ""
	for _, c := range st.Conditions {
		out.done = out.done || c.Type == v1alpha1.MachineDeploymentProgressing && c.Status == v1alpha1.ConditionTrue && c.Reason == v1alpha1.ReasonNewMachineSetAvailable
		frozen = frozen || c.Type == v1alpha1.MachineDeploymentFrozen
	}
	out.done = out.done && !frozen && st.ObservedGeneration == d.Generation
}

func readOpenShiftDeployment(out *deployment, d *v1beta1.MachineDeployment) {
	out.size, out.selector = 1, selectorOf(&d.Spec.Selector)
	if d.Spec.Replicas != nil {
		out.size = int(*d.Spec.Replicas)
	}
	out.strategy, out.minReady = string(d.Spec.Strategy.Type), time.Duration(d.Spec.MinReadySeconds)*time.Second
	if out.strategy == "" {
		out.strategy = rolling
	}
	one := intstr.FromInt32(1)
	surge, unavailable := &one, new(intstr.IntOrString)
	if u := d.Spec.Strategy.RollingUpdate; u != nil {
		if u.MaxSurge != nil {
			surge = u.MaxSurge
		}
		if u.MaxUnavailable != nil {
			unavailable = u.MaxUnavailable
		}
	}
	out.bounds(surge, unavailable)
	out.paused = d.Spec.Paused
	if d.Spec.RollbackTo != nil {
		out.rollbackTo = &d.Spec.RollbackTo.Revision
	}
	out.history = d.Spec.RevisionHistoryLimit
	st := d.Status
	out.says = counters{st.Replicas, st.UpdatedReplicas, st.ReadyReplicas, st.AvailableReplicas, st.UnavailableReplicas}
	// With OnDelete the rollout ends when users have deleted the last old machine.
	out.done = st.ObservedGeneration == d.Generation && meta.IsStatusConditionTrue(st.Conditions, v1beta1.MachineDeploymentReady) &&
		meta.FindStatusCondition(st.Conditions, v1beta1.MachineDeploymentReconciling) == nil &&
		meta.FindStatusCondition(st.Conditions, v1beta1.MachineDeploymentStalled) == nil
}

// bounds sets the bounds as documented. A percentage of surge is rounded up. A percentage of unavailable is rounded
// down, and all machines are its maximum. If both are zero, one machine may be unavailable. There is no surge where users
// choose the nodes. Both are zero if the strategy does not replace step by step.
func (d *deployment) bounds(surge, unavailable *intstr.IntOrString) {
	if d.strategy != rolling && d.strategy != inPlace || d.size <= 0 {
		return
	}
	if !d.byHand {
		d.surge = ofAll(surge, d.size, 99)
	}
	d.unavailable = ofAll(unavailable, d.size, 0)
	if d.surge == 0 && d.unavailable == 0 {
		d.unavailable = 1
	}
	d.unavailable = min(d.unavailable, d.size)
}

// ofAll reads a number, or a percentage of all to which hundredths are added before the division.
func ofAll(v *intstr.IntOrString, all, hundredths int) int {
	if v == nil {
		return 0
	}
	n, percent, err := amount(v.String())
	switch {
	case err != nil, n < 0:
		return 0
	case percent:
		return (n*all + hundredths) / 100
	}
	return n
}

// amount reads "3", and "40%".
func amount(text string) (n int, percent bool, err error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err = strconv.Atoi(digits)
	return n, percent, err
}

func (d deployment) most() int  { return d.size + d.surge }
func (d deployment) least() int { return d.size - d.unavailable }

// steps reports whether old machines are replaced step by step.
func (d deployment) steps() bool { return d.strategy == rolling || d.strategy == inPlace }

// templateContent is the part of a template that defines new machines: other changes apply to existing machines.
func templateContent(o client.Object) any {
	switch t := o.(type) {
	case *v1alpha1.MachineDeployment:
		return gardenerTemplateContent(t.Spec.Template)
	case *v1alpha1.MachineSet:
		return gardenerTemplateContent(t.Spec.Template)
	case *v1beta1.MachineDeployment:
		return openshiftTemplateContent(t.Spec.Template)
	case *machinev1.MachineSet:
		return openshiftTemplateContent(t.Spec.Template)
	}
	return nil
}

func gardenerTemplateContent(t v1alpha1.MachineTemplateSpec) any {
	out := *t.DeepCopy()
	delete(out.Labels, v1alpha1.LabelKeyMachineTemplateHash)
	out.Spec.Class.Kind, out.Spec.MachineConfiguration = "", nil
	out.Spec.NodeTemplateSpec = v1alpha1.NodeTemplateSpec{}
	return out
}

func openshiftTemplateContent(t machinev1.MachineTemplateSpec) any {
	raw := ""
	if v := t.Spec.ProviderSpec.Value; v != nil {
		raw = string(v.Raw)
	}
	return raw
}

// alike reports whether both templates define the same machines.
func alike(a, b client.Object) bool {
	return equality.Semantic.DeepEqual(templateContent(a), templateContent(b))
}

// rolloutMarks are the marks of a rollout on the node.
func rolloutMarks(n *corev1.Node) (out []string) {
	for _, t := range n.Spec.Taints {
		if strings.HasSuffix(t.Key, "/prefer-no-schedule") || strings.HasSuffix(t.Key, "/outdated") {
			out = append(out, t.Key)
		}
	}
	for _, key := range []string{v1alpha1.LabelKeyNodeCandidateForUpdate, v1alpha1.LabelKeyNodeSelectedForUpdate, v1alpha1.LabelKeyNodeUpdateResult} {
		if n.Labels[key] != "" {
			out = append(out, key)
		}
	}
	for key, value := range n.Annotations {
		if strings.HasPrefix(key, "cluster-autoscaler.kubernetes.io/scale-down-disabled") && value != "false" {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

func candidate(n *corev1.Node) bool {
	return n != nil && n.Labels[v1alpha1.LabelKeyNodeCandidateForUpdate] == "true"
}

func selected(n *corev1.Node) bool {
	return n != nil && n.Labels[v1alpha1.LabelKeyNodeSelectedForUpdate] == "true"
}

// updating reports whether the node is selected for an update that is not yet done.
func updating(n *corev1.Node) bool {
	return selected(n) && n.Labels[v1alpha1.LabelKeyNodeUpdateResult] == ""
}

// resting reports whether the node was updated and is still cordoned.
func resting(n *corev1.Node) bool { return selected(n) && n.Spec.Unschedulable }
