package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
)

// TestKubeletsFallSilent: only kubelets whose instance has ended become silent.
func TestKubeletsFallSilent(t *testing.T) {
	const kwok = "kwok"
	cloud := t.TempDir()
	there := filepath.Join(cloud, "clusters", "c", "machines", "lives", "i-1.json")
	if err := os.MkdirAll(filepath.Dir(there), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(there, []byte(`{"id":"i-1","uid":"u","node":"lives"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	renewed := metav1.NewMicroTime(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		reason, node string
		marks        map[string]string
		silent       bool
	}{
		{"its instance is there", "lives", map[string]string{devplane.KwokNodeAnnotation: devplane.KwokNodeValue, instanceOf: "i-1"}, false},
		{"its instance does not exist", "gone", map[string]string{devplane.KwokNodeAnnotation: devplane.KwokNodeValue, instanceOf: "i-2"}, true},
		{"another instance has its name now", "lives", map[string]string{devplane.KwokNodeAnnotation: devplane.KwokNodeValue, instanceOf: "i-0"}, true},
		{"kwok does not play it", "real", nil, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.node, Annotations: c.marks}}
			lease := &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: c.node},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(kwok), LeaseDurationSeconds: ptr.To[int32](40), RenewTime: &renewed},
			}
			log, err := newJournal(filepath.Join(t.TempDir(), "cloud.jsonl"), cloud)
			if err != nil {
				t.Fatal(err)
			}
			w := &world{client: fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(node, lease).Build(), counts: map[string]int{}, log: log}
			for range 2 {
				if err := w.silenceTheDead(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			got := &coordinationv1.Lease{}
			if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(lease), got); err != nil {
				t.Fatal(err)
			}
			over := got.Spec.RenewTime.Add(time.Duration(*got.Spec.LeaseDurationSeconds) * time.Second)
			if silent := *got.Spec.HolderIdentity != kwok && over.After(renewed.Add(time.Hour)); silent != c.silent {
				t.Errorf("silent: %v, want %v: %+v", silent, c.silent, got.Spec)
			}
			if anew := got.Spec.RenewTime.After(renewed.Time); anew != c.silent {
				t.Errorf("renewed at %s, and before at %s", got.Spec.RenewTime, renewed)
			}
			if n := w.counts["silent kubelets"]; n != map[bool]int{true: 1}[c.silent] {
				t.Errorf("it fell silent %d times", n)
			}
		})
	}
}
