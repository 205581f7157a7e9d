package main

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
)

// instanceOf is the annotation that names the instance of a node.
const instanceOf = "millwright.dev/kubemark-instance"

// silentHolder is the holder of the leases of silent kubelets. kwok simulates no node, and no pod on it, while another process
// holds the lease of the node. It does not take over the lease, because the lease is longer than a run. The lease is not
// renewed, so that kube-controller-manager sets the node to Unknown, as for a kubelet that has ended.
const (
	silentHolder = "history-silent"
	forLong      = 24 * time.Hour
)

// In a run in which etcd is restored and nodes lose their instances, silence is noticed after 24 s instead of the default of 50
// s. A lease is renewed after a quarter of its duration. So 24 s are longer than two renewals and the longest pause of the API
// server.
var (
	noticesSoon = "--node-monitor-grace-period=24s"
	renewsSoon  = "--node-lease-duration-seconds=20"
)

// kubelets makes kubelets silent after their instances have ended, until ctx is done. kwok would keep their nodes Ready
// forever. A request that fails because the API server is down is repeated.
func (w *world) kubelets(ctx context.Context) {
	for wait(ctx, time.Second) {
		_ = w.silenceTheDead(ctx)
	}
}

// silenceTheDead makes the kubelets silent whose instances have ended.
func (w *world) silenceTheDead(ctx context.Context) error {
	nodes, err := w.list(ctx, "Node", schema.GroupVersion{Version: "v1"})
	if err != nil {
		return err
	}
	// After the nodes: an instance exists before its node.
	if err := w.log.look(); err != nil {
		return err
	}
	alive := w.log.alive()
	for _, n := range nodes {
		if n.GetAnnotations()[devplane.KwokNodeAnnotation] == "" || alive[n.GetAnnotations()[instanceOf]] {
			continue
		}
		if err := w.silenceNode(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// silenceNode takes the lease of the kubelet of a node, and renews it one last time. kube-controller-manager would ignore a
// lease that was written and not renewed, because it treats its own cache as stale. A lease that kwok has not created yet is
// taken later.
func (w *world) silenceNode(ctx context.Context, node *unstructured.Unstructured) error {
	lease := &unstructured.Unstructured{}
	lease.SetGroupVersionKind(schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"})
	err := w.client.Get(ctx, types.NamespacedName{Namespace: "kube-node-lease", Name: node.GetName()}, lease)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity"); holder == silentHolder {
		return nil
	}
	spec := map[string]any{
		"holderIdentity": silentHolder, "leaseDurationSeconds": int64(forLong.Seconds()), "renewTime": time.Now().UTC().Format(metav1.RFC3339Micro),
	}
	for field, value := range spec {
		if err := unstructured.SetNestedField(lease.Object, value, "spec", field); err != nil {
			return err
		}
	}
	err = w.client.Update(ctx, lease)
	if err == nil {
		w.count("silent kubelets")
		say("node %s has lost its instance, and its kubelet falls silent", node.GetName())
	}
	if apierrors.IsConflict(err) { // kwok renewed the lease in between
		return nil
	}
	return err
}
