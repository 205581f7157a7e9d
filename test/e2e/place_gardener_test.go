package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

const garden = "garden"

// TestInPlaceOfMachineControllerManager: M1 to M7. Our programs have the names, the command lines, the roles and the CRDs of
// machine-controller-manager.
func TestInPlaceOfMachineControllerManager(t *testing.T) {
	t.Parallel()
	p := placeOf(t, original, "testdata/originals/gardener-roles.yaml", garden)
	sets, machines := p.startGardener(t)
	for _, s := range []*started{sets, machines} { // before any object exists
		s.answers(t, "/healthz", 200)
		eventually(t, s.name+" reports what it waits for", func(context.Context) (string, error) {
			if body := s.answers(t, "/readyz", 503); !strings.Contains(body, "the control cluster lacks kinds of ") {
				return body, nil
			}
			return "", nil
		})
	}
	p.install(t, "machine.sapcloud.io")
	for _, s := range []*started{sets, machines} {
		s.answers(t, "/readyz", 200)
	}
	p.leads(t, garden, "machine-controller-manager")
	p.leads(t, garden, "machine-controller")

	p.pool(t)
	p.joinAll(t, 2)
	var identity corev1.ConfigMap // the roles do not allow reading the UID of kube-system
	if err := p.Get(t.Context(), client.ObjectKey{Namespace: garden, Name: "millwright-identity"}, &identity); err != nil {
		t.Error("the control plane has no identity:", err)
	}
	if log := machines.said(t); !strings.Contains(log, "instances are made for this control plane") || !strings.Contains(log, string(identity.UID)) {
		t.Errorf("instances do not have the owner %s", identity.UID)
	}
	group := v1alpha1.GroupVersion
	p.rests(t, 10*time.Second, group.WithKind("MachineDeployment"), group.WithKind("MachineSet"), group.WithKind("Machine"))
	p.toldByCore(t, "SuccessfulCreate", "machineset-controller")
	p.toldByCore(t, "ScalingMachineSet", "machine-controller-manager")
	for s, series := range map[*started][]string{
		sets:     {`mcm_machine_deployment_items_total 1`, `mcm_machine_set_info_spec_replicas{`, `mcm_workqueue_adds_total{name="machineset"}`},
		machines: {`mcm_machine_items_total 2`, `mcm_machine_current_status_phase{`, `mcm_machine_info{`, `mcm_machine_controller_frozen 0`, `mcm_workqueue_adds_total{name="machine"}`},
	} {
		page := s.answers(t, "/metrics", 200)
		for _, one := range series {
			if !strings.Contains(page, "\n"+one) {
				t.Errorf("M5: %s shows no %s", s.name, one)
			}
		}
	}
	if log := machines.said(t); strings.Count(log, "approve certificate requests") != 0 {
		t.Errorf("who is not to approve speaks of it:\n%s", log)
	}
	sets.ends(t)
	machines.ends(t)
}

// startGardener starts both programs as a gardenlet does, with every flag of the original.
func (p place) startGardener(t *testing.T) (sets, machines *started) {
	t.Helper()
	common := func(port string) []string {
		return []string{
			"--control-kubeconfig=" + p.kubeconfig, "--target-kubeconfig=" + p.kubeconfig, "--namespace=" + garden, "--address=127.0.0.1", "--port=" + port,
			"--kube-api-qps=150", "--kube-api-burst=200", "--concurrent-syncs=20", "--min-resync-period=12h", "--controller-start-interval=0s",
			"--leader-elect=true", "--leader-elect-resource-lock=leases", "--log-flush-frequency=5s", "--v=2",
		}
	}
	port := func(address string) string { return address[strings.LastIndex(address, ":")+1:] }
	first, second := devplanetest.FreeAddress(t), devplanetest.FreeAddress(t)
	sets = p.start(t, "machine-controller-manager", "machine-controller-manager", first, append(common(port(first)),
		"--safety-up=2", "--safety_down=1", "--machine-safety-overshooting-period=1m", "--autoscaler-scaledown-annotation-during-rollout=true")...)
	machines = p.start(t, fleet.Machines, "machine-controller", second, append(common(port(second)),
		"--machine-creation-timeout=20m", "--machine-drain-timeout=2h", "--machine-health-timeout=10m", "--machine-safety-apiserver-statuscheck-timeout=30s",
		"--machine-safety-apiserver-statuscheck-period=1m", "--machine-safety-orphan-vms-period=15m", "--node-conditions=ReadonlyFilesystem,KernelDeadlock",
		"--kubemark-backend=memory")...)
	return sets, machines
}

// pool creates a class and a deployment of two machines.
func (p place) pool(t *testing.T) {
	t.Helper()
	class := &v1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: garden, Name: "pool"}, Provider: "kubemark"}
	class.SecretRef = &corev1.SecretReference{Name: "boot", Namespace: garden}
	class.ProviderSpec.Raw = []byte(`{"numCores": 2}`)
	labels := map[string]string{"name": "pool"}
	d := &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: garden, Name: "pool"}}
	one := intstr.FromInt32(1)
	d.Spec.Replicas, d.Spec.Selector = 2, &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Strategy = v1alpha1.MachineDeploymentStrategy{Type: v1alpha1.RollingUpdateMachineDeploymentStrategyType, RollingUpdate: &v1alpha1.RollingUpdateMachineDeployment{
		UpdateConfiguration: v1alpha1.UpdateConfiguration{MaxSurge: &one, MaxUnavailable: &one},
	}}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Class = v1alpha1.ClassSpec{Kind: v1alpha1.KindMachineClass, Name: "pool"}
	p.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: garden, Name: "boot"}, Data: map[string][]byte{"userData": []byte("#!boot")}})
	p.create(t, class)
	p.create(t, d)
}

// joinAll simulates the kubelets of n machines, and waits until the machines run.
func (p place) joinAll(t *testing.T, n int) {
	t.Helper()
	joined := map[string]bool{}
	eventually(t, "machines that run", func(ctx context.Context) (string, error) {
		var list v1alpha1.MachineList
		if err := p.List(ctx, &list); err != nil {
			return "", err
		}
		running := 0
		for _, m := range list.Items {
			name := m.Labels[v1alpha1.LabelKeyNode]
			if m.Status.CurrentStatus.Phase == v1alpha1.MachineRunning {
				running++
			}
			if name == "" || m.Spec.ProviderID == "" || joined[name] {
				continue
			}
			if err := p.join(ctx, name, m.Spec.ProviderID); err != nil {
				return "", err
			}
			joined[name] = true
		}
		if running != n {
			return fmt.Sprintf("%d of %d run", running, n), nil
		}
		return "", nil
	})
}

func (p place) join(ctx context.Context, name, providerID string) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
	if err := p.Create(ctx, node); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	if err := p.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
		return err
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), LastHeartbeatTime: metav1.Now()}}
	return p.Status().Update(ctx, node)
}

// toldByCore waits for an event in the form that clients of core/v1 read: with source, count and times.
func (p place) toldByCore(t *testing.T, reason, source string) {
	t.Helper()
	eventually(t, "event "+reason, func(ctx context.Context) (string, error) {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("EventList"))
		if err := p.List(ctx, &list, client.InNamespace(garden)); err != nil {
			return "", err
		}
		for _, o := range list.Items {
			component, _, _ := unstructured.NestedString(o.Object, "source", "component")
			first, _, _ := unstructured.NestedString(o.Object, "firstTimestamp")
			count, _, _ := unstructured.NestedInt64(o.Object, "count")
			if o.Object["reason"] == reason && component == source && first != "" && count > 0 {
				return "", nil
			}
		}
		return fmt.Sprintf("%d events, and none of it", len(list.Items)), nil
	})
}
