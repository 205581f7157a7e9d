package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// The times of the outage test. The outage is longer than a machine may be Unknown, and longer than an API server may be
// silent.
const (
	outageHealth  = 10 * time.Second
	outageSilence = 3 * time.Second
	outageTime    = 15 * time.Second
)

// TestOutage stops the API server for longer than every timeout, while a machine is Unknown. No machine is replaced, neither
// during the outage nor afterwards, and the controllers continue by themselves (C26, 5.3).
func TestOutage(t *testing.T) {
	t.Parallel()
	metrics := devplanetest.FreeAddress(t)
	f := outageFleet(t, metrics)
	set := outageSet(t, f, 3)
	before := running(t, f, "machine.sapcloud.io", "outage", 3)

	sick := before[0]
	deadlocked(t, f, sick.Node, corev1.ConditionTrue)
	key := client.ObjectKey{Namespace: fleet.GardenerNamespace, Name: sick.Name}
	phased(t, f, &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}, v1alpha1.MachineUnknown)
	frozen(t, metrics, "0")

	server, ok := f.Plane.Component(devplane.APIServer)
	if !ok {
		t.Fatal("the box has no API server")
	}
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(server.PID, s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(server.PID, syscall.SIGCONT) })
	stopped := time.Now()
	frozen(t, metrics, "1")
	t.Logf("frozen %s after the API server stopped", time.Since(stopped).Round(time.Millisecond))
	time.Sleep(time.Until(stopped.Add(outageTime)))
	signal(syscall.SIGCONT)
	frozen(t, metrics, "0")

	same := func() {
		t.Helper()
		var list v1alpha1.MachineList
		if err := f.Client.List(t.Context(), &list, client.InNamespace(key.Namespace)); err != nil {
			t.Fatal(err)
		}
		uids := map[string]types.UID{}
		for _, m := range list.Items {
			uids[m.Name] = m.UID
			if p := m.Status.CurrentStatus.Phase; m.DeletionTimestamp != nil || p == v1alpha1.MachineFailed || p == v1alpha1.MachineTerminating {
				t.Errorf("machine %s is %s: %s", m.Name, p, m.Status.LastOperation.Description)
			}
		}
		for _, m := range before {
			if uids[m.Name] == "" {
				t.Errorf("machine %s was replaced: there are %v", m.Name, uids)
			}
		}
	}
	watched := func(d time.Duration) {
		t.Helper()
		for end := time.Now().Add(d); time.Now().Before(end) && !t.Failed(); time.Sleep(100 * time.Millisecond) {
			same()
		}
	}
	// The node is still unhealthy. The timer of its machine starts again, and has not expired.
	watched(outageHealth / 2)
	deadlocked(t, f, sick.Node, corev1.ConditionFalse)
	watched(outageHealth)
	if err := f.Client.Patch(t.Context(), set, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":4}}`))); err != nil {
		t.Fatal(err)
	}
	running(t, f, "machine.sapcloud.io", "outage", 4)
	same()
}

func outageFleet(t *testing.T, metrics string) *fleet.Fleet {
	t.Helper()
	dir, err := os.MkdirTemp("", "millwright-outage-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := down(dir); err != nil {
			t.Error("take the fleet down:", err)
		}
	})
	sees := []string{
		"--apis=gardener", "--machine-safety-apiserver-statuscheck-timeout=" + outageSilence.String(), "--machine-safety-apiserver-statuscheck-period=" + outageSilence.String(),
	}
	f, err := fleet.Start(t.Context(), fleet.Options{Dir: dir, Bin: bin, Backend: "kwok", Log: os.Stderr, Args: map[string][]string{
		fleet.Sets:     sees,
		fleet.Machines: append([]string{"--machine-health-timeout=" + outageHealth.String(), "--metrics-bind-address=" + metrics}, sees...),
	}})
	if err != nil {
		t.Fatal("start the fleet:", err)
	}
	return f
}

// outageSet creates a set and its class.
func outageSet(t *testing.T, f *fleet.Fleet, replicas int32) *v1alpha1.MachineSet {
	t.Helper()
	class := &v1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: fleet.GardenerNamespace, Name: "outage"}, Provider: "kubemark"}
	class.SecretRef = &corev1.SecretReference{Name: fleet.UserDataSecret, Namespace: fleet.GardenerNamespace}
	class.ProviderSpec.Raw = []byte(`{"apiVersion":"kubemark.millwright.dev/v1alpha1","kind":"KubemarkMachineProviderConfig"}`)
	labels := map[string]string{"name": "outage"}
	set := &v1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: fleet.GardenerNamespace, Name: "outage"}}
	set.Spec.Replicas, set.Spec.Selector = replicas, &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.Class = v1alpha1.ClassSpec{Kind: v1alpha1.KindMachineClass, Name: class.Name}
	for _, o := range []client.Object{class, set} {
		if err := f.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return set
}

// deadlocked makes the node report a defect that machines watch, or its end.
func deadlocked(t *testing.T, f *fleet.Fleet, node string, status corev1.ConditionStatus) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"KernelDeadlock","status":%q,"reason":"Test","lastTransitionTime":%q}]}}`,
		status, time.Now().UTC().Format(time.RFC3339))
	eventually(t, "node "+node+" says KernelDeadlock="+string(status), func(ctx context.Context) (string, error) {
		return "", f.Client.Status().Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, client.RawPatch(types.StrategicMergePatchType, patch))
	})
}

// frozen waits until the machine controller's metric has the value.
func frozen(t *testing.T, address, want string) {
	t.Helper()
	eventually(t, "mcm_machine_controller_frozen "+want, func(ctx context.Context) (string, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
		if err != nil {
			return "", err
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || strings.Contains(string(body), "\nmcm_machine_controller_frozen "+want+"\n") {
			return "", err
		}
		return "it has another", nil
	})
}
