package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// world is a fleet under troubles.
type world struct {
	f      *fleet.Fleet
	cloud  console
	rand   *rand.Rand
	counts map[string]int
	// want is how many machines each owner should have.
	want int
	// provider is the cloud.
	provider string
}

// owners have the machines: a set of one API, and a deployment of the other that is made of the sample's set, so that it can be
// rolled.
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

// machineKinds are those whose objects are counted.
var machineKinds = []schema.GroupVersionKind{
	{Group: "machine.openshift.io", Version: "v1beta1", Kind: "MachineList"},
	{Group: "machine.sapcloud.io", Version: "v1alpha1", Kind: "MachineList"},
}

// begin makes the owners, with as many machines as are wanted.
func (w *world) begin(ctx context.Context, machines int) error {
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
	// Machines whose instances are taken away are given up by health checks here, and by themselves there.
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

// spot makes instances of machine.openshift.io such as clouds interrupt.
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

// machines are the names of all machines.
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

// patience is how long a fleet may take to come closer to rest: a rollout may have begun at the last moment, and on a machine
// with two cores those of several soaks are slow.
const patience = 10 * time.Minute

// rests waits until the cloud has what the objects say and the objects are as wanted, and says what is not so where nothing
// gets better for too long.
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

// done is more, the closer the objects are to what is wanted: the machines that are ready and those of the newest template, or,
// where none is wanted, the fewer there are.
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

// wrong says how the cloud and the objects differ, and what is wanted; empty where nothing does.
func (w *world) wrong(ctx context.Context) (string, error) {
	machines, err := w.f.Census(ctx)
	if err != nil {
		return "", err
	}
	ready, late := 0, []string(nil)
	for _, m := range machines {
		if m.Ready() {
			ready++
		} else {
			late = append(late, fmt.Sprintf("machine %s is %s: %s", m.Name, m.Phase, m.Why))
		}
	}
	var problems []string
	if want := w.want * len(owners); ready != want || len(machines) != want {
		problems = append(problems, fmt.Sprintf("%d of %d machines are ready, %d are wanted", ready, len(machines), want))
	}
	for _, compare := range []func(context.Context, []fleet.Machine) ([]string, error){w.instances, w.nodes} {
		more, err := compare(ctx, machines)
		if err != nil {
			return "", err
		}
		problems = append(problems, more...)
	}
	if len(problems) > 0 {
		problems = append(problems, late...)
	}
	return strings.Join(problems[:min(len(problems), 20)], "\n  "), nil
}

// instances says where the cloud has other instances than one for each machine, or what belongs to none.
func (w *world) instances(ctx context.Context, machines []fleet.Machine) (problems []string, err error) {
	s, err := w.cloud.state(ctx)
	if err != nil {
		return nil, err
	}
	has := map[string]int{}
	for _, i := range s.Instances {
		if !gone(i.State) {
			has[i.Name]++
		}
	}
	for _, m := range machines {
		if has[m.Name] != 1 {
			problems = append(problems, fmt.Sprintf("machine %s has %d instances", m.Name, has[m.Name]))
		}
		delete(has, m.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		problems = append(problems, fmt.Sprintf("%d instances of %s, which is no machine", has[name], name))
	}
	for _, o := range s.Orphans {
		problems = append(problems, "left without an instance: "+o)
	}
	return problems, nil
}

// nodes says which nodes are no machine's. Nothing else removes them here.
func (w *world) nodes(ctx context.Context, machines []fleet.Machine) (problems []string, err error) {
	var all corev1.NodeList
	if err := w.f.Client.List(ctx, &all); err != nil {
		return nil, err
	}
	for _, n := range all.Items {
		if !slices.ContainsFunc(machines, func(m fleet.Machine) bool { return m.Node == n.Name }) {
			problems = append(problems, "node "+n.Name+" is no machine's")
		}
	}
	return problems, nil
}

// gone reports whether a cloud's word says that there is no instance any more.
func gone(state string) bool {
	switch strings.ToLower(state) {
	case "terminated", "deleted", "gone", "shutting-down":
		return true
	}
	return false
}

// report says what the troubles were, and what the cloud was asked for.
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
