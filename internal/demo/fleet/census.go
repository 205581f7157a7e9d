package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
)

// Machine is one machine of the fleet, as a user sees it.
type Machine struct {
	API       string  `json:"api"`
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Node      string  `json:"node"`
	Phase     string  `json:"phase"`
	Seconds   float64 `json:"seconds"`

	// NodeReady is the status of the node's Ready condition; empty without a
	// node.
	NodeReady corev1.ConditionStatus `json:"-"`
	// Why is the object's own message if the machine is not running.
	Why     string    `json:"-"`
	Created time.Time `json:"-"`
	Deleted bool      `json:"-"`
	UID     string    `json:"-"`
}

// Ready reports whether the machine is Running with a Ready node.
func (m Machine) Ready() bool {
	return m.Phase == "Running" && m.NodeReady == corev1.ConditionTrue && !m.Deleted
}

// Census lists the machines of all APIs in all namespaces, sorted.
func (f *Fleet) Census(ctx context.Context) ([]Machine, error) {
	var nodes corev1.NodeList
	if err := f.Client.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	byName := map[string]*corev1.Node{}
	for i := range nodes.Items {
		byName[nodes.Items[i].Name] = &nodes.Items[i]
	}
	all, err := f.machines(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if n := byName[all[i].Node]; n != nil {
			all[i].NodeReady = ready(n)
		}
	}
	slices.SortFunc(all, func(a, b Machine) int {
		return cmp.Or(cmp.Compare(a.API, b.API), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

func ready(n *corev1.Node) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}

func (f *Fleet) machines(ctx context.Context) (out []Machine, err error) {
	for _, api := range apis.All {
		list := api.Kinds[0].List()
		if err := f.Client.List(ctx, list); err != nil {
			return nil, fmt.Errorf("list machines of %s: %w", api.Name, err)
		}
		for m := range dialect.Items[client.Object](list) {
			out = append(out, machineOf(api, m))
		}
	}
	return out, nil
}

func machineOf(api apis.API, m client.Object) Machine {
	said := apis.Said(m)
	out := Machine{
		API: api.Name, Namespace: m.GetNamespace(), Name: m.GetName(), UID: string(m.GetUID()), Node: api.Machines.View(m).Recorded.NodeName,
		Phase: said.Phase, Created: m.GetCreationTimestamp().Time, Deleted: m.GetDeletionTimestamp() != nil,
	}
	for _, s := range said.Statements {
		if s.Status != string(metav1.ConditionTrue) && out.Why == "" {
			out.Why = s.Message
		}
	}
	return out
}
