package collect

import (
	"strings"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/provider"
)

// kind is one kind of one API.
type kind struct {
	api, name string
	object    func() client.Object
	list      func() client.ObjectList
}

func (k kind) plural() string {
	if strings.HasSuffix(k.name, "s") {
		return strings.ToLower(k.name) + "es"
	}
	return strings.ToLower(k.name) + "s"
}

var all = []kind{
	{provider.OpenShift, "Machine", func() client.Object { return &machinev1.Machine{} }, func() client.ObjectList { return &machinev1.MachineList{} }},
	{provider.OpenShift, "MachineSet", func() client.Object { return &machinev1.MachineSet{} }, func() client.ObjectList { return &machinev1.MachineSetList{} }},
	{provider.OpenShift, "MachineDeployment", func() client.Object { return &v1beta1.MachineDeployment{} }, func() client.ObjectList { return &v1beta1.MachineDeploymentList{} }},
	{provider.OpenShift, "MachineHealthCheck", func() client.Object { return &lenient.MachineHealthCheck{} }, func() client.ObjectList { return &lenient.MachineHealthCheckList{} }},
	{provider.Gardener, "Machine", func() client.Object { return &v1alpha1.Machine{} }, func() client.ObjectList { return &v1alpha1.MachineList{} }},
	{provider.Gardener, "MachineSet", func() client.Object { return &v1alpha1.MachineSet{} }, func() client.ObjectList { return &v1alpha1.MachineSetList{} }},
	{provider.Gardener, "MachineDeployment", func() client.Object { return &v1alpha1.MachineDeployment{} }, func() client.ObjectList { return &v1alpha1.MachineDeploymentList{} }},
	{provider.Gardener, "MachineClass", func() client.Object { return &v1alpha1.MachineClass{} }, func() client.ObjectList { return &v1alpha1.MachineClassList{} }},
	{"", "Node", func() client.Object { return &corev1.Node{} }, func() client.ObjectList { return &corev1.NodeList{} }},
	{certificatesv1.GroupName, "CertificateSigningRequest", func() client.Object { return &certificatesv1.CertificateSigningRequest{} }, func() client.ObjectList { return &certificatesv1.CertificateSigningRequestList{} }},
}

// core reports whether the kind is one of Kubernetes' own, which are in no namespace of
// the cluster that machines join.
func (k kind) core() bool { return k.api != provider.OpenShift && k.api != provider.Gardener }

// kindsOf are the kinds that q may mean.
func kindsOf(q Question) (out []kind) {
	for _, k := range all {
		if k.name == q.Kind && (q.API == "" || q.API == k.api || k.core()) {
			out = append(out, k)
		}
	}
	return out
}

// kindOf is the kind of that name in the API.
func kindOf(api, name string) kind { return kindsOf(Question{API: api, Kind: name})[0] }

// subject names an object that was read.
func subject(o client.Object) explain.Subject {
	s := explain.Subject{Namespace: o.GetNamespace(), Name: o.GetName()}
	switch o.(type) {
	case *machinev1.Machine:
		s.API, s.Kind = provider.OpenShift, "Machine"
	case *machinev1.MachineSet:
		s.API, s.Kind = provider.OpenShift, "MachineSet"
	case *v1beta1.MachineDeployment:
		s.API, s.Kind = provider.OpenShift, "MachineDeployment"
	case *lenient.MachineHealthCheck:
		s.API, s.Kind = provider.OpenShift, "MachineHealthCheck"
	case *v1alpha1.MachineClass:
		s.API, s.Kind = provider.Gardener, "MachineClass"
	case *v1alpha1.Machine:
		s.API, s.Kind = provider.Gardener, "Machine"
	case *v1alpha1.MachineSet:
		s.API, s.Kind = provider.Gardener, "MachineSet"
	case *v1alpha1.MachineDeployment:
		s.API, s.Kind = provider.Gardener, "MachineDeployment"
	case *corev1.Node:
		s.Kind = "Node"
	case *certificatesv1.CertificateSigningRequest:
		s.API, s.Kind = certificatesv1.GroupName, "CertificateSigningRequest"
	}
	return s
}

// items are the objects of a typed list.
func items(list client.ObjectList) (out []client.Object) {
	objects, err := meta.ExtractList(list)
	if err != nil {
		return nil // not a list of objects, which the table above has not
	}
	for _, o := range objects {
		if c, ok := o.(client.Object); ok {
			out = append(out, c)
		}
	}
	return out
}

// controls reports whether the object with this UID made o.
func controls(uid types.UID, o client.Object) bool {
	ref := metav1.GetControllerOfNoCopy(o)
	return ref != nil && ref.UID == uid
}
