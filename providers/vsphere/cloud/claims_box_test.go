package cloud

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	addresses   = schema.GroupVersionResource{Group: "ipam.cluster.x-k8s.io", Version: "v1beta2", Resource: "ipaddresses"}
	claimed     = schema.GroupVersionResource{Group: "ipam.cluster.x-k8s.io", Version: "v1beta2", Resource: "ipaddressclaims"}
)

// define serves a kind of the IPAM API, whatever its objects have.
func (b *box) define(t *testing.T, kind, plural string) {
	t.Helper()
	crd := &unstructured.Unstructured{Object: m{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": m{"name": plural + ".ipam.cluster.x-k8s.io"},
		"spec": m{
			"group": "ipam.cluster.x-k8s.io", "scope": "Namespaced", "names": m{"kind": kind, "plural": plural},
			"versions": []any{m{
				"name": "v1beta2", "served": true, "storage": true, "subresources": m{"status": m{}},
				"schema": m{"openAPIV3Schema": m{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	if _, err := b.client.Resource(definitions).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// claims: addresses of a pool on a real API server. The claim is created with the machine as its owner, the
// clone waits for the address, and the claim is deleted with the machine, although its finalizer holds it.
func (b *box) claims(t *testing.T) {
	b.define(t, "IPAddress", "ipaddresses")
	b.define(t, "IPAddressClaim", "ipaddressclaims")
	spec := plainSpec(b.stage.openShift())
	device := spec["network"].(m)["devices"].([]any)[0].(m)
	device["addressesFromPools"] = []any{m{"group": "ipam.example.org", "resource": "IPPool", "name": "p"}}
	b.create(t, machines, m{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
		"metadata": m{"name": "worker-1", "labels": m{"machine.openshift.io/cluster-api-cluster": "box"}},
		"spec":     m{"providerSpec": m{"value": spec}},
	})
	claim := b.await(t, claimed, "worker-1-claim-0-0", "it is made", func(o *unstructured.Unstructured) bool { return o != nil })
	machine := b.await(t, machines, "worker-1", "it says what it waits for", func(o *unstructured.Unstructured) bool {
		raw, _ := o.MarshalJSON()
		return strings.Contains(string(raw), "worker-1-claim-0-0 is not bound to an address yet")
	})
	if owners := claim.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != machine.GetUID() || text(claim, "spec", "poolRef", "kind") != "IPPool" {
		t.Errorf("the claim is %v", claim.Object)
	}
	if len(b.stage.cloud.Machines()) > 0 {
		t.Error("a clone was made without its address")
	}
	b.create(t, addresses, m{
		"apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddress", "metadata": m{"name": "a"},
		"spec": m{"address": "10.1.2.9", "prefix": int64(24), "gateway": "10.1.2.1"},
	})
	claim.Object["status"] = m{"addressRef": m{"name": "a"}}
	if _, err := b.client.Resource(claimed).Namespace(b.namespace).UpdateStatus(t.Context(), claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.await(t, machines, "worker-1", "it has its clone", func(o *unstructured.Unstructured) bool { return text(o, "status", "phase") == "Provisioned" })
	if !slices.ContainsFunc(b.stage.cloud.Probe().Clones(), func(c types.CloneVM_Task) bool { return strings.Contains(options(c)[optionKargs], "10.1.2.9") }) {
		t.Error("no clone was told its address")
	}
	if err := b.client.Resource(machines).Namespace(b.namespace).Delete(t.Context(), "worker-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.await(t, machines, "worker-1", "it is gone", func(o *unstructured.Unstructured) bool { return o == nil })
	b.await(t, claimed, "worker-1-claim-0-0", "it is released", func(o *unstructured.Unstructured) bool { return o == nil })
}
