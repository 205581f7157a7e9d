package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/provider"
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
	// Why is what the object says about itself when it is not running.
	Why     string    `json:"-"`
	Created time.Time `json:"-"`
	Deleted bool      `json:"-"`
	UID     string    `json:"-"`
}

// Ready reports whether the machine is Running with a Ready node.
func (m Machine) Ready() bool {
	return m.Phase == "Running" && m.NodeReady == corev1.ConditionTrue && !m.Deleted
}

// Census lists the machines of both APIs in all namespaces, sorted.
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
	var openshift machinev1.MachineList
	if err := f.Client.List(ctx, &openshift); err != nil {
		return nil, fmt.Errorf("list machines of %s: %w", provider.OpenShift, err)
	}
	for i := range openshift.Items {
		out = append(out, openshiftMachine(&openshift.Items[i]))
	}
	var gardener v1alpha1.MachineList
	if err := f.Client.List(ctx, &gardener); err != nil {
		return nil, fmt.Errorf("list machines of %s: %w", provider.Gardener, err)
	}
	for i := range gardener.Items {
		out = append(out, gardenerMachine(&gardener.Items[i]))
	}
	return out, nil
}

func openshiftMachine(m *machinev1.Machine) Machine {
	out := common(m, provider.OpenShift)
	out.Phase = ptr.Deref(m.Status.Phase, "")
	if m.Status.NodeRef != nil {
		out.Node = m.Status.NodeRef.Name
	}
	out.Why = ptr.Deref(m.Status.ErrorMessage, "")
	for _, c := range m.Status.Conditions {
		if c.Status != corev1.ConditionTrue && out.Why == "" {
			out.Why = c.Message
		}
	}
	return out
}

func gardenerMachine(m *v1alpha1.Machine) Machine {
	out := common(m, provider.Gardener)
	out.Phase = string(m.Status.CurrentStatus.Phase)
	out.Node = m.Labels[v1alpha1.LabelKeyNode]
	out.Why = m.Status.LastOperation.Description
	return out
}

func common(m client.Object, api string) Machine {
	return Machine{
		API: api, Namespace: m.GetNamespace(), Name: m.GetName(), UID: string(m.GetUID()),
		Created: m.GetCreationTimestamp().Time, Deleted: m.GetDeletionTimestamp() != nil,
	}
}
