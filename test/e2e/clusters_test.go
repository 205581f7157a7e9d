package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// controls runs a machine controller of machine.sapcloud.io for one namespace of the fleet, with a target cluster that the test
// chooses.
func controls(t *testing.T, f *fleet.Fleet, namespace string, args ...string) {
	t.Helper()
	c := exec.Command(filepath.Join(bin, fleet.Machines), append([]string{
		"--apis=gardener", "--namespace=" + namespace, "--control-kubeconfig=" + f.Plane.KubeconfigPath,
		"--leader-elect=false", "--metrics-bind-address=0",
	}, args...)...)
	var log strings.Builder
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("the controller did not end in order: %v\n%s", err, log.String())
		}
	})
}

// lone creates a namespace with a class, its user data and one machine m.
func lone(t *testing.T, f *fleet.Fleet, namespace string, userData []byte) *v1alpha1.Machine {
	t.Helper()
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m-" + namespace}}
	m.Spec.Class = v1alpha1.ClassSpec{Kind: v1alpha1.KindMachineClass, Name: "pool"}
	class := &v1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pool"}, Provider: "kubemark"}
	class.SecretRef = &corev1.SecretReference{Name: "boot", Namespace: namespace}
	class.ProviderSpec.Raw = []byte(`{"numCores": 2}`)
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "boot"}, Data: map[string][]byte{"userData": userData}},
		class, m,
	} {
		if err := f.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func phased(t *testing.T, f *fleet.Fleet, m *v1alpha1.Machine, phase v1alpha1.MachinePhase) {
	t.Helper()
	eventually(t, m.Name+" becomes "+string(phase), func(ctx context.Context) (string, error) {
		if err := f.Client.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return "", err
		}
		if got := m.Status.CurrentStatus.Phase; got != phase {
			return fmt.Sprintf("it is %q: %s", got, m.Status.LastOperation.Description), nil
		}
		return "", nil
	})
}

func leaves(t *testing.T, f *fleet.Fleet, m *v1alpha1.Machine) {
	t.Helper()
	if err := f.Client.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	eventually(t, m.Name+" goes", func(ctx context.Context) (string, error) {
		err := f.Client.Get(ctx, client.ObjectKeyFromObject(m), m)
		if err == nil {
			return "it is there: " + m.Status.LastOperation.Description, nil
		}
		return "", client.IgnoreNotFound(err)
	})
}

// TestWithoutTarget: machines that join no cluster are Available with the addresses of their instances, and are deleted without
// a drain.
func TestWithoutTarget(t *testing.T) {
	t.Parallel()
	f := hollow(t)
	controls(t, f, "lone", "--target-kubeconfig=none", "--kubemark-backend=memory")
	m := lone(t, f, "lone", []byte("#!boot"))
	phased(t, f, m, v1alpha1.MachineAvailable)
	if len(m.Status.Addresses) == 0 || m.Spec.ProviderID == "" || m.Status.LastOperation.Description != "Created machine on cloud provider" {
		t.Errorf("available with addresses %v, provider ID %q, %q", m.Status.Addresses, m.Spec.ProviderID, m.Status.LastOperation.Description)
	}
	leaves(t, f, m)
}

// TestTargetApart: the objects live in one cluster, the nodes join another.
func TestTargetApart(t *testing.T) {
	t.Parallel()
	f := hollow(t)
	target, err := devplane.Start(t.Context(), devplane.Options{
		Dir: filepath.Join(t.TempDir(), "target"), Assets: f.Plane.Assets, Components: []string{devplane.ControllerManager},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = devplane.Clean(context.Background(), target.Dir) })
	userData, err := target.TokenKubeconfig("<<BOOTSTRAP_TOKEN>>")
	if err != nil {
		t.Fatal(err)
	}
	kubelet, err := f.Plane.Assets.Path(devplane.Hollow)
	if err != nil {
		t.Fatal(err)
	}
	// No other process approves the certificate requests of that cluster.
	controls(t, f, "apart", "--approve-csrs", "--target-kubeconfig="+target.KubeconfigPath, "--bootstrap-token-auth-extra-groups="+devplane.BootstrapGroup,
		"--kubemark-dir="+filepath.Join(t.TempDir(), "cloud"), "--kubemark-backend=hollow", "--hollow-binary="+kubelet)
	m := lone(t, f, "apart", userData)
	phased(t, f, m, v1alpha1.MachineRunning)

	config, err := target.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	there, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKey{Name: m.Labels[v1alpha1.LabelKeyNode]}
	if err := there.Get(t.Context(), key, &corev1.Node{}); err != nil {
		t.Errorf("the node in the cluster that it was to join: %v", err)
	}
	if err := f.Client.Get(t.Context(), key, &corev1.Node{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the node is in the control cluster too (%v)", err)
	}
	leaves(t, f, m)
	if err := there.Get(t.Context(), key, &corev1.Node{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the node outlived its machine (%v)", err)
	}
}
