package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/verify/checker"
	"github.com/millwright-dev/millwright/internal/verify/record"
)

// world is a fleet with faults.
type world struct {
	f      *fleet.Fleet
	cloud  console
	rand   *rand.Rand
	counts map[string]int
	// want is the wanted number of machines of each owner.
	want int
	// provider is the cloud; dir has the audit log.
	provider, dir string
}

// owners have the machines: a set of one API, and a deployment of the other. The deployment has the template of the sample set,
// and can be rolled.
var owners = []*unstructured.Unstructured{
	object("machine.openshift.io/v1beta1", "MachineSet", fleet.OpenShiftNamespace, "mill-worker-a"),
	object("machine.sapcloud.io/v1alpha1", "MachineDeployment", fleet.GardenerNamespace, "mill-pool"),
}

func object(version, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(version)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// machineKinds are the counted kinds.
var machineKinds = []schema.GroupVersionKind{
	{Group: "machine.openshift.io", Version: "v1beta1", Kind: "MachineList"},
	{Group: "machine.sapcloud.io", Version: "v1alpha1", Kind: "MachineList"},
}

// begin creates the owners with the wanted number of machines.
func (w *world) begin(ctx context.Context, machines int) error {
	if _, err := w.f.Cloud.Ask(ctx, http.MethodPost, "lives", nil); err != nil {
		return err
	}
	if err := w.f.ApplySamples(ctx); err != nil {
		return err
	}
	sample := object("machine.sapcloud.io/v1alpha1", "MachineSet", fleet.GardenerNamespace, "mill-pool")
	if err := w.f.Client.Get(ctx, client.ObjectKeyFromObject(sample), sample); err != nil {
		return err
	}
	spec, _, err := unstructured.NestedMap(sample.Object, "spec")
	if err != nil {
		return err
	}
	if err := w.f.Client.Delete(ctx, sample); err != nil {
		return err
	}
	// For machine.openshift.io, a health check replaces machines whose instances were terminated. machine.sapcloud.io does this
	// itself.
	if err := w.f.Create(ctx, []byte(check)); err != nil {
		return err
	}
	for field, value := range map[string]string{"healthTimeout": "1m", "creationTimeout": "5m"} {
		if err := unstructured.SetNestedField(spec, value, "template", "spec", field); err != nil {
			return err
		}
	}
	deployment := owners[1].DeepCopy()
	spec["strategy"] = map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(5), "maxUnavailable": int64(5)}}
	deployment.Object["spec"] = spec
	if err := w.f.Client.Create(ctx, deployment); err != nil {
		return err
	}
	if asks, ok := spot[w.provider]; ok {
		merge := fmt.Sprintf(`{"spec":{"template":{"spec":{"providerSpec":{"value":%s}}}}}`, asks)
		if err := w.patch(ctx, owners[0], merge); err != nil {
			return err
		}
	}
	return w.scale(ctx, machines/len(owners))
}

// spot returns a template for spot instances of machine.openshift.io.
var spot = map[string]string{
	"aws": `{"spotMarketOptions":{}}`, "azure": `{"spotVMOptions":{}}`, "gcp": `{"preemptible":true}`,
}

const check = `
apiVersion: machine.openshift.io/v1beta1
kind: MachineHealthCheck
metadata: {name: workers, namespace: openshift-machine-api}
spec:
  maxUnhealthy: 100%
  nodeStartupTimeout: 5m
  selector: {matchLabels: {machine.openshift.io/cluster-api-machine-role: worker}}
  unhealthyConditions:
  - {type: Ready, status: Unknown, timeout: 1m}
  - {type: Ready, status: "False", timeout: 1m}
`

func (w *world) scale(ctx context.Context, replicas int) error {
	w.want = replicas
	for _, o := range owners {
		if err := w.patch(ctx, o, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) patch(ctx context.Context, o *unstructured.Unstructured, merge string) error {
	return w.f.Client.Patch(ctx, o.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(merge)))
}

// machines returns the names of all machines.
func (w *world) machines(ctx context.Context) (names []string, err error) {
	for _, kind := range machineKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := w.f.Client.List(ctx, list); err != nil {
			return nil, err
		}
		for _, m := range list.Items {
			names = append(names, m.GetName())
		}
	}
	return names, nil
}

var errLate = errors.New("it takes too long")

// patience limits the time without progress of the fleet. A rollout may have begun at the last moment, and on a computer with
// two cores the rollouts of several soaks are slow.
const patience = 10 * time.Minute

// rests waits until cloud and objects are in the wanted state. If there is no progress for too long, it returns the difference.
func (w *world) rests(ctx context.Context, when string) error {
	began := time.Now()
	better, most := began, math.MinInt
	for {
		wrong, err := w.wrong(ctx)
		if err == nil && wrong == "" {
			say("%s, after %s: %d machines", when, time.Since(began).Round(time.Second), w.want*len(owners))
			return nil
		}
		if done, e := w.done(ctx); e == nil && done > most {
			better, most = time.Now(), done
		}
		if time.Since(better) > patience {
			return fmt.Errorf("before %s: %s: %w", when, wrong, errors.Join(err, errLate))
		}
		for _, line := range w.f.Revive(time.Now()) {
			say("%s", line)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

// done measures progress: the number of Ready machines and of machines of the newest template. If no machines are wanted, it
// grows as machines are deleted.
func (w *world) done(ctx context.Context) (n int, err error) {
	if w.want == 0 {
		names, err := w.machines(ctx)
		return -len(names), err
	}
	for _, o := range owners {
		now := o.DeepCopy()
		if err := w.f.Client.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
			return 0, err
		}
		for _, field := range []string{"readyReplicas", "updatedReplicas"} {
			count, _, _ := unstructured.NestedInt64(now.Object, "status", field)
			n += int(count)
		}
	}
	return n, nil
}

// wrong returns the differences between the cloud, the objects and the wanted state. It is empty if nothing differs.
func (w *world) wrong(ctx context.Context) (string, error) {
	run, err := record.Simulated(ctx, w.f.Client, w.f.Cloud, w.want*len(owners))
	return checker.Wrong(run, checker.Rest), err
}

// keepsPromises judges drains, hooks and bounds by all writes and instances of the run.
func (w *world) keepsPromises(ctx context.Context) error {
	run, err := record.Simulated(ctx, w.f.Client, w.f.Cloud, w.want*len(owners))
	if err != nil {
		return err
	}
	run.Sets, run.Machines, run.DrainTimeout = fleet.User(fleet.Sets), fleet.User("machine-controller-"+w.provider), 2*time.Hour
	judged, err := record.Promises(run, w.dir)
	if err != nil {
		return err
	}
	fmt.Print(judged.Table)
	if len(judged.Broken) > 0 {
		return fmt.Errorf("promises are broken:\n%s", strings.Join(judged.Broken, "\n"))
	}
	return nil
}

// report prints the faults and the number of requests to the cloud.
func (w *world) report(ctx context.Context) error {
	requests, err := w.cloud.requests(ctx)
	if err != nil {
		return err
	}
	for title, counts := range map[string]map[string]int{"Troubles": w.counts, "Requests": requests} {
		fmt.Println(title + ":")
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			fmt.Printf("  %-40s %d\n", name, counts[name])
		}
	}
	return nil
}
