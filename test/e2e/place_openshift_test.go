package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// TestInPlaceOfMachineAPIControllers: O1 to O5. Our programs have the names, the command lines, the roles, the CRDs and the
// leases of machine-api-operator's controllers.
func TestInPlaceOfMachineAPIControllers(t *testing.T) {
	t.Parallel()
	inPlaceOfControllers(t, original, "testdata/originals/openshift-roles.yaml")
}

// TestOperandsOfARelease: the same with the roles that install/ gives the operands, and without the roles of the original's
// machine controllers.
func TestOperandsOfARelease(t *testing.T) {
	t.Parallel()
	inPlaceOfControllers(t, "system:serviceaccount:"+fleet.OpenShiftNamespace+":machine-api-controllers", "../../config/rbac/machine-api-controllers/role.yaml")
}

func inPlaceOfControllers(t *testing.T, user, roles string) {
	t.Helper()
	const namespace = fleet.OpenShiftNamespace
	p := placeOf(t, user, roles, namespace)
	p.install(t, "machine.openshift.io", "MachineDeployment")
	programs := map[string]*started{}
	for name, program := range map[string]string{
		"machineset-controller": "machineset-controller", "machine-healthcheck": "machine-healthcheck", "machine-controller-manager": fleet.Machines,
	} {
		health := devplanetest.FreeAddress(t)
		args := []string{
			"--logtostderr=true", "--v=3", "--leader-elect=true", "--leader-elect-lease-duration=120s", "--namespace=" + namespace,
			"--metrics-bind-address=" + devplanetest.FreeAddress(t), "--health-addr=" + health,
		}
		if name != "machine-healthcheck" {
			args = append(args, "--feature-gates=AWSDedicatedHosts=false,AzureWorkloadIdentity=true,MachineAPIMigration=false,VSphereHostVMGroupZonal=true")
		}
		if program == fleet.Machines {
			args = append(args, "--max-concurrent-reconciles=10", "--kubemark-backend=memory")
		}
		programs[name] = p.start(t, program, name, health, args...)
	}
	for name, lease := range map[string]string{
		"machineset-controller": "cluster-api-provider-machineset-leader", "machine-healthcheck": "cluster-api-provider-healthcheck-leader",
		"machine-controller-manager": "cluster-api-provider-kubemark-leader",
	} {
		s := programs[name]
		s.answers(t, "/healthz", 200)
		p.leads(t, namespace, lease)
		if body := s.answers(t, "/readyz", 200); strings.Count(body, "[+]lease ") != 1 || !strings.Contains(body, namespace+"/"+lease+": held by this process") {
			t.Errorf("%s is ready with %q", name, body)
		}
	}
	// It has no port for health, like the original.
	links := p.start(t, "nodelink-controller", "nodelink-controller", "", "--logtostderr=true", "--v=3", "--leader-elect=true",
		"--leader-elect-lease-duration=120s", "--namespace="+namespace)
	p.leads(t, namespace, "cluster-api-provider-nodelink-leader")
	programs["nodelink-controller"] = links
	p.openshiftPool(t, namespace)
	kinds := machinev1.GroupVersion
	p.rests(t, 10*time.Second, kinds.WithKind("MachineSet"), kinds.WithKind("Machine"), kinds.WithKind("MachineHealthCheck"))
	for _, s := range programs {
		s.ends(t)
	}
}

// openshiftPool creates a set of two machines and a health check for them, and waits until they run and are counted.
func (p place) openshiftPool(t *testing.T, namespace string) {
	t.Helper()
	labels := map[string]string{"pool": "a", machinev1.MachineClusterIDLabel: "place"}
	set := &machinev1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pool", Labels: labels}}
	set.Spec.Replicas, set.Spec.Selector.MatchLabels, set.Spec.Template.Labels = ptr.To(int32(2)), labels, labels
	set.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"apiVersion": "kubemarkproviderconfig.k8s.io/v1beta1", "kind": "KubemarkMachineProviderConfig"}`)}
	check := &lenient.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pool"}}
	check.Spec.Selector.MatchLabels = map[string]string{"pool": "a"}
	check.Spec.UnhealthyConditions = []lenient.UnhealthyCondition{{Type: "Ready", Status: "False", Timeout: "5m"}}
	p.create(t, set)
	p.create(t, check)
	joined := map[string]bool{}
	eventually(t, "machines that run, and are counted", func(ctx context.Context) (string, error) {
		var list machinev1.MachineList
		if err := p.List(ctx, &list); err != nil {
			return "", err
		}
		running := 0
		for _, m := range list.Items {
			if ptr.Deref(m.Status.Phase, "") == machinev1.PhaseRunning {
				running++
			}
			id := ptr.Deref(m.Spec.ProviderID, "")
			if id == "" || joined[m.Name] {
				continue
			}
			if err := p.join(ctx, m.Name, id); err != nil {
				return "", err
			}
			joined[m.Name] = true
		}
		if err := p.Get(ctx, client.ObjectKeyFromObject(check), check); err != nil {
			return "", err
		}
		if got := ptr.Deref(check.Status.CurrentHealthy, 0); got != 2 || running != 2 {
			return fmt.Sprintf("%d machines, %d joined, %d run, %d healthy", len(list.Items), len(joined), running, got), nil
		}
		return "", nil
	})
}
