package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// shipped reads a manifest of the termination handler.
func shipped(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("termination-handler", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(raw, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// Spec 4.7: the check that replaces machines whose instances the cloud ends.
func TestTerminationHealthCheck(t *testing.T) {
	var got machinev1.MachineHealthCheck
	shipped(t, "machinehealthcheck.yaml", &got)
	want := machinev1.MachineHealthCheckSpec{
		Selector:           metav1.LabelSelector{MatchLabels: map[string]string{"machine.openshift.io/interruptible-instance": ""}},
		MaxUnhealthy:       ptr.To(intstr.FromString("100%")),
		NodeStartupTimeout: &metav1.Duration{},
		UnhealthyConditions: []machinev1.UnhealthyCondition{
			{Type: "Terminating", Status: corev1.ConditionTrue, Timeout: metav1.Duration{}},
		},
	}
	if got.Name != "machine-api-termination-handler" || got.Namespace != "openshift-machine-api" {
		t.Errorf("it is %s/%s", got.Namespace, got.Name)
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Spec 7.6: the DaemonSet. It acts as the kubelet, and has no rights of its own.
func TestTerminationDaemonSet(t *testing.T) {
	var set appsv1.DaemonSet
	shipped(t, "daemonset.yaml", &set)
	var account corev1.ServiceAccount
	shipped(t, "service_account.yaml", &account)
	pod := set.Spec.Template.Spec
	c := pod.Containers[0]
	hosts := map[string]string{}
	for _, v := range pod.Volumes {
		hosts[v.Name] = v.HostPath.Path
	}
	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.MountPath] = hosts[m.Name]
		if !m.ReadOnly {
			t.Errorf("the handler may write to %s", m.MountPath)
		}
	}
	for _, row := range []struct {
		what      string
		got, want any
	}{
		{"name", set.Name, "machine-api-termination-handler"},
		{"account", account.Name, pod.ServiceAccountName},
		{"token of the account", ptr.Deref(account.AutomountServiceAccountToken, true), false},
		{"token in the pod", ptr.Deref(pod.AutomountServiceAccountToken, true), false},
		{"maxUnavailable", set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.String(), "10%"},
		{"hostNetwork", pod.HostNetwork, true},
		{"nodeSelector", pod.NodeSelector, map[string]string{"machine.openshift.io/interruptible-instance": "", "kubernetes.io/os": "linux"}},
		{"tolerations", pod.Tolerations, []corev1.Toleration{{Operator: "Exists", Effect: "NoSchedule"}}},
		{"SCC", set.Spec.Template.Annotations["openshift.io/required-scc"], "machine-api-termination-handler"},
		{"mounts, and what of the host is there", mounts, map[string]string{"/var/lib/kubelet/kubeconfig": "/var/lib/kubelet/kubeconfig", "/var/lib/kubelet/pki": "/var/lib/kubelet/pki"}},
		{"command", slices.Concat(c.Command, c.Args), []string{
			"/termination-handler", "--logtostderr=true", "--v=3", "--node-name=$(NODE_NAME)", "--namespace=openshift-machine-api", "--poll-interval-seconds=5",
		}},
		{"its end takes longer than its last attempts", *pod.TerminationGracePeriodSeconds > 30, true},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.what, diff)
		}
	}
}
