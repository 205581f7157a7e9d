package fleet

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/internal/demo/devplane"
)

// UserDataSecret is the secret that the examples of both APIs name: user data
// for instances of this fleet.
const UserDataSecret = "worker-user-data"

// installCRDs installs the CRDs of both APIs and waits until they are served.
func installCRDs(ctx context.Context, server *rest.Config) error {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return err
	}
	c, err := client.New(server, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if err := apply(ctx, c, crd); err != nil {
			return fmt.Errorf("install CRD %s: %w", crd.Name, err)
		}
	}
	for _, crd := range crds {
		if err := awaitServed(ctx, c, crd.Name); err != nil {
			return err
		}
	}
	return nil
}

// apply creates the object, or updates the object of an earlier run.
func apply(ctx context.Context, c client.Client, o client.Object) error {
	err := c.Create(ctx, o)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	old := o.DeepCopyObject().(client.Object)
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), old); err != nil {
		return err
	}
	o.SetResourceVersion(old.GetResourceVersion())
	return c.Update(ctx, o)
}

func awaitServed(ctx context.Context, c client.Client, name string) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := c.Get(ctx, client.ObjectKey{Name: name}, &crd); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		for _, c := range crd.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("CRD %s is not served: %w", name, err)
	}
	return nil
}

// prepareNamespaces creates the namespaces of the examples, and in each the user
// data with which an instance joins this control plane. The user data has a kubeconfig whose
// token the machine controller fills in, a different one for each machine.
func (f *Fleet) prepareNamespaces(ctx context.Context) error {
	userData, err := userData(f.Plane, f.options.Cloud)
	if err != nil {
		return err
	}
	for _, name := range []string{OpenShiftNamespace, GardenerNamespace} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := f.Client.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make namespace %s: %w", name, err)
		}
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: UserDataSecret},
			Data:       map[string][]byte{"userData": userData},
		}
		if err := apply(ctx, f.Client, secret); err != nil {
			return fmt.Errorf("make secret %s/%s: %w", name, UserDataSecret, err)
		}
	}
	return nil
}

// userData is the user data of instances. Machines of clouds run cloud-init.
func userData(plane *devplane.ControlPlane, o CloudOptions) ([]byte, error) {
	kubeconfig, err := plane.TokenKubeconfig("<<BOOTSTRAP_TOKEN>>")
	if err != nil || !o.simulated() {
		return kubeconfig, err
	}
	content := strings.ReplaceAll(strings.TrimSpace(string(kubeconfig)), "\n", "\n    ")
	return fmt.Appendf(nil, `#cloud-config
write_files:
- path: /etc/kubernetes/bootstrap-kubeconfig
  permissions: "0600"
  content: |
    %s
runcmd:
- [systemctl, enable, --now, kubelet]
`, content), nil
}
