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

// instanceOf is the annotation that names a node's instance.
const instanceOf = "millwright.dev/kubemark-instance"

// nobody holds the leases of kubelets that are silent. kwok plays no node, and no pod there, whose lease another one holds,
// and takes no lease over before it is over: a day is longer than a run. Nobody renews it, so that kube-controller-manager
// finds the node Unknown, as it would one whose kubelet is gone.
const (
	nobody  = "history-nobody"
	forLong = 24 * time.Hour
)

// While etcd is put back and nodes lose their instances, silence is noticed sooner than by default, in 24 s instead of 50 s.
// Leases are renewed every quarter of their time, so that it is longer than two renewals and the longest pause of the API
// server.
var (
	noticesSoon = "--node-monitor-grace-period=24s"
	renewsSoon  = "--node-lease-duration-seconds=20"
)

// kubelets lets kubelets fall silent, until ctx is done, when their instances are gone. kwok would keep their nodes Ready for
// ever. What does not succeed, because the API server is away, does so the next time.
func (w *world) kubelets(ctx context.Context) {
	for wait(ctx, time.Second) {
		_ = w.silenceTheDead(ctx)
	}
}

// silenceTheDead silences the nodes whose instances are gone.
func (w *world) silenceTheDead(ctx context.Context) error {
	nodes, err := w.list(ctx, "Node", schema.GroupVersion{Version: "v1"})
	if err != nil {
		return err
	}
	// After the nodes: an instance is there before its node.
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

// silenceNode takes the lease of a node's kubelet, and renews it for the last time: kube-controller-manager passes over a node whose
// lease was written and not renewed, since it takes its own cache for stale then. A lease that kwok has not made yet is taken later.
func (w *world) silenceNode(ctx context.Context, node *unstructured.Unstructured) error {
	lease := &unstructured.Unstructured{}
	lease.SetGroupVersionKind(schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"})
	err := w.client.Get(ctx, types.NamespacedName{Namespace: "kube-node-lease", Name: node.GetName()}, lease)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity"); holder == nobody {
		return nil
	}
	spec := map[string]any{
		"holderIdentity": nobody, "leaseDurationSeconds": int64(forLong.Seconds()), "renewTime": time.Now().UTC().Format(metav1.RFC3339Micro),
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
	if apierrors.IsConflict(err) { // it was renewed just now
		return nil
	}
	return err
}
