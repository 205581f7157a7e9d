// Package kwok implements the body of an instance as a Node object, which kwok keeps Ready. It scales to
// thousands of instances: each costs one write.
package kwok

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// The annotations and labels that kwok reads, and those that identify the instance of a Node.
const (
	fakeAnnotation     = "kwok.x-k8s.io/node"
	notReadyLabel      = "node-not-ready.stage.kwok.x-k8s.io"
	instanceAnnotation = "millwright.dev/kubemark-instance"
)

// callTimeout limits the duration of a call.
const callTimeout = 10 * time.Second

// Body manages one Node per instance. It implements [cloud.Body].
type Body struct{ nodes nodeClient }

// nodeClient is the part of the client that is used.
type nodeClient interface {
	Create(ctx context.Context, node *corev1.Node, opts metav1.CreateOptions) (*corev1.Node, error)
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Node, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, sub ...string) (*corev1.Node, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// New returns a Body for a cluster.
func New(config *rest.Config) (*Body, error) {
	config = rest.CopyConfig(config)
	// The API server throttles by itself; a client-side limit of 5/s would need 200 s for 1000 nodes.
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.Timeout = callTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the target cluster: %w", err)
	}
	return &Body{nodes: client.CoreV1().Nodes()}, nil
}

// Prepare accepts all user data: it is not used.
func (b *Body) Prepare(cloud.Record, []byte) error { return nil }

// Start creates the Node, or lets the existing Node answer again.
func (b *Body) Start(ctx context.Context, r *cloud.Record) error {
	if r.Body.NodeUID != "" {
		found, err := b.setSilent(ctx, *r, false)
		if err != nil || found {
			return err
		}
	}
	made, err := b.nodes.Create(ctx, node(*r), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return b.adopt(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("create node %s: %w", r.Node, err)
	}
	r.Body.NodeUID = string(made.UID)
	return nil
}

// adopt uses the Node that was created before a crash.
func (b *Body) adopt(ctx context.Context, r *cloud.Record) error {
	uid, err := b.find(ctx, *r)
	if err != nil {
		return err
	}
	if uid == "" {
		return fmt.Errorf("node %s exists and belongs to another instance than %s", r.Node, r.ID)
	}
	r.Body.NodeUID = uid
	return nil
}

// find returns the UID of the instance's Node; empty if it has none.
func (b *Body) find(ctx context.Context, r cloud.Record) (uid string, err error) {
	n, err := b.nodes.Get(ctx, r.Node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read node %s: %w", r.Node, err)
	}
	if n.Annotations[instanceAnnotation] != r.ID {
		return "", nil
	}
	return string(n.UID), nil
}

// Alive is always true: a Node object does not crash. The deletion of a Node does not change its instance.
func (b *Body) Alive(cloud.Record) bool { return true }

// Silence makes kwok fail the Node, or keep it Ready again.
func (b *Body) Silence(ctx context.Context, r *cloud.Record, silent bool) error {
	_, err := b.setSilent(ctx, *r, silent)
	return err
}

func (b *Body) setSilent(ctx context.Context, r cloud.Record, silent bool) (found bool, err error) {
	value := "null"
	if silent {
		value = `"true"`
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{%q:%s}}}`, r.Body.NodeUID, notReadyLabel, value)
	_, err = b.nodes.Patch(ctx, r.Node, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // deleted, or another node of that name
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("label node %s: %w", r.Node, err)
	}
	return true, nil
}

// Stop fails the Node: a stopped machine still has its Node.
func (b *Body) Stop(ctx context.Context, r *cloud.Record) (gone bool, err error) {
	if r.Body.NodeUID == "" {
		return true, nil
	}
	err = b.Silence(ctx, r, true)
	return err == nil, err
}

// Remove deletes the Node if it still belongs to the instance.
func (b *Body) Remove(ctx context.Context, r *cloud.Record) (gone bool, err error) {
	if r.Created.IsZero() {
		return true, nil // the instance never existed
	}
	uid := r.Body.NodeUID
	if uid == "" {
		// The Node may have been created just before a crash.
		uid, err = b.find(ctx, *r)
	}
	if err != nil || uid == "" {
		return err == nil, err
	}
	err = b.nodes.Delete(ctx, r.Node, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID(uid))},
	})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return true, nil
	}
	return false, fmt.Errorf("delete node %s: %w", r.Node, err)
}
