package apis

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	healthchecking "github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// DoubtsNote is what an event says of the annotations of ours on o; empty where nothing is wrong with them, and on what another
// object made, which hands its annotations down: that one says it.
func DoubtsNote(o client.Object) (reason, note string) {
	if metav1.GetControllerOfNoCopy(o) != nil {
		return "", ""
	}
	return dialect.DoubtsNote(Doubts(o))
}

// Doubts are what is wrong with the annotations of ours on an object of any API, and on what is made from it: keys that do not
// exist, values that cannot be read, and keys where they have no effect. None of that keeps controllers from their work.
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
