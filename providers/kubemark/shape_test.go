package kubemark_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

func gardener(spec string) provider.Class {
	return provider.Class{API: provider.Gardener, Cluster: "c", Spec: []byte(spec), Region: "r", Zone: "z"}
}

// TestAncestorSpec: the specs of the ancestor's users keep working.
func TestAncestorSpec(t *testing.T) {
	p := inMemory(t).start()
	for _, version := range []string{
		"kubemarkproviderconfig.k8s.io/v1alpha1", "kubemarkproviderconfig.k8s.io/v1beta1", "machine.openshift.io/v1beta1",
	} {
		spec := `{"apiVersion":"` + version + `","kind":"KubemarkMachineProviderConfig",
			"metadata":{"creationTimestamp":null},"image":"gofed/kubemark:v1.11.3","turnUnhealthyPeriodically":true,
			"healthyDuration":"30s","unhealthyDuration":"10s","deletionTimeout":"5s","numCores":"2","memoryCapacity":"4Gi"}`
		if _, err := p.Open(t.Context(), provider.Class{API: provider.OpenShift, Cluster: "c", Spec: []byte(spec)}); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	_, err := inMemory(t).start().Open(t.Context(), gardener(`{"maxPods":0,"quota":-1,"arch":"z80"}`))
	for _, field := range []string{"maxPods", "quota", "arch"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}

func TestStatus(t *testing.T) {
	for api, want := range map[string]string{
		provider.Gardener: `{"instanceID":"ID","instanceState":"running"}`,
		provider.OpenShift: `{"kind":"KubemarkMachineProviderStatus","apiVersion":"kubemarkproviderconfig.k8s.io/v1beta1",` +
			`"instanceId":"ID","instanceState":"running","conditions":[{"type":"MachineCreation","status":"True",` +
			`"lastTransitionTime":"2026-01-02T03:04:05Z","reason":"MachineCreationSucceeded","message":"The instance was created"}]}`,
	} {
		s, err := inMemory(t).start().Open(t.Context(), provider.Class{
			API: api, Cluster: "c", Spec: []byte(`{"apiVersion":"` + versionOf[api] + `","kind":"KubemarkMachineProviderConfig"}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		i, err := s.Create(t.Context(), machine(1), provider.Want{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Status(i)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Replace(want, `"ID"`, `"`+i.ID+`"`, 1), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", api, diff)
		}
	}
}

var versionOf = map[string]string{
	provider.OpenShift: kubemark.OpenShiftAPIVersion,
	provider.Gardener:  kubemark.GardenerAPIVersion,
}

func TestSize(t *testing.T) {
	_, s := shop(t, `{"numCores":8,"memoryCapacity":"1536Mi","gpus":2,"resources":{"ephemeral-storage":"10Gi","example.com/fpga":1},"maxPods":20,"arch":"arm64","labels":{"tier":"x"},
		"taints":[{"key":"gpu","effect":"NoSchedule"}],"region":"r","choices":[{"instanceType":"big","zone":"a"},{"instanceType":"big","zone":"b"}]}`)
	got := sizeOf(t, s)
	want := provider.Size{
		VCPU: 8, GPU: 2, MemoryMiB: 1536, EphemeralStorageMiB: 10240, Architecture: "arm64", MaxPods: 20, GPUResource: "nvidia.com/gpu",
		Labels: map[string]string{"tier": "x", corev1.LabelInstanceTypeStable: "big", corev1.LabelTopologyRegion: "r"},
		Taints: []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the zone depends on the choice, and is not told (-want +got):\n%s", diff)
	}
}

func TestNew(t *testing.T) {
	for _, c := range []struct {
		reason string
		config kubemark.Config
		want   string
	}{
		{"a back end that never was", kubemark.Config{Backend: "vm"}, "vm"},
		{"kwok needs a cluster", kubemark.Config{Backend: kubemark.Kwok}, "no target cluster"},
		{"hollow needs a program", kubemark.Config{Backend: kubemark.Hollow, Dir: t.TempDir()}, "--hollow-binary"},
		{"hollow needs a directory", kubemark.Config{Backend: kubemark.Hollow, HollowBinary: "true"}, "--kubemark-dir"},
		{"hollow needs a program that is there", kubemark.Config{Backend: kubemark.Hollow, Dir: t.TempDir(), HollowBinary: "no-such-program"}, "no-such-program"},
	} {
		if _, err := kubemark.New(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v does not say %q", c.reason, err, c.want)
		}
	}
}
