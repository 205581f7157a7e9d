package devplane

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// BootstrapGroup is the group that bootstrap tokens of machines name in auth-extra-groups. Its members may request node
	// certificates. The control plane approves no such request.
	BootstrapGroup = "system:bootstrappers:millwright"
	// BootstrapBinding is the ClusterRoleBinding that gives the group this right.
	BootstrapBinding = "millwright:node-bootstrapper"
)

// greet asks a new API server once for its version, and lets nodes bootstrap.
func (cp *ControlPlane) greet(ctx context.Context) error {
	config, err := cp.RESTConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("asking the API server for its version: %w", err)
	}
	cp.Kubernetes = version.GitVersion
	return grantBootstrap(ctx, client)
}

// grantBootstrap lets holders of bootstrap tokens request node certificates. It does not change a binding of an earlier
// start.
func grantBootstrap(ctx context.Context, client kubernetes.Interface) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: BootstrapBinding},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node-bootstrapper"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: BootstrapGroup},
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:bootstrappers"},
		},
	}
	_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("granting the node bootstrapper role: %w", err)
	}
	return nil
}
