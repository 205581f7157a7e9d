package machineclass

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// absentDelay is the pause before the next read of a secret that a class names and that does not exist.
// Secrets are not watched.
const absentDelay = 10 * time.Minute

// Secrets keeps, by a finalizer, each secret that a class of its namespace names. It reads only the
// metadata of secrets, never their data.
type Secrets struct {
	// Client reads classes from a cache with [SecretIndex], and writes.
	Client client.Client
	// Live reads, from the API server, the metadata of secrets, and classes before a secret is released.
	Live client.Reader
}

// Reconcile sets the finalizer on one secret, or removes it.
func (s *Secrets) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var classes v1alpha1.MachineClassList
	err := s.Client.List(ctx, &classes, client.InNamespace(req.Namespace), client.MatchingFields{SecretIndex: req.Name})
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("list the classes with secret %s: %w", req, err)
	}
	wanted := len(classes.Items) > 0
	secret := metadata()
	err = s.Live.Get(ctx, req.NamespacedName, secret)
	if apierrors.IsNotFound(err) && wanted {
		return reconcile.Result{RequeueAfter: absentDelay}, nil
	}
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	held := hold{finalizer: v1alpha1.FinalizerSecret, wanted: wanted}
	if !held.wanted && controllerutil.ContainsFinalizer(secret, held.finalizer) {
		if held.wanted, err = s.named(ctx, req); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, held.apply(ctx, s.Client, secret)
}

// named asks the API server for classes that name the secret: a stale cache, for example when a process
// starts, does not show a class whose creation wakes the secret.
func (s *Secrets) named(ctx context.Context, secret reconcile.Request) (bool, error) {
	var all v1alpha1.MachineClassList
	if err := s.Live.List(ctx, &all, client.InNamespace(secret.Namespace)); err != nil {
		return false, fmt.Errorf("list the classes with secret %s past the cache: %w", secret, err)
	}
	return slices.ContainsFunc(all.Items, func(c v1alpha1.MachineClass) bool { return slices.Contains(SecretsOf(&c), secret.Name) }), nil
}

// WithFinalizer lists, from the API server, the secrets of a namespace that have the finalizer. These
// include secrets whose class dropped them while no process was watching. An empty namespace means all
// namespaces.
func (s *Secrets) WithFinalizer(ctx context.Context, namespace string) ([]types.NamespacedName, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := s.Live.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the secrets that are held: %w", err)
	}
	var out []types.NamespacedName
	for i := range list.Items {
		if controllerutil.ContainsFinalizer(&list.Items[i], v1alpha1.FinalizerSecret) {
			out = append(out, client.ObjectKeyFromObject(&list.Items[i]))
		}
	}
	return out, nil
}

func metadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return m
}
