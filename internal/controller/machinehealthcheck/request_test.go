package machinehealthcheck

import (
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
)

// No watch reports changes of requests: other clients delete them, and the cluster deletes the request of
// an earlier machine of the name. A machine that is still unhealthy gets another.
func TestRequestsThatVanishAreMadeAgain(t *testing.T) {
	for _, c := range []struct {
		reason string
		// owner is who the request is about that is there when the check looks first.
		owner types.UID
	}{
		{"others delete the check's own request", ""},
		{"the cluster deletes that of an earlier machine of the name", "earlier"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			template := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "infra.example.com/v1", "kind": "RepairTemplate", "metadata": map[string]any{"name": "repair", "namespace": ns},
				"spec": map[string]any{"template": map[string]any{}},
			}}
			m, _ := pair("a")
			w := newWorld(t, m, checkOf(func(c *lenient.MachineHealthCheck) {
				c.Spec.RemediationTemplate = &corev1.ObjectReference{APIVersion: "infra.example.com/v1", Kind: "RepairTemplate", Name: "repair"}
			}))
			_, other := pair("b")
			w.must(w.Create(t.Context(), other))
			gvk := template.GroupVersionKind()
			w.Scheme().AddKnownTypeWithName(gvk, &unstructured.Unstructured{})
			gvk.Kind = "Repair"
			w.Scheme().AddKnownTypeWithName(gvk, &unstructured.Unstructured{})
			w.Scheme().AddKnownTypeWithName(gvk.GroupVersion().WithKind("RepairList"), &unstructured.UnstructuredList{})
			w.must(w.Create(t.Context(), template))
			repair := &unstructured.Unstructured{}
			repair.SetGroupVersionKind(gvk)
			repair.SetNamespace(ns)
			repair.SetName("a")
			if c.owner != "" {
				repair.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: machinev1.GroupVersion.String(), Kind: "Machine", Name: "a", UID: c.owner}})
				w.must(w.Create(t.Context(), repair))
			}
			first := w.pass()
			w.must(w.Delete(t.Context(), repair))
			if first.RequeueAfter == 0 || first.RequeueAfter > 5*time.Minute {
				t.Fatalf("looks again after %v", first.RequeueAfter)
			}
			w.step(first.RequeueAfter)
			w.pass()
			if err := w.Get(t.Context(), client.ObjectKeyFromObject(m), repair); err != nil {
				t.Errorf("the machine is sick, and nobody is asked: %v", err)
			}
			w.wrote()
			w.step(first.RequeueAfter)
			w.pass()
			if again := w.wrote(); len(again) > 0 {
				t.Errorf("the request is there, and yet: %v", again)
			}
		})
	}
}
