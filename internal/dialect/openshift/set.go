package openshift

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// Annotations on machines that request, with any value that is not empty, to delete them first when their set
// shrinks. The autoscaler writes them.
const (
	DeleteMachineAnnotation    = "machine.openshift.io/delete-machine"
	OldDeleteMachineAnnotation = "machine.openshift.io/cluster-api-delete-machine"
)

// setBurst limits creations and deletions of one pass. The API requires no limit; this one keeps a mistaken
// number of replicas from being carried out at once, and costs a thousand machines one more pass.
const setBurst = 500

// Sets reads and writes machine sets of this API.
type Sets struct{}

var (
	_ dialect.Sets[*machinev1.MachineSet] = Sets{}
	_ dialect.NodeReader                  = Sets{}
)

// Traits implements [dialect.Sets].
func (Sets) Traits() dialect.SetTraits {
	return dialect.SetTraits{
		Kind:     machinev1.GroupVersion.WithKind("MachineSet"),
		Machine:  func() client.Object { return &machinev1.Machine{} },
		Machines: func() client.ObjectList { return &machinev1.MachineList{} },
		Sets:     func() client.ObjectList { return &machinev1.MachineSetList{} },
		Events: dialect.SetEvents{
			FailedCreate: "ReconcileError", FailedDelete: "ReconcileError", Invalid: "ReconcileError",
			Failure: "failed to sync machines",
		},
	}
}

// New implements [dialect.Sets].
func (Sets) New() *machinev1.MachineSet { return &machinev1.MachineSet{} }

// View returns the engine's facts of s.
func (Sets) View(s *machinev1.MachineSet) dialect.SetView {
	return dialect.SetView{Set: setFacts(s), Policy: setPolicy(s), Selector: setSelector(s)}
}

func setFacts(s *machinev1.MachineSet) replicas.Set {
	return replicas.Set{
		UID: s.UID, Namespace: s.Namespace, Name: s.Name,
		Replicas: int(ptr.Deref(s.Spec.Replicas, 0)),
		Deleting: s.DeletionTimestamp != nil,
		NoGrowth: held(s),
		Paused:   paused(s),
		Guard:    dialect.ReadDeletionGuard(s),
		Growth:   dialect.ReadGrowthGuard(s),
		Faults:   setFaults(s),
	}
}

// paused leaves a set alone if the other API of a migrating cluster manages it.
func paused(s *machinev1.MachineSet) string {
	switch a := s.Status.AuthoritativeAPI; a {
	case machinev1.MachineAuthorityClusterAPI, machinev1.MachineAuthorityMigrating:
		return fmt.Sprintf("The AuthoritativeAPI status is set to '%s'", a)
	}
	return ""
}

// setFaults returns the errors that keep a set from being scaled. They do not keep it from being deleted.
func setFaults(s *machinev1.MachineSet) (out []lifecycle.Fault) {
	add := func(field, message string) { out = append(out, lifecycle.Fault{Field: field, Message: message}) }
	switch n := s.Spec.Replicas; {
	case n == nil:
		add("spec.replicas", fmt.Sprintf("the Replicas field in Spec for machineset %s is nil, this should not be allowed", s.Name))
	case *n < 0:
		add("spec.replicas", fmt.Sprintf("must not be negative, is %d", *n))
	}
	selector, err := metav1.LabelSelectorAsSelector(&s.Spec.Selector)
	switch {
	case err != nil:
		add("spec.selector", err.Error())
	case selector.Empty():
		add("spec.selector", "empty selector is not valid for MachineSet.")
	case !selector.Matches(labels.Set(s.Spec.Template.Labels)):
		add("spec.template.metadata.labels", "`selector` does not match template `labels`")
	}
	if _, ok := deleteOrders[machinev1.MachineSetDeletePolicy(s.Spec.DeletePolicy)]; !ok {
		add("spec.deletePolicy", fmt.Sprintf("unsupported delete policy %q, want Random, Newest or Oldest", s.Spec.DeletePolicy))
	}
	return out
}

// deleteOrders are the delete policies. Random leaves equal machines in the order of their names, as clients
// have come to expect.
var deleteOrders = map[machinev1.MachineSetDeletePolicy]replicas.Criterion{
	"":                                     replicas.UnlinkedFirst,
	machinev1.RandomMachineSetDeletePolicy: replicas.UnlinkedFirst,
	machinev1.OldestMachineSetDeletePolicy: replicas.OldestFirst,
	machinev1.NewestMachineSetDeletePolicy: replicas.NewestFirst,
}

// setPolicy: a failed machine stays a replica, and machines outlive the set until the garbage collector
// deletes them.
func setPolicy(s *machinev1.MachineSet) replicas.Policy {
	return replicas.Policy{
		Burst:    setBurst,
		Order:    setOrder(s),
		MinReady: time.Duration(s.Spec.MinReadySeconds) * time.Second,
	}
}

// setSelector matches nothing if s's selector is invalid.
func setSelector(s *machinev1.MachineSet) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(&s.Spec.Selector)
	if err != nil || selector.Empty() {
		return labels.Nothing()
	}
	return selector
}

// Member returns the facts of a machine of s. It is ready when its node is.
func (Sets) Member(s *machinev1.MachineSet, o client.Object, nodes dialect.Nodes) replicas.Member {
	m := o.(*machinev1.Machine)
	out := member(m, nodeOf(m, nodes))
	out.FullyLabeled = labels.SelectorFromSet(s.Spec.Template.Labels).Matches(labels.Set(m.Labels))
	return out
}

// nodeOf returns the recorded node of m; nil if it has none.
func nodeOf(m *machinev1.Machine, nodes dialect.Nodes) *corev1.Node {
	if m.Status.NodeRef == nil {
		return nil
	}
	return nodes(m.Status.NodeRef.Name)
}

// member returns the facts of m, whose node is n, for any owner.
func member(m *machinev1.Machine, n *corev1.Node) replicas.Member {
	out := replicas.Member{
		UID: m.UID, Name: m.Name, Created: m.CreationTimestamp.Time,
		Deleting: m.DeletionTimestamp != nil,
		Failed:   m.Status.ErrorReason != nil || m.Status.ErrorMessage != nil,
		Linked:   m.Status.NodeRef != nil,
		Asked:    asked(m),
	}
	out.Ready, out.ReadySince = nodeReady(n)
	out.Usable = out.Ready
	return out
}

func nodeReady(n *corev1.Node) (bool, time.Time) {
	if n == nil {
		return false, time.Time{}
	}
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 || n.Status.Conditions[i].Status != corev1.ConditionTrue {
		return false, time.Time{}
	}
	return true, n.Status.Conditions[i].LastTransitionTime.Time
}

// MachineOf reads the annotation that links a node to its machine.
func (Sets) MachineOf(n *corev1.Node) client.ObjectKey {
	namespace, name, _ := strings.Cut(n.Annotations[NodeAnnotation], "/")
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// NewMachine creates a machine from the template.
func (d Sets) NewMachine(s *machinev1.MachineSet, name string) client.Object {
	t := s.Spec.Template.DeepCopy()
	m := &machinev1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, GenerateName: dialect.GenerateName(s.Name), Namespace: s.Namespace,
			Labels: maps.Clone(t.Labels), Annotations: maps.Clone(t.Annotations),
			Finalizers:      []string{machinev1.MachineFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, d.Traits().Kind)},
		},
		Spec: t.Spec,
	}
	dialect.Unasked(m)
	return m
}
