package kubemark_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

type quantities = map[corev1.ResourceName]string

func amounts(list corev1.ResourceList) quantities {
	out := quantities{}
	for name, q := range list {
		out[name] = q.String()
	}
	return out
}

// declaring is a class that declares its capacity outside its spec.
func declaring(spec string, says quantities) provider.Class {
	class := gardener(spec)
	class.NodeCapacity = corev1.ResourceList{}
	for name, amount := range says {
		class.NodeCapacity[name] = resource.MustParse(amount)
	}
	return class
}

// target is a cluster that accepts one Node, and a kwok provider for it.
func target(t *testing.T) (p *kubemark.Provider, made *corev1.Node) {
	t.Helper()
	made = &corev1.Node{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil && r.Method == http.MethodPost {
			_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, made)
			if err != nil {
				t.Error(err)
			}
		}
		made.APIVersion, made.Kind = "v1", "Node"
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(made)
	}))
	t.Cleanup(server.Close)
	p, err := kubemark.New(kubemark.Config{Backend: kubemark.Kwok, Target: &rest.Config{Host: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	return p, made
}

// sizeOf is the size that autoscalers get.
func sizeOf(t *testing.T, s provider.Session) provider.Size {
	t.Helper()
	size, err := tellSize(t, s)
	if err != nil {
		t.Fatal(err)
	}
	return size
}

func tellSize(t *testing.T, s provider.Session) (provider.Size, error) {
	t.Helper()
	sizer, ok := provider.As[provider.Sizer](s)
	if !ok {
		t.Fatal("no Sizer")
	}
	return sizer.Size(t.Context())
}

// TestDeclaredCapacity: nodes have the capacity that the class declares outside its spec, unless the spec
// sets it; autoscalers get the same.
func TestDeclaredCapacity(t *testing.T) {
	for _, c := range []struct {
		reason      string
		spec        string
		class, want quantities
		size        provider.Size
	}{
		{
			"defaults", `{}`, nil,
			quantities{"cpu": "4", "memory": "16Gi", "pods": "110"},
			provider.Size{VCPU: 4, MemoryMiB: 16384, MaxPods: 110},
		},
		{
			"all that the class declares", `{}`,
			quantities{"cpu": "2", "memory": "4Gi", "gpu": "3", "pods": "20", "hugepages-1Gi": "2Gi", "example.com/fpga": "1", "ephemeral-storage": "50Gi"},
			quantities{"cpu": "2", "memory": "4Gi", "pods": "20", "nvidia.com/gpu": "3", "hugepages-1Gi": "2Gi", "example.com/fpga": "1", "ephemeral-storage": "50Gi"},
			provider.Size{VCPU: 2, MemoryMiB: 4096, MaxPods: 20, GPU: 3, GPUResource: "nvidia.com/gpu", EphemeralStorageMiB: 51200},
		},
		{
			"the spec wins, also with nothing", `{"numCores":8,"gpus":0,"resources":{"example.com/fpga":0}}`,
			quantities{"cpu": "500m", "memory": "4Gi", "gpu": "3", "example.com/fpga": "1"},
			quantities{"cpu": "8", "memory": "4Gi", "pods": "110"},
			provider.Size{VCPU: 8, MemoryMiB: 4096, MaxPods: 110},
		},
		{
			"accelerators by the name that pods ask for", `{"resources":{"nvidia.com/gpu":2}}`,
			quantities{"gpu": "1", "nvidia.com/gpu": "3"},
			quantities{"cpu": "4", "memory": "16Gi", "pods": "110", "nvidia.com/gpu": "2"},
			provider.Size{VCPU: 4, MemoryMiB: 16384, MaxPods: 110, GPU: 2, GPUResource: "nvidia.com/gpu"},
		},
		{
			"the class's own name for accelerators counts where it has no other", `{}`,
			quantities{"gpu": "0", "nvidia.com/gpu": "3"},
			quantities{"cpu": "4", "memory": "16Gi", "pods": "110", "nvidia.com/gpu": "3"},
			provider.Size{VCPU: 4, MemoryMiB: 16384, MaxPods: 110, GPU: 3, GPUResource: "nvidia.com/gpu"},
		},
		{
			"memory is counted in whole bytes", `{"memoryCapacity":"0.1Gi","numCores":"4000m"}`, nil,
			quantities{"cpu": "4", "memory": "107374183", "pods": "110"},
			provider.Size{VCPU: 4, MemoryMiB: 102, MaxPods: 110},
		},
		{
			"names that no node has are somebody else's", `{}`,
			quantities{"storage": "1Gi", "hugepages-big": "1Gi", "volumes": "16"},
			quantities{"cpu": "4", "memory": "16Gi", "pods": "110"},
			provider.Size{VCPU: 4, MemoryMiB: 16384, MaxPods: 110},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			p, node := target(t)
			s, err := p.Open(t.Context(), declaring(c.spec, c.class))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Create(t.Context(), machine(1), provider.Want{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, amounts(node.Status.Capacity)); diff != "" {
				t.Errorf("the node has (-want +got):\n%s", diff)
			}
			size := sizeOf(t, s)
			size.Architecture, size.Labels, size.Taints = "", nil, nil
			if diff := cmp.Diff(c.size, size); diff != "" {
				t.Errorf("autoscalers are told (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDeclaredCapacityThatCannotBe: nothing is created, and existing instances are found and deleted.
func TestDeclaredCapacityThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		reason, spec string
		name         corev1.ResourceName
		amount       string
	}{
		{"half a core", `{}`, "cpu", "500m"},
		{"less memory than none", `{}`, "memory", "-1Gi"},
		{"half a huge page", `{}`, "hugepages-2Mi", "1Mi"},
		{"huge pages of more than the memory of the spec", `{"memoryCapacity":"1Gi"}`, "hugepages-2Mi", "2Gi"},
		{"huge pages of more than the usual memory", `{}`, "hugepages-1Gi", "17Gi"},
		{"half a device", `{}`, "example.com/fpga", "500m"},
		{"what nobody can count", `{}`, "example.com/fpga", "1e30"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			p := inMemory(t).start()
			class := declaring(c.spec, nil)
			before, err := p.Open(t.Context(), class)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := before.Create(t.Context(), machine(1), provider.Want{}); err != nil {
				t.Fatal(err)
			}
			s, err := p.Open(t.Context(), declaring(c.spec, quantities{c.name: c.amount}))
			if err != nil {
				t.Fatal(err)
			}
			_, made := s.Create(t.Context(), machine(2), provider.Want{})
			_, sized := tellSize(t, s)
			for _, err := range []error{made, sized} {
				if provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), "nodeTemplate.capacity["+string(c.name)+"]") {
					t.Errorf("the error does not name what is wrong: %v", err)
				}
			}
			if found, err := s.Find(t.Context(), machine(1)); err != nil || len(found) != 1 {
				t.Errorf("%d instances of before are found, error %v", len(found), err)
			}
			if done, err := s.Delete(t.Context(), machine(1), nil); err != nil || !done {
				t.Errorf("what was made before is removed: %t, error %v", done, err)
			}
		})
	}
}
