package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// identity is that of the control plane which holds the machines: the UID of its
// namespace kube-system, which no two clusters share. It is empty where the
// namespace may not be read, as by the roles of the originals: then instances are
// made without an owner, and orphans are only reported.
func identity(ctx context.Context, process *run.Process) (string, error) {
	c, err := client.New(process.Control, client.Options{Scheme: run.Scheme()})
	if err != nil {
		return "", fmt.Errorf("connect to the control cluster: %w", err)
	}
	return identityOf(ctx, c, process.Log)
}

func identityOf(ctx context.Context, c client.Reader, log logr.Logger) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var ns corev1.Namespace
	err := c.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &ns)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		log.Info("the identity of this control plane is not known: instances are made without an owner, and orphans are only reported", "why", err.Error())
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read the identity of the control plane: %w", err)
	}
	log.Info("instances are made for this control plane", "owner", ns.UID)
	return string(ns.UID), nil
}
