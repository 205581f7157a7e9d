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

// IdentityKept is how old an answer about the identity may be where nothing final comes of
// it. An address or an etcd may be exchanged under a running process.
const IdentityKept = 5 * time.Second

// NoIdentity is the identity of a cluster that has no namespace kube-system. A cluster that
// machines joined has one, so that this is another one, or one that is being made.
const NoIdentity = lifecycle.NoCluster

// Identity tells a cluster from all others. It is safe for concurrent use.
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

// Lately is as UID, and an error where the cluster has not answered for as long as oldest: a
// process that was just started knows nothing that an old answer could stand for.
func (i *Identity) Lately(ctx context.Context, oldest time.Duration) (string, error) {
	i.mu.Lock()
	uid, at := i.uid, i.answered
	i.mu.Unlock()
	if now := i.Clock.Now(); !at.IsZero() && now.Sub(at) < oldest && !now.Before(at) {
		return uid, nil
	}
	return i.UID(ctx, 0)
}

// UID is that of the cluster's namespace kube-system, which no two clusters share and
// which a restored etcd keeps; [NoIdentity] where there is no such namespace, and empty where
// it may not be read, as by the roles of machine-controller-manager. The answer is at most
// as old as oldest, or the last one where the cluster does not answer; zero asks now, and a
// cluster that does not answer is an error.
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
	if i.at = now; err == nil { // a cluster that does not answer has not become another one
		i.uid, i.answered = read, now
	}
	return i.uid, nil
}

// identityTimeout bounds the question: passes wait for it.
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
