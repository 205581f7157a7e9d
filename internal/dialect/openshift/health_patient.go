package openshift

import (
	"fmt"
	"hash/fnv"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/provider"
)

// Patients are machines of this API, as health checks see them.
type Patients struct{}

var _ dialect.Patients = Patients{}

// API implements [dialect.Patients].
func (Patients) API() string { return provider.OpenShift }

// Machine implements [dialect.Patients].
func (Patients) Machine() client.Object { return &machinev1.Machine{} }

// Machines implements [dialect.Patients].
func (Patients) Machines() client.ObjectList { return &machinev1.MachineList{} }

// NodeName implements [dialect.Patients].
func (Patients) NodeName(o client.Object) string {
	if ref := o.(*machinev1.Machine).Status.NodeRef; ref != nil {
		return ref.Name
	}
	return ""
}

// Patient returns the facts of a machine.
func (d Patients) Patient(o client.Object, n *health.Node) health.Target {
	m := o.(*machinev1.Machine)
	t := health.Target{
		UID: m.UID, Namespace: m.Namespace, Name: m.Name, Created: m.CreationTimestamp.Time,
		Owner:    ownerOf(m),
		Failed:   ptr.Deref(m.Status.Phase, "") == machinev1.PhaseFailed,
		Deleting: m.DeletionTimestamp != nil,
		Skip:     millwright.Read(m.Annotations).On(dialect.SkipRemediationAnnotation),
		Zone:     m.Labels[ZoneLabel],
		NodeName: d.NodeName(m),
		Node:     n,
		Joined:   dialect.JoinedIn(m, kept(m)),
		Own:      dialect.ReadOwn(m.Annotations),
		Reboot:   dialect.ReadRebooting(m),
		Template: templateOfMachine(m),
	}
	_, t.Marked = m.Annotations[ExternalRemediationAnnotation]
	if u := m.Status.LastUpdated; u != nil {
		t.Updated = u.Time
	}
	return t
}

func ownerOf(m *machinev1.Machine) health.Owner {
	ref := metav1.GetControllerOfNoCopy(m)
	if ref == nil {
		return health.Owner{}
	}
	return health.Owner{UID: ref.UID, Kind: ref.Kind, Name: ref.Name}
}

// templateOfMachine distinguishes provider specs: a set can change its spec without changing its name.
func templateOfMachine(m *machinev1.Machine) string {
	v := m.Spec.ProviderSpec.Value
	if v == nil {
		return ""
	}
	h := fnv.New32a()
	_, _ = h.Write(v.Raw) // never fails
	name := m.Name
	if owner := ownerOf(m); owner.Name != "" {
		name = owner.Name
	}
	return fmt.Sprintf("%08x of %s", h.Sum32(), name)
}

// Mark implements [dialect.Patients].
func (Patients) Mark(o client.Object) {
	set(&o.(*machinev1.Machine).Annotations, ExternalRemediationAnnotation, "")
}
