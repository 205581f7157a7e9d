package cloud_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/dev/clouds/metal3/host"
	"github.com/millwright-dev/millwright/dev/clouds/metal3/operator"
	"github.com/millwright-dev/millwright/providers/metal3/cloud"
	"github.com/millwright-dev/millwright/serve"
)

// TestInACluster: with a real API server, the hosts are in the machines' cluster, for both APIs, without
// credentials. Each machine gets a host, and its node the host's provider ID. After the machines are deleted,
// their secrets are deleted and the hosts are free.
func TestInACluster(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS has no folder with kube-apiserver and etcd")
	}
	c := startCluster(t)
	for n := range 3 {
		create(t, c, fmt.Sprintf(`{"apiVersion":"metal3.io/v1alpha1","kind":"BareMetalHost","metadata":{"name":"host-%d","labels":{"role":"worker"},`+
			`"annotations":{"inspect.metal3.io/hardwaredetails":"{\"hostname\":\"host-%d\",\"ramMebibytes\":1024,\"cpu\":{\"count\":4},\"nics\":[{\"ip\":\"10.0.0.%d\"}]}"}},`+
			`"spec":{"online":false,"bmc":{"address":"redfish://host","credentialsName":"c"}}}`, n, n, n+1))
	}
	create(t, c, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"worker-user-data"},"stringData":{"userData":"#cloud-config"}}`)
	create(t, c, `{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"MachineClass","metadata":{"name":"pool"},"provider":"Metal3",`+
		`"secretRef":{"name":"worker-user-data","namespace":"default"},"providerSpec":{"customDeploy":{"method":"install"}}}`)
	machines := []*unstructured.Unstructured{
		create(t, c, `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"m-0","labels":{"machine.openshift.io/cluster-api-cluster":"c1"}},`+
			`"spec":{"providerSpec":{"value":{"customDeploy":{"method":"install"},"userData":{"name":"worker-user-data"},"hostSelector":{"matchLabels":{"role":"worker"}}}}}}`),
		create(t, c, `{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"Machine","metadata":{"name":"m-1"},"spec":{"class":{"kind":"MachineClass","name":"pool"}}}`),
	}
	eventually(t, "each machine has a host that is provisioned", func() bool { return len(provisioned(t, c)) == len(machines) && recorded(t, c, machines) })
	for _, h := range provisioned(t, c) {
		var s corev1.Secret
		name, _, _ := unstructured.NestedString(h.Object, "spec", "userData", "name")
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, &s); err != nil || string(s.Data["userData"]) != "#cloud-config" || len(s.OwnerReferences) != 1 {
			t.Errorf("host %s is given %v, %v", h.GetName(), s, err)
		}
	}
	join(t, c, machines)
	for _, m := range machines {
		if err := c.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "no machine is left, and no host is anybody's", func() bool {
		for _, m := range machines {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(m), m); !apierrors.IsNotFound(err) {
				return false
			}
		}
		return len(provisioned(t, c)) == 0
	})
	var secrets corev1.SecretList
	if err := c.List(t.Context(), &secrets, client.InNamespace("default")); err != nil || len(secrets.Items) != 1 {
		t.Errorf("%d secrets are left, %v", len(secrets.Items), err)
	}
	for _, h := range allHosts(t, c) {
		if _, has, _ := unstructured.NestedMap(h.Object, "spec", "consumerRef"); has || len(h.GetLabels()) != 1 {
			t.Errorf("host %s is given back as %v", h.GetName(), h.Object)
		}
	}
}

// join registers a node for each machine, with the address of its host and without a provider ID, and other
// nodes that belong to no machine or to another one. Nodes of machines get their provider IDs, and others
// stay as they are. The API server validates the writes.
func join(t *testing.T, c client.Client, machines []*unstructured.Unstructured) {
	t.Helper()
	want := map[string]string{"stranger": ""}
	register(t, c, "stranger", "10.0.9.9")
	for n, h := range provisioned(t, c) {
		id := fmt.Sprintf("baremetalhost:///default/%s/%s", h.GetName(), h.GetUID())
		if !slices.ContainsFunc(machines, func(m *unstructured.Unstructured) bool {
			recorded, _, _ := unstructured.NestedString(m.Object, "spec", "providerID")
			return recorded == id
		}) {
			t.Errorf("no machine has recorded %s", id)
		}
		nics, _, _ := unstructured.NestedSlice(h.Object, "status", "hardware", "nics")
		if len(nics) != 1 {
			t.Fatalf("host %s has %d interfaces", h.GetName(), len(nics))
		}
		name := fmt.Sprintf("node-%d", n)
		register(t, c, name, nics[0].(map[string]any)["ip"].(string))
		want[name] = id
	}
	eventually(t, "the nodes of machines show the provider IDs of their hosts", func() bool {
		for name, id := range want {
			var n corev1.Node
			if err := c.Get(t.Context(), client.ObjectKey{Name: name}, &n); err != nil {
				t.Fatal(err)
			}
			if n.Spec.ProviderID != id {
				return false
			}
		}
		return true
	})
	eventually(t, "each machine knows its node", func() bool {
		known := 0
		for _, m := range machines {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
				t.Fatal(err)
			}
			ref, _, _ := unstructured.NestedString(m.Object, "status", "nodeRef", "name")
			if _, is := want[ref+m.GetLabels()["node"]]; is {
				known++
			}
		}
		return known == len(machines)
	})
}

// register creates a Ready node.
func register(t *testing.T, c client.Client, name, address string) {
	t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: name}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
	if err := c.Status().Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

func allHosts(t *testing.T, c client.Client) []unstructured.Unstructured {
	t.Helper()
	all := &unstructured.UnstructuredList{}
	all.SetAPIVersion("metal3.io/v1alpha1")
	all.SetKind("BareMetalHostList")
	if err := c.List(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	return all.Items
}

func provisioned(t *testing.T, c client.Client) (out []unstructured.Unstructured) {
	t.Helper()
	for _, h := range allHosts(t, c) {
		if state, _, _ := unstructured.NestedString(h.Object, "status", "provisioning", "state"); state == "provisioned" {
			out = append(out, h)
		}
	}
	return out
}

// recorded reports whether each machine has recorded its host.
func recorded(t *testing.T, c client.Client, machines []*unstructured.Unstructured) bool {
	t.Helper()
	for _, m := range machines {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
			t.Fatal(err)
		}
		if id, _, _ := unstructured.NestedString(m.Object, "spec", "providerID"); id == "" {
			return false
		}
	}
	return true
}

// eventually waits for a condition that takes seconds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 4*time.Minute {
			t.Fatalf("not after four minutes: %s", what)
		}
	}
}

func create(t *testing.T, c client.Client, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	o.SetNamespace(metav1.NamespaceDefault)
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// startCluster starts a control plane with both APIs, hosts, their simulated operator, and the controller,
// until the test ends.
func startCluster(t *testing.T) client.Client {
	t.Helper()
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	hosts := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(operator.CRD, hosts); err != nil {
		t.Fatal(err)
	}
	env := &envtest.Environment{CRDInstallOptions: envtest.CRDInstallOptions{CRDs: append(crds, hosts)}, ControlPlaneStartTimeout: 3 * time.Minute}
	rest, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = env.Stop() })
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(rest, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() {
		operator.Run(ctx, c, host.Knobs{Step: 200 * time.Millisecond, Provision: time.Second, Deprovision: time.Second, Power: time.Second}, func(err error) { t.Log(err) })
		ended <- nil
	}()
	program := serve.Command(cloud.Plugin())
	program.SetArgs([]string{"--kubeconfig", kubeconfig, "--namespace", "default", "--metrics-bind-address", "0"})
	go func() { ended <- program.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return c
}
