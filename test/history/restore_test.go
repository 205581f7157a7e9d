package main

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestApprove: an operator allows the removal of named instances without a machine, and withdraws the approval.
func TestApprove(t *testing.T) {
	cloud := t.TempDir()
	for name, raw := range map[string]string{"has": `{"id":"i-1","uid":"u-1","node":"has"}`, "cut": `{"id":"i-2","uid":"u-2","node":"cut"}`} {
		file := filepath.Join(cloud, "clusters", "c", "machines", name, "i.json")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log, err := newJournal(filepath.Join(t.TempDir(), "cloud.jsonl"), cloud)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.look(); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, gv := range apis {
		for _, kind := range []string{"Machine", "MachineSet", "MachineClass"} {
			scheme.AddKnownTypeWithName(gv.WithKind(kind), &unstructured.Unstructured{})
			scheme.AddKnownTypeWithName(gv.WithKind(kind+"List"), &unstructured.UnstructuredList{})
		}
	}
	object := func(gv schema.GroupVersion, kind, name, uid string) *unstructured.Unstructured {
		o := refTo(gv, kind, "ns", name).object()
		o.SetUID(types.UID(uid))
		return o
	}
	set, class := object(openshift, "MachineSet", "set", "s"), object(gardener, "MachineClass", "class", "c")
	w := &world{log: log, restores: true, client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(object(openshift, "Machine", "has", "u-1"), set, class).Build()}
	for _, step := range []struct {
		reason string
		change func() error
		want   string
	}{
		{"one instance has no machine", func() error { return nil }, "kubemark://cut"},
		{"the instance is removed", func() error { return os.RemoveAll(filepath.Join(cloud, "clusters", "c", "machines", "cut")) }, ""},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		if err := log.look(); err != nil {
			t.Fatal(err)
		}
		if err := w.approve(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, o := range []*unstructured.Unstructured{set, class} {
			got := o.DeepCopy()
			if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(o), got); err != nil {
				t.Fatal(err)
			}
			if word := got.GetAnnotations()[approveOrphans]; word != step.want {
				t.Errorf("%s: %s has %q, want %q", step.reason, o.GetName(), word, step.want)
			}
		}
	}
}
