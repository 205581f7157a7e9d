package larch_test

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"example.org/larch"
	"example.org/larch/double"

	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/serve"
)

// TestInACluster: the program creates and deletes the machines of testdata/machines.yaml, in both APIs.
func TestInACluster(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS does not name a folder with kube-apiserver and etcd")
	}
	cloud := double.New(time.Now)
	cloud.Lagging = 5 * time.Second
	server := httptest.NewServer(cloud)
	defer server.Close()
	c := start(t)
	machines := apply(t, c, server.URL)

	eventually(t, "each machine has an instance", func() bool {
		for _, m := range machines {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
				t.Fatal(err)
			}
			if id, _, _ := unstructured.NestedString(m.Object, "spec", "providerID"); id == "" {
				return false
			}
		}
		return true
	})
	for _, m := range machines {
		if err := c.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the machines are deleted", func() bool {
		for _, m := range machines {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(m), m); !apierrors.IsNotFound(err) {
				return false
			}
		}
		return true
	})
	for _, cluster := range []string{"c1", "default"} {
		if n, disks, _ := cloud.Knobs().Count(provider.Class{Cluster: cluster}); n+disks > 0 {
			t.Errorf("cluster %s still has %d machines and %d disks", cluster, n, disks)
		}
	}
}

// eventually waits up to two minutes.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("not after two minutes: %s", what)
		}
	}
}

// start starts a control plane with both APIs, and the program, until the test ends.
func start(t *testing.T) client.Client {
	t.Helper()
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	env := &envtest.Environment{CRDInstallOptions: envtest.CRDInstallOptions{CRDs: crds}}
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
	ended := make(chan error)
	program := serve.Command(larch.Plugin())
	program.SetArgs([]string{"--kubeconfig", kubeconfig, "--namespace", "default", "--metrics-bind-address", "0"})
	go func() { ended <- program.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

// apply creates the objects of testdata/machines.yaml, and returns the machines.
func apply(t *testing.T, c client.Client, endpoint string) (machines []*unstructured.Unstructured) {
	t.Helper()
	raw, err := os.ReadFile("testdata/machines.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range bytes.Split(raw, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &o.Object); err != nil {
			t.Fatal(err)
		}
		o.SetNamespace("default")
		if o.GetName() == "larch-credentials" {
			_ = unstructured.SetNestedField(o.Object, endpoint, "stringData", "endpoint")
		}
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if o.GetKind() == "Machine" {
			machines = append(machines, o)
		}
	}
	return machines
}
