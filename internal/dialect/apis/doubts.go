package apis

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	healthchecking "github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// DoubtsNote returns the event about invalid Millwright annotations on o; empty if none exist, or if
// another object owns o and hands its annotations down: then the owner has the event.
func DoubtsNote(o client.Object) (reason, note string) {
	if metav1.GetControllerOfNoCopy(o) != nil {
		return "", ""
	}
	return dialect.DoubtsNote(Doubts(o))
}

// Doubts returns the errors in the Millwright annotations on an object of any API, and on its template:
// unknown keys, invalid values, and keys without an effect there. Controllers work despite them.
func Doubts(o client.Object) []dialect.Doubt {
	_, kind := KindOf(o)
	switch o.(type) {
	case *corev1.Node:
		kind = "Node"
	case *healthchecking.MachineHealthCheck:
		kind = healthchecking.KindMachineHealthCheck
	}
	if kind == "" {
		return nil
	}
	return dialect.Doubts(kind, o, Said(o).Template)
}
