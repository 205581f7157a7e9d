package cloud

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/serve"
)

func TestMain(m *testing.M) { os.Exit(devplanetest.Main(m, devplanetest.Options{})) }

var (
	machines       = schema.GroupVersionResource{Group: "machine.openshift.io", Version: "v1beta1", Resource: "machines"}
	machineClasses = schema.GroupVersionResource{Group: "machine.sapcloud.io", Version: "v1alpha1", Resource: "machineclasses"}
	gardenMachines = schema.GroupVersionResource{Group: "machine.sapcloud.io", Version: "v1alpha1", Resource: "machines"}
)

// box is a control plane with the running program in a namespace.
type box struct {
	stage     *stage
	client    dynamic.Interface
	namespace string
}

func newBox(t *testing.T) *box {
	t.Helper()
	env, namespace := devplanetest.Start(t), devplanetest.Namespace(t)
	b := &box{stage: newStage(t, vcenter.Options{Clone: 2 * time.Second, Boot: time.Second, Delete: time.Second}), namespace: namespace}
	var err error
	if b.client, err = dynamic.NewForConfig(env.Config); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := env.Kubeconfig("admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	b.secret(t, env)
	command := serve.Command(Plugin())
	command.SetArgs([]string{"--kubeconfig", path, "--namespace", namespace, "--leader-elect=false", "--address", "127.0.0.1", "--port", "0"})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return b
}

// secret has the keys of both APIs.
func (b *box) secret(t *testing.T, env *devplanetest.Env) {
	t.Helper()
	server := strings.ReplaceAll(strings.TrimPrefix(b.stage.url, "http://"), ":", "_")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "vsphere"}, StringData: map[string]string{
		server + ".username": b.stage.user.Name, server + ".password": b.stage.user.Password,
		"vsphereHost": b.stage.url, "vsphereUsername": b.stage.user.Name, "vspherePassword": b.stage.user.Password, "userData": "#cloud-config\n",
	}}
	if _, err := env.Client.CoreV1().Secrets(b.namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (b *box) create(t *testing.T, r schema.GroupVersionResource, o m) {
	t.Helper()
	if _, err := b.client.Resource(r).Namespace(b.namespace).Create(t.Context(), &unstructured.Unstructured{Object: o}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// await waits until look is satisfied with an object; nil stands for an object that does not exist.
func (b *box) await(t *testing.T, r schema.GroupVersionResource, name, what string, look func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	t.Helper()
	var last *unstructured.Unstructured
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		o, err := b.client.Resource(r).Namespace(b.namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			o = nil
		}
		if last = o; look(o) {
			return o
		}
	}
	t.Fatalf("not within a minute: %s: %+v", what, last)
	return nil
}

func text(o *unstructured.Unstructured, path ...string) string {
	if o == nil {
		return ""
	}
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

func plainSpec(s m) m {
	devices := s["network"].(m)["devices"].([]m)
	list := make([]any, len(devices))
	for i := range devices {
		list[i] = devices[i]
	}
	s["network"] = m{"devices": list}
	s["numCPUs"], s["memoryMiB"], s["diskGiB"] = int64(2), int64(8192), int64(120)
	delete(s, "userDataSecret")
	s["credentialsSecret"] = m{"name": "vsphere"}
	s["userDataSecret"] = m{"name": "vsphere"}
	return s
}

// The program on a real API server: a machine of each API runs, reports its state, and is deleted.
func TestBox(t *testing.T) {
	b := newBox(t)
	t.Run(provider.OpenShift, func(t *testing.T) {
		b.stage.tag("box")
		b.create(t, machines, m{
			"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
			"metadata": m{"name": "worker-0", "labels": m{"machine.openshift.io/cluster-api-cluster": "box"}},
			"spec":     m{"providerSpec": m{"value": plainSpec(b.stage.openShift())}},
		})
		o := b.await(t, machines, "worker-0", "it runs, with its addresses", func(o *unstructured.Unstructured) bool {
			if o == nil {
				return false
			}
			addresses, _, _ := unstructured.NestedSlice(o.Object, "status", "addresses")
			return text(o, "status", "phase") == "Provisioned" && text(o, "status", "providerStatus", "instanceState") == "poweredOn" && len(addresses) == 2
		})
		if !strings.HasPrefix(text(o, "spec", "providerID"), "vsphere://") {
			t.Errorf("%v %v", o.Object["spec"], o.Object["status"])
		}
		b.await(t, machines, "worker-0", "it is tagged", func(*unstructured.Unstructured) bool {
			all := b.stage.cloud.Machines()
			return len(all) == 1 && len(all[0].Tags) == 1
		})
		if err := b.client.Resource(machines).Namespace(b.namespace).Delete(t.Context(), "worker-0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		b.await(t, machines, "worker-0", "it is gone", func(o *unstructured.Unstructured) bool { return o == nil })
	})
	t.Run(provider.Gardener, func(t *testing.T) {
		spec := b.stage.gardener("demo")
		spec["numCpus"], spec["memory"] = int64(2), int64(8192)
		ref := m{"name": "vsphere", "namespace": b.namespace}
		b.create(t, machineClasses, m{
			"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "MachineClass", "metadata": m{"name": "workers"},
			"provider": "vsphere", "secretRef": ref, "providerSpec": spec,
		})
		b.create(t, gardenMachines, m{
			"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine", "metadata": m{"name": "node-0"},
			"spec": m{"class": m{"kind": "MachineClass", "name": "workers"}},
		})
		b.await(t, gardenMachines, "node-0", "it has a provider ID", func(o *unstructured.Unstructured) bool {
			return strings.HasPrefix(text(o, "spec", "providerID"), "vsphere://region1/")
		})
		if err := b.client.Resource(gardenMachines).Namespace(b.namespace).Delete(t.Context(), "node-0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		b.await(t, gardenMachines, "node-0", "it is gone", func(o *unstructured.Unstructured) bool { return o == nil })
	})
	t.Run("claims", b.claims)
	if n := len(b.stage.cloud.Machines()); n != 0 {
		t.Errorf("%d virtual machines are left", n)
	}
}
