package survey

import (
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestApplied: the patch removes fields that an earlier `kubectl apply` set and the manifest does not have. It keeps
// the fields of controllers.
func TestApplied(t *testing.T) {
	const head = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"a","namespace":"default"`
	for _, test := range []struct {
		reason, last, manifest, want string
	}{
		{"a change", "", head + `},"spec":{"replicas":3}}`, `{"spec":{"replicas":3}}`},
		{"no change", "", head + `},"spec":{"replicas":2}}`, `{}`},
		{"annotations of controllers stay", head + `,"annotations":{}},"spec":{"replicas":2}}`, head + `},"spec":{"replicas":2}}`, `{}`},
		{"a field of the previous manifest is removed", head + `,"annotations":{}},"spec":{"replicas":2,"deletePolicy":"Oldest"}}`, head + `},"spec":{"replicas":2}}`, `{"spec":{"deletePolicy":null}}`},
	} {
		t.Run(test.reason, func(t *testing.T) {
			now := &machinev1.MachineSet{
				TypeMeta:   metav1.TypeMeta{APIVersion: "machine.openshift.io/v1beta1", Kind: "MachineSet"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Annotations: map[string]string{"controller": "1"}},
				Spec:       machinev1.MachineSetSpec{Replicas: ptr.To[int32](2), DeletePolicy: "Oldest"},
			}
			if test.last != "" {
				now.Annotations[corev1.LastAppliedConfigAnnotation] = test.last
			}
			docs, _, err := Documents(strings.NewReader(test.manifest), "default")
			if err != nil || len(docs) != 1 {
				t.Fatalf("%s: documents %v, error %v", test.reason, docs, err)
			}
			if got, err := applied(now, docs[0]); err != nil || string(got) != test.want {
				t.Errorf("%s: patch %s, error %v; want %s", test.reason, got, err, test.want)
			}
		})
	}
}

// TestDocuments: Documents reads several documents and lists, sets the default namespace, and names objects of other
// kinds.
func TestDocuments(t *testing.T) {
	const list = `
apiVersion: v1
kind: List
items:
- {apiVersion: machine.sapcloud.io/v1alpha1, kind: Machine, metadata: {name: m, namespace: own}}
- {apiVersion: v1, kind: Secret, metadata: {name: s}}
---
---
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineClass
metadata: {name: c}
`
	docs, skipped, err := Documents(strings.NewReader(list), "home")
	if err != nil || len(docs) != 2 || docs[0].GetNamespace() != "own" || docs[1].GetNamespace() != "home" || len(skipped) != 1 || !strings.Contains(skipped[0], "Secret s") {
		t.Errorf("documents %v, skipped %q, error %v", docs, skipped, err)
	}
	for _, bad := range []string{"a: [", "{apiVersion: machine.sapcloud.io/v1alpha1, kind: Machine}"} {
		if _, _, err := Documents(strings.NewReader(bad), "home"); err == nil {
			t.Errorf("Documents accepts %q, want an error", bad)
		}
	}
}
