package e2e

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
)

// TestKstatus: generic tools such as Flux and Argo CD see whether a deployment is complete, in progress or stuck. The sets of
// machine.openshift.io report the same. Those of the other API have their conditions in a field that such tools do not read.
func TestKstatus(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		seats(t, 2)
		const name, deadline = "kstatus", `{"spec":{"progressDeadlineSeconds":5}}`
		bad, good := `{"spec":{"template":{"spec":{"class":{"name":"kstatus-none"}}}}}`, `{"spec":{"template":{"spec":{"class":{"name":"kstatus-1"}}}}}`
		if d.group == provider.Gardener {
			pool(t, f, name, 1, `{"apiVersion":"kubemark.millwright.dev/v1alpha1","kind":"KubemarkMachineProviderConfig","numCores":2}`)
		} else {
			bad = `{"spec":{"template":{"spec":{"providerSpec":{"value":{"credentialsSecret":{"name":"kstatus-none"}}}}}}}`
			good = `{"spec":{"template":{"spec":{"providerSpec":{"value":{"credentialsSecret":null}}}}}}`
			d.discard(t, f, name)
			apply(t, f, d.variant(t, name, `{"replicas":1}`))
		}
		patch := func(p string) {
			t.Helper()
			kubectl(t, f, "", "-n", d.namespace, "patch", d.deployments(), name, "--type=merge", "-p", p)
		}
		is := func(want status.Status, get func() *unstructured.Unstructured) {
			t.Helper()
			eventually(t, "the status is "+string(want), func(context.Context) (string, error) {
				o := get()
				got, err := status.Compute(o)
				if err != nil || got.Status == want {
					return "", err
				}
				return o.GetKind() + " is " + string(got.Status) + ": " + got.Message, nil
			})
		}
		deployment := func() *unstructured.Unstructured { return d.deployment(t, f, name) }

		kubectl(t, f, "", "-n", d.namespace, "wait", d.deployments()+"/"+name, "--for=condition=Available", "--timeout=2m")
		is(status.CurrentStatus, deployment)
		before := d.owned(t, f, deployment())
		patch(bad)
		is(status.InProgressStatus, deployment)
		if d.group == provider.OpenShift {
			is(status.InProgressStatus, func() *unstructured.Unstructured { return d.other(t, f, name, before) })
		}
		patch(deadline)
		is(status.FailedStatus, deployment)
		patch(good)
		is(status.CurrentStatus, deployment)
		if d.group == provider.OpenShift {
			kubectl(t, f, "", "-n", d.namespace, "wait", d.sets()+"/"+before[0], d.deployments()+"/"+name, "--for=condition=Ready", "--timeout=1m")
		}
	})
}

// other returns a set of a deployment that is not among the given ones, after it exists.
func (d dialect) other(t *testing.T, f *fleet.Fleet, name string, before []string) *unstructured.Unstructured {
	t.Helper()
	for _, set := range d.owned(t, f, d.deployment(t, f, name)) {
		if set == before[0] {
			continue
		}
		o, err := dynamicClient(t, f).Resource(d.resource("machinesets")).Namespace(d.namespace).Get(t.Context(), set, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	return &unstructured.Unstructured{Object: map[string]any{"kind": "MachineSet", "metadata": map[string]any{"name": "none yet"}}}
}
