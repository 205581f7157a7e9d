package operands

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// TestImageOfEachPlatform: section 7.2. Each platform has the image of its own key; the termination handler has that of its provider on three
// of them, and is not there on others.
func TestImageOfEachPlatform(t *testing.T) {
	interruptible := []string{"AWS", "Azure", "GCP"}
	all := Images{"machineAPIOperator": "mao", "kubeRBACProxy": "rbac"}
	machines := []string{"AWS", "Azure", "BareMetal", "GCP", "IBMCloud", "Nutanix", "OpenStack", "PowerVS", "VSphere"}
	for _, platform := range machines {
		all["clusterAPIController"+platform] = "image of " + platform
	}
	for _, platform := range machines {
		t.Run(platform, func(t *testing.T) {
			f := facts(t, platform)
			f.Images = all
			o := render(t, f)
			want := "image of " + platform
			if got := container(t, o, "machine-controller").Image; got != want {
				t.Errorf("%s: the machine controller runs %q", platform, got)
			}
			for _, own := range []string{"machineset-controller", "nodelink-controller", "machine-healthcheck-controller"} {
				if got := container(t, o, own).Image; got != "mao" {
					t.Errorf("%s: %s runs %q", platform, own, got)
				}
			}
			if (o.Termination != nil) != slices.Contains(interruptible, platform) {
				t.Errorf("%s: the termination handler is %v", platform, o.Termination)
			}
			if o.Termination != nil && o.Termination.Spec.Template.Spec.Containers[0].Image != want {
				t.Errorf("%s: the termination handler runs %q", platform, o.Termination.Spec.Template.Spec.Containers[0].Image)
			}
		})
	}
}

// TestPod: section 7.5, what is said of the Deployment as a whole.
func TestPod(t *testing.T) {
	d := render(t, facts(t, "AWS")).Controllers
	pod := d.Spec.Template.Spec
	labels := map[string]string{"api": "clusterapi", "k8s-app": "controller"}
	away := func(key string) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr.To[int64](120)}
	}
	for _, row := range []struct {
		what      string
		got, want any
	}{
		{"name", d.Name, "machine-api-controllers"},
		{"namespace", d.Namespace, "ns"},
		{"replicas", *d.Spec.Replicas, int32(1)},
		{"selector", d.Spec.Selector.MatchLabels, labels},
		{"labels of pods", d.Spec.Template.Labels, labels},
		{"annotation of what the operator owns", d.Annotations, map[string]string{"machine.openshift.io/owned": ""}},
		{"service account", pod.ServiceAccountName, "machine-api-controllers"},
		{"priority", pod.PriorityClassName, "system-node-critical"},
		{"node selector", pod.NodeSelector, map[string]string{"node-role.kubernetes.io/master": ""}},
		{"tolerations", pod.Tolerations, []corev1.Toleration{
			{Key: "node-role.kubernetes.io/master", Effect: "NoSchedule"},
			{Key: "CriticalAddonsOnly", Operator: "Exists"},
			away("node.kubernetes.io/not-ready"), away("node.kubernetes.io/unreachable"),
		}},
		{"annotations of pods", d.Spec.Template.Annotations, map[string]string{
			"target.workload.openshift.io/management": `{"effect": "PreferredDuringScheduling"}`, "openshift.io/required-scc": "restricted-v2",
		}},
	} {
		t.Run(row.what, func(t *testing.T) {
			if diff := cmp.Diff(row.want, row.got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.what, diff)
			}
		})
	}
}

// TestProbeTimes: section 7.5, how often a container is probed, how many failures there may be, and how long one look takes.
func TestProbeTimes(t *testing.T) {
	o := render(t, facts(t, "AWS"))
	times := func(p *corev1.Probe) string {
		if p == nil {
			return "none"
		}
		return fmt.Sprintf("%ds x%d %ds", p.PeriodSeconds, p.FailureThreshold, p.TimeoutSeconds)
	}
	const usual = "10s x3 5s"
	for name, want := range map[string][3]string{
		"machineset-controller":           {"10s x30 10s", usual, usual},
		"machine-controller":              {"none", usual, usual},
		"machine-healthcheck-controller":  {"none", usual, usual},
		"nodelink-controller":             {"none", "none", "none"},
		"kube-rbac-proxy-machineset-mtrc": {"none", "none", "none"},
	} {
		c := container(t, o, name)
		if got := [3]string{times(c.StartupProbe), times(c.ReadinessProbe), times(c.LivenessProbe)}; got != want {
			t.Errorf("%s: startup, readiness and liveness are probed %q, want %q", name, got, want)
		}
	}
}

// TestVolumes: section 7.5, what is mounted where, and where that comes from.
func TestVolumes(t *testing.T) {
	o := render(t, facts(t, "AWS"))
	sources := map[string]string{}
	for _, v := range o.Controllers.Spec.Template.Spec.Volumes {
		switch {
		case v.Secret != nil:
			sources[v.Name] = "secret " + v.Secret.SecretName
		case v.ConfigMap != nil:
			sources[v.Name] = fmt.Sprintf("config map %s, may be absent %t", v.ConfigMap.Name, ptr.Deref(v.ConfigMap.Optional, false))
			for _, i := range v.ConfigMap.Items {
				sources[v.Name] += ", " + i.Key + " as " + i.Path
			}
		case v.Projected != nil:
			token := v.Projected.Sources[0].ServiceAccountToken
			sources[v.Name] = "token for " + token.Audience + " as " + token.Path
		}
	}
	if diff := cmp.Diff(map[string]string{
		"machineset-webhook-cert":     "secret machine-api-operator-webhook-cert",
		"machine-webhook-cert":        "secret machine-api-operator-machine-webhook-cert",
		"trusted-ca":                  "config map mao-trusted-ca, may be absent true, ca-bundle.crt as tls-ca-bundle.pem",
		"bound-sa-token":              "token for openshift as token",
		"config":                      "config map kube-rbac-proxy, may be absent false",
		"machine-api-controllers-tls": "secret machine-api-controllers-tls",
	}, sources); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
	const certificates, authorities = "/etc/machine-api-operator/tls", "/etc/pki/ca-trust/extracted/pem"
	proxied := map[string]string{"config": "/etc/kube-rbac-proxy", "machine-api-controllers-tls": "/etc/tls/private"}
	for name, want := range map[string]map[string]string{
		"machineset-controller":           {"machineset-webhook-cert": certificates, "trusted-ca": authorities},
		"machine-controller":              {"machine-webhook-cert": certificates, "trusted-ca": authorities, "bound-sa-token": "/var/run/secrets/openshift/serviceaccount"},
		"nodelink-controller":             {"trusted-ca": authorities},
		"machine-healthcheck-controller":  {"trusted-ca": authorities},
		"kube-rbac-proxy-machineset-mtrc": proxied, "kube-rbac-proxy-machine-mtrc": proxied, "kube-rbac-proxy-mhc-mtrc": proxied,
	} {
		got := map[string]string{}
		for _, m := range container(t, o, name).VolumeMounts {
			if !m.ReadOnly {
				t.Errorf("%s may write to %s", name, m.MountPath)
			}
			got[m.Name] = m.MountPath
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// environment is that of a container, with the paths of fields for what is taken from the pod.
func environment(c corev1.Container) map[string]string {
	out := map[string]string{}
	for _, v := range c.Env {
		out[v.Name] = v.Value
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
			out[v.Name] = v.ValueFrom.FieldRef.FieldPath
		}
	}
	return out
}

// TestEnvironment: sections 7.5 and 7.6, the environment of programs: all of the proxy settings, and none
// for programs that are not Millwright's.
func TestEnvironment(t *testing.T) {
	f := facts(t, "AWS")
	f.Proxy = Proxy{HTTP: "http://p", HTTPS: "https://p", No: "x,y"}
	o := render(t, f)
	with := func(more map[string]string) map[string]string {
		out := map[string]string{"HTTP_PROXY": "http://p", "HTTPS_PROXY": "https://p", "NO_PROXY": "x,y"}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	for name, want := range map[string]map[string]string{
		"machineset-controller":          with(nil),
		"machine-controller":             with(map[string]string{"NODE_NAME": "spec.nodeName", "RELEASE_VERSION": "4.2"}),
		"nodelink-controller":            with(nil),
		"machine-healthcheck-controller": with(nil),
		"kube-rbac-proxy-mhc-mtrc":       {},
	} {
		if diff := cmp.Diff(want, environment(container(t, o, name))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	handler := o.Termination.Spec.Template.Spec.Containers[0]
	if diff := cmp.Diff(with(map[string]string{"NODE_NAME": "spec.nodeName", "KUBECONFIG": "/var/lib/kubelet/kubeconfig"}), environment(handler)); diff != "" {
		t.Errorf("the termination handler (-want +got):\n%s", diff)
	}
	if !slices.Contains(handler.Args, "--namespace=ns") {
		t.Errorf("the termination handler is started with %s", strings.Join(handler.Args, " "))
	}
}

// TestDefaultGates: section 7.7, what holds in a cluster that says nothing.
func TestDefaultGates(t *testing.T) {
	for name, want := range map[string]bool{
		"MachineAPIMigration": false, "AWSDedicatedHosts": false, "AzureWorkloadIdentity": true, "VSphereHostVMGroupZonal": true,
		"VSphereMultiVCenterDay2": false, "MachineAPIOperatorDisableMachineHealthCheckController": false,
	} {
		t.Run(name, func(t *testing.T) {
			if got := DefaultGates()[name]; got != want {
				t.Errorf("%s is on: %t, want %t", name, got, want)
			}
		})
	}
}
