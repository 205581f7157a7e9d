package gardener

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/provider"
)

// ExternalRemediationAnnotation on a machine asks another program to power it off and on. This API has no
// such annotation; it is the one of health checks.
const ExternalRemediationAnnotation = "host.metal3.io/external-remediation"

// Patients are machines of this API, as health checks see them.
type Patients struct{}

var _ dialect.Patients = Patients{}

// API implements [dialect.Patients].
func (Patients) API() string { return provider.Gardener }

// Machine implements [dialect.Patients].
func (Patients) Machine() client.Object { return &v1alpha1.Machine{} }

// Machines implements [dialect.Patients].
func (Patients) Machines() client.ObjectList { return &v1alpha1.MachineList{} }

// NodeName implements [dialect.Patients].
func (Patients) NodeName(o client.Object) string { return o.GetLabels()[v1alpha1.LabelKeyNode] }

// foretold are the phases in which the name of a node may be known before the node exists.
var foretold = map[v1alpha1.MachinePhase]bool{
	v1alpha1.MachinePhaseNone: true, v1alpha1.MachinePending: true, v1alpha1.MachineAvailable: true, v1alpha1.MachineCrashLoopBackOff: true,
}

// Patient returns the facts of a machine. A machine that is kept for inspection is left alone.
func (d Patients) Patient(o client.Object, n *health.Node) health.Target {
	m := o.(*v1alpha1.Machine)
	status := m.Status.CurrentStatus
	t := health.Target{
		UID: m.UID, Namespace: m.Namespace, Name: m.Name, Created: m.CreationTimestamp.Time,
		Updated:  status.LastUpdateTime.Time,
		Failed:   status.Phase == v1alpha1.MachineFailed,
		Deleting: m.DeletionTimestamp != nil,
		Skip:     dialect.On(m, dialect.SkipRemediationAnnotation) || status.PreserveExpiryTime != nil,
		Template: m.Spec.Class.Name,
		NodeName: d.NodeName(m),
		Node:     n,
		Joined:   dialect.JoinedIn(m, kept(m)),
		Own:      dialect.ReadOwn(m.Annotations),
		Reboot:   dialect.ReadRebooting(m),
	}
	if n == nil && foretold[status.Phase] {
		t.NodeName = ""
	}
	_, t.Marked = m.Annotations[ExternalRemediationAnnotation]
	if ref := metav1.GetControllerOfNoCopy(m); ref != nil {
		t.Owner = health.Owner{UID: ref.UID, Kind: ref.Kind, Name: ref.Name}
	}
	return t
}

// Mark implements [dialect.Patients].
func (Patients) Mark(o client.Object) {
	a := o.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	a[ExternalRemediationAnnotation] = ""
	o.SetAnnotations(a)
}
