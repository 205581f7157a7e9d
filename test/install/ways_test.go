package install

import (
	"testing"
	"time"
)

// TestKustomize installs a directory of manifests.
func TestKustomize(t *testing.T) {
	h := vanilla(t)
	h.must(t, "apply", "--server-side", "-k", "config/default")
	h.settle(t)
	h.fleet(t)
	h.rolls(t)
	h.removed(t, "kustomize")
}

// TestChart installs with Helm.
func TestChart(t *testing.T) {
	h := vanilla(t)
	h.types(t, "helm install millwright dist/packages/charts/millwright -n millwright-system --create-namespace --set crds.keep=false")
	h.must(t, "label", "namespace", h.namespace, "pod-security.kubernetes.io/enforce=restricted")
	h.types(t, "helm test millwright -n millwright-system")
	h.settle(t)
	h.fleet(t)
	h.serves(t)
	h.rolls(t)
	h.removed(t, "Helm")
}

// TestOperator lets the operator install the controllers, with a provider in its own image.
func TestOperator(t *testing.T) {
	h := &installation{
		machine: host, namespace: "openshift-machine-api", pools: []string{mill},
		deployments: []string{"machine-api-operator", "machine-api-controllers"}, extra: "clusterroles,clusterrolebindings kwok-instances",
	}
	h.begins(t)
	h.must(t, "apply", "--server-side", "-k", "test/install/testdata/operator")
	h.must(t, "-n", h.namespace, "wait", "deployment/machine-api-controllers", "--for=create", "--timeout=1m")
	h.drifts(t) // the provider stores its instances in memory, and is not restarted after this
	h.fleet(t)
	h.guards(t)
	h.rolls(t)
	// Three minutes without changes, because machine-api-operator also waits for this.
	h.must(t, "-n", h.namespace, "wait", "deployment/machine-api-operator", "--for=condition=OperandsAvailable", "--timeout=5m")
	h.removed(t, "the operator")
}

// drifts deletes objects that the operator manages. The operator creates them again within seconds.
func (h *installation) drifts(t *testing.T) {
	t.Helper()
	h.must(t, "-n", h.namespace, "delete", "deployment/machine-api-controllers", "--wait=false")
	time.Sleep(time.Second)
	h.must(t, "-n", h.namespace, "wait", "deployment/machine-api-controllers", "--for=create", "--timeout=30s")
	h.settle(t)
}
