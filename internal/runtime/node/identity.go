package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// +kubebuilder:rbac:groups="",namespace=kube-system,resources=namespaces,resourceNames=kube-system,verbs=get

// IdentityKept is how old an answer about the identity may be for decisions that are not final. An address or
// an etcd may be exchanged while a process runs.
const IdentityKept = 5 * time.Second

// NoIdentity is the identity of a cluster without the namespace kube-system. A cluster that machines joined
// has one, so this is another cluster, or one that is being created.
const NoIdentity = lifecycle.NoCluster

// Identity identifies a cluster. It is safe for concurrent use.
type Identity struct {
	// Live reads past caches.
	Live  client.Reader
	Clock clock.PassiveClock

	mu  sync.Mutex
	uid string
	at  time.Time
	// answered is when the cluster answered last.
	answered time.Time
}

// Lately is like UID, but fails if the cluster has not answered for as long as oldest: a process that has
// just started has no earlier answer to use.
func (i *Identity) Lately(ctx context.Context, oldest time.Duration) (string, error) {
	i.mu.Lock()
	uid, at := i.uid, i.answered
	i.mu.Unlock()
	if now := i.Clock.Now(); !at.IsZero() && now.Sub(at) < oldest && !now.Before(at) {
		return uid, nil
	}
	return i.UID(ctx, 0)
}

// UID returns the UID of the cluster's namespace kube-system, which no two clusters share and which a
// restored etcd keeps; [NoIdentity] if there is no such namespace, and empty if reading it is denied, as with
// the roles of machine-controller-manager. The answer is at most as old as oldest, or the last one if the
// cluster does not answer; with zero the cluster is asked now, and UID fails if it does not answer.
func (i *Identity) UID(ctx context.Context, oldest time.Duration) (string, error) {
	i.mu.Lock()
	uid, at := i.uid, i.at
	i.mu.Unlock()
	now := i.Clock.Now()
	if !at.IsZero() && now.Sub(at) < oldest && !now.Before(at) {
		return uid, nil
	}
	read, err := i.read(ctx)
	if err != nil && oldest == 0 {
		return "", err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.at = now; err == nil { // no answer does not mean another cluster
		i.uid, i.answered = read, now
	}
	return i.uid, nil
}

// identityTimeout limits the request, because passes wait for it.
const identityTimeout = 5 * time.Second

func (i *Identity) read(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, identityTimeout)
	defer cancel()
	var ns corev1.Namespace
	switch err := i.Live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &ns); {
	case apierrors.IsNotFound(err):
		return NoIdentity, nil
	case apierrors.IsForbidden(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("getting the namespace kube-system, whose UID identifies the cluster: %w", err)
	}
	return string(ns.UID), nil
}
