package collect

import (
	"reflect"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/explain"
)

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

// all has the kinds of the APIs, and the Kubernetes kinds that concern machines.
var all = func() (out []kind) {
	for _, a := range apis.All {
		for _, k := range a.Kinds {
			out = append(out, kind{a.Name, k.Name, k.New, k.List})
		}
	}
	return append(out,
		kind{"", "Node", func() client.Object { return &corev1.Node{} }, func() client.ObjectList { return &corev1.NodeList{} }},
		kind{certificatesv1.GroupName, "CertificateSigningRequest", func() client.Object { return &certificatesv1.CertificateSigningRequest{} }, func() client.ObjectList { return &certificatesv1.CertificateSigningRequestList{} }})
}()

// of returns the API of an object.
func of(s explain.Subject) apis.API {
	a, _ := apis.Of(s.API)
	return a
}

// core reports whether the kind belongs to Kubernetes itself. Objects of these kinds are in the target cluster and
// have no namespace.
func (k kind) core() bool { return !slices.Contains(apis.Names(), k.api) }

// kindsOf returns the kinds that q may mean.
func kindsOf(q Question) (out []kind) {
	for _, k := range all {
		if k.name == q.Kind && (q.API == "" || q.API == k.api || k.core()) {
			out = append(out, k)
		}
	}
	return out
}

// kindOf returns the kind with this name in the API. It panics if the API does not have the kind.
func kindOf(api, name string) kind { return kindsOf(Question{API: api, Kind: name})[0] }

// subject returns the API, kind, namespace and name of an object.
func subject(o client.Object) explain.Subject {
	s := explain.Subject{Namespace: o.GetNamespace(), Name: o.GetName()}
	for _, k := range all {
		if reflect.TypeOf(o) == reflect.TypeOf(k.object()) {
			s.API, s.Kind = k.api, k.name
		}
	}
	return s
}

// items returns the objects of a typed list.
func items(list client.ObjectList) (out []client.Object) {
	objects, err := meta.ExtractList(list)
	if err != nil {
		return nil // impossible: each list of the table above has objects
	}
	for _, o := range objects {
		if c, ok := o.(client.Object); ok {
			out = append(out, c)
		}
	}
	return out
}

// controls reports whether the object with this UID controls o.
func controls(uid types.UID, o client.Object) bool {
	ref := metav1.GetControllerOfNoCopy(o)
	return ref != nil && ref.UID == uid
}
