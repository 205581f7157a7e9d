package main

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// trouble causes faults for a while, one after the other. Each owner has about as many machines as size says.
func (w *world) trouble(ctx context.Context, size int, during time.Duration) {
	for began := time.Now(); time.Since(began) < during && ctx.Err() == nil; {
		name, err := w.one(ctx, size)
		if err != nil {
			say("%s: %v", name, err) // the API server is busy, or the verb no longer applies to the instance
		}
		w.counts[name]++
		for _, line := range w.f.Revive(time.Now()) {
			say("%s", line)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(2+w.rand.IntN(8)) * time.Second):
		}
	}
}

// one causes one fault.
func (w *world) one(ctx context.Context, size int) (name string, err error) {
	switch w.rand.IntN(8) {
	case 0, 1:
		return w.fault(ctx)
	case 2, 3:
		return w.verb(ctx)
	case 4:
		return "scale", w.scale(ctx, size*(80+w.rand.IntN(41))/100)
	case 5:
		return "delete machines", w.deleteSome(ctx, 1+w.rand.IntN(5))
	case 6:
		return "roll", w.patch(ctx, owners[1], fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"soak/roll":"%d"}}}}}`, w.rand.Uint32()))
	}
	return "kill a controller", w.kill(ctx)
}

// fault injects failures for a number of requests, or ends the remaining failures.
func (w *world) fault(ctx context.Context) (name string, err error) {
	faults := map[string]fault{
		"transient errors":   {Kind: "Transient", Share: 0.3, Times: 50},
		"throttling":         {Kind: "Throttled", Times: 30},
		"conflicts":          {Kind: "Conflict", Share: 0.3, Times: 20},
		"denied":             {Kind: "Denied", Times: 10},
		"lost replies":       {Kind: "Transient", Done: true, Share: 0.5, Times: 20},
		"pages of a proxy":   {Kind: "Garbage", Times: 10},
		"capacity is short":  {Kind: "Exhausted", Scope: "type", Share: 0.5, Times: 10},
		"slow answers":       {Delay: int64(3 * time.Second), Share: 0.3, Times: 50},
		"the cloud is quiet": {},
	}
	names := []string{"transient errors", "throttling", "conflicts", "denied", "lost replies", "pages of a proxy", "capacity is short", "slow answers", "the cloud is quiet"}
	name = names[w.rand.IntN(len(names))]
	f := faults[name]
	if f.Kind == "Exhausted" {
		f.Operation = creates[w.provider]
	}
	if name == "the cloud is quiet" {
		return name, w.cloud.heal(ctx)
	}
	return name, w.cloud.inject(ctx, f)
}

// creates are the operations that create an instance. A host of Metal3 already exists, so a quota blocks its secret.
var creates = map[string]string{
	"alicloud": "RunInstances", "aws": "RunInstances", "azure": "PUT virtualMachines", "gcp": "instances.insert", "ibmcloud": "create_instance", "kubevirt": "virtualmachines.create",
	"metal3": "secrets.create", "openstack": "nova.POST.servers", "vsphere": "CloneVM_Task",
	"nutanix": "POST vms", "yandex": "Instance.Create",
}

// harmless are verbs after which the controllers replace the machines themselves.
var harmless = map[string]bool{"interrupt": true, "terminate": true, "fail": true}

// instanceLike are the words for the target of a verb on one instance.
var instanceLike = regexp.MustCompile(`instance|server|machine|VM|host`)

// verb calls a verb of the simulated cloud.
func (w *world) verb(ctx context.Context) (name string, err error) {
	s, err := w.cloud.state(ctx)
	if err != nil || len(s.Instances) == 0 {
		return "look at the cloud", err
	}
	var verbs []string
	for _, v := range s.Verbs {
		if harmless[v.Name] && instanceLike.MatchString(v.On) {
			verbs = append(verbs, v.Name)
		}
	}
	if len(verbs) == 0 {
		return "nothing can happen to instances", nil
	}
	name = verbs[w.rand.IntN(len(verbs))]
	for range 10 { // some verbs are only for spot instances, others only for starting instances
		if err = w.cloud.do(ctx, name, s.Instances[w.rand.IntN(len(s.Instances))].ID); err == nil {
			break
		}
	}
	return name, err
}

// deleteSome deletes machines, as a user would.
func (w *world) deleteSome(ctx context.Context, n int) error {
	for _, kind := range machineKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := w.f.Client.List(ctx, list); err != nil {
			return err
		}
		for range min(n, len(list.Items)) {
			if err := w.f.Client.Delete(ctx, &list.Items[w.rand.IntN(len(list.Items))]); err != nil {
				return err
			}
		}
	}
	return nil
}

// kill kills a controller, and starts it again.
func (w *world) kill(ctx context.Context) error {
	c := w.f.Controllers[w.rand.IntN(len(w.f.Controllers))]
	if err := w.f.KillController(ctx, c); err != nil {
		return err
	}
	_, err := w.f.StartController(c.Program)
	return err
}

// heal ends all faults, and restores the size of the fleet.
func (w *world) heal(ctx context.Context, size int) error {
	if err := w.cloud.heal(ctx); err != nil {
		return err
	}
	return w.scale(ctx, size)
}
