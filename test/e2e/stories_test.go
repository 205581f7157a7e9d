package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
)

// dialect has the properties of an API that the tests need.
type dialect struct {
	name, group, namespace string
	// sample is the set of the example.
	sample string
	// cluster is the ownership scope of the instances.
	cluster string
}

var dialects = []dialect{
	{"openshift", provider.OpenShift, fleet.OpenShiftNamespace, "mill-worker-a", "mill"},
	{"gardener", provider.Gardener, fleet.GardenerNamespace, "mill-pool", fleet.GardenerNamespace},
}

func (d dialect) machines() string { return "machines." + d.group }
func (d dialect) sets() string     { return "machinesets." + d.group }

// inBoth runs a test for each API.
func inBoth(t *testing.T, story func(t *testing.T, f *fleet.Fleet, d dialect)) {
	t.Parallel()
	f := hollow(t)
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			story(t, f, d)
		})
	}
}

// manifest fills a name into a file of testdata.
func manifest(t *testing.T, file, name string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(raw), "NAME", name)
}

// machine creates a machine for this test, and waits until it is Running.
func (d dialect) machine(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	userData(t, f, d, name)
	kubectl(t, f, manifest(t, "machine-"+d.name+".yaml", name), "apply", "-f", "-")
	running(t, f, d.group, name, 1)
}

// gone waits until a machine, its node and its instance no longer exist.
func (d dialect) gone(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	w, err := truthOf(f)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "machine "+name+" deleted with its parts", func(ctx context.Context) (string, error) {
		there, err := machines(ctx, f, d.group, name)
		if err != nil {
			return "", err
		}
		if len(there) > 0 {
			return there[0].Phase + ": " + there[0].Why, nil
		}
		err = f.Client.Get(ctx, client.ObjectKey{Name: name}, &corev1.Node{})
		if !apierrors.IsNotFound(err) {
			return "its node is there", client.IgnoreNotFound(err)
		}
		instances, err := w.console.Instances(ctx, d.cluster)
		for _, i := range instances {
			if i.Name == name {
				return "its instance is " + i.RawState, err
			}
		}
		return "", err
	})
}

// says waits until the object of a machine contains all the words.
func (d dialect) says(t *testing.T, f *fleet.Fleet, name string, words ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("machine %s says %q", name, words), func(context.Context) (string, error) {
		status := kubectl(t, f, "", "-n", d.namespace, "get", d.machines(), name, "-o", "jsonpath={.status}")
		for _, w := range words {
			if !strings.Contains(status, w) {
				return "it says " + status, nil
			}
		}
		return "", nil
	})
}

// The first acceptance test: the sets of the examples get Ready nodes, are scaled with kubectl, and replace deleted machines.
func TestSampleSets(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		before := running(t, f, d.group, d.sample, 3)
		kubectl(t, f, "", "-n", d.namespace, "scale", d.sets(), d.sample, "--replicas=4")
		running(t, f, d.group, d.sample, 4)
		kubectl(t, f, "", "-n", d.namespace, "scale", d.sets(), d.sample, "--replicas=2")
		two := running(t, f, d.group, d.sample, 2)

		victim := two[0]
		kubectl(t, f, "", "-n", d.namespace, "delete", d.machines(), victim.Name)
		d.gone(t, f, victim.Name)
		for _, m := range running(t, f, d.group, d.sample, 2) {
			if m.UID == victim.UID {
				t.Errorf("machine %s was not replaced", victim.Name)
			}
		}
		if before[0].Node == "" {
			t.Error("a running machine does not name its node")
		}
	})
}

// The object reports a drain that a budget blocks. The drain continues by itself after the budget allows evictions.
func TestBlockedDrain(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		name := "drain-" + d.name
		d.machine(t, f, name)
		kubectl(t, f, manifest(t, "pod.yaml", name), "apply", "-f", "-")
		kubectl(t, f, "", "wait", "--for=condition=Ready", "--timeout=30s", "pod/"+name)

		kubectl(t, f, "", "-n", d.namespace, "delete", d.machines(), name, "--wait=false")
		d.says(t, f, name, "default/"+name)
		time.Sleep(2 * time.Second) // a drain that ignored the budget would be complete
		kubectl(t, f, "", "get", "pod", name)
		if node := kubectl(t, f, "", "get", "node", name, "-o", "jsonpath={.spec.unschedulable}"); node != "true" {
			t.Errorf("spec.unschedulable of the node is %q while it is drained", node)
		}
		kubectl(t, f, "", "delete", "pdb", name)
		d.gone(t, f, name)
	})
}

// A user deletes a node. The machine of machine.sapcloud.io is deleted with it. A machine of machine.openshift.io is left to
// health checks and users, as in the originals.
func TestDeletedNode(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		name := "nodeless-" + d.name
		d.machine(t, f, name)
		kubectl(t, f, "", "delete", "node", name)
		if d.group == provider.OpenShift {
			time.Sleep(2 * time.Second) // a controller that replaced the machine would have begun
			if at := kubectl(t, f, "", "-n", d.namespace, "get", d.machines(), name, "-o", "jsonpath={.metadata.deletionTimestamp}"); at != "" {
				t.Errorf("the machine is being deleted since %s", at)
			}
			kubectl(t, f, "", "-n", d.namespace, "delete", d.machines(), name, "--wait=false")
		}
		d.gone(t, f, name)
	})
}

// A machine can be deleted even if the objects that describe it no longer exist.
func TestDeleteWithoutDescription(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		name := "bare-" + d.name
		d.machine(t, f, name)
		d.forget(t, f, name)
		kubectl(t, f, "", "-n", d.namespace, "delete", d.machines(), name, "--wait=false")
		d.gone(t, f, name)
	})
}

// forget deletes secret, class, cluster label and provider spec, despite their finalizers.
func (d dialect) forget(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	remove(t, f, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: name}})
	if d.group == provider.Gardener {
		remove(t, f, &v1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: name}})
		return
	}
	kubectl(t, f, "", "-n", d.namespace, "patch", d.machines(), name, "--type=merge",
		"-p", `{"metadata":{"labels":{"machine.openshift.io/cluster-api-cluster":null}},"spec":{"providerSpec":{"value":null}}}`)
}

// remove deletes an object although finalizers protect it.
func remove(t *testing.T, f *fleet.Fleet, o client.Object) {
	t.Helper()
	if err := f.Client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	eventually(t, o.GetName()+" gone", func(ctx context.Context) (string, error) {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		err := f.Client.Patch(ctx, o, patch)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "it is there", err
	})
}

// The machine reports an unknown field, and is created nevertheless.
func TestUnknownField(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		name := "wrong-" + d.name
		userData(t, f, d, name)
		wrong := strings.ReplaceAll(manifest(t, "machine-"+d.name+".yaml", name), "numCores: 2", "numCroes: 2")
		kubectl(t, f, wrong, "apply", "-f", "-")
		d.says(t, f, name, "numCroes")
		kubectl(t, f, "", "-n", d.namespace, "delete", d.machines(), name, "--wait=false")
		d.gone(t, f, name)
	})
}
