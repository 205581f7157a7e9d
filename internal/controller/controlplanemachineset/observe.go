package controlplanemachineset

import (
	"context"
	"fmt"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/failuredomain"
	"github.com/millwright-dev/millwright/internal/engine/controlplane"
)

// nodeRoles are the labels of nodes of a control plane.
var nodeRoles = []string{"node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"}

// sight is what one pass has observed.
type sight struct {
	machines []machinev1beta1.Machine
	// indexes and diffs are by the name of the machine.
	indexes map[string]int32
	diffs   map[string][]string
	facts   controlplane.Set
	// wanted is the provider spec of each index.
	wanted map[int32]failuredomain.Config
	// recheck is when the readiness of a machine changes without an event; 0: never.
	recheck time.Duration
}

// observe reads everything that a decision depends on. An unreadable object ends the pass.
func (r *Reconciler) observe(ctx context.Context, set *machinev1.ControlPlaneMachineSet) (*sight, error) {
	template := set.Spec.Template.OpenShiftMachineV1Beta1Machine
	if template == nil || set.Spec.Replicas == nil {
		return nil, fmt.Errorf("spec.template and spec.replicas are required")
	}
	s := &sight{diffs: map[string][]string{}, wanted: map[int32]failuredomain.Config{}}
	var err error
	if s.machines, err = r.selected(ctx, set); err != nil {
		return nil, err
	}
	in, err := r.infrastructure(ctx)
	if err != nil {
		return nil, err
	}
	fill, err := r.Defaults(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the defaults of machines: %w", err)
	}
	if err := s.place(*template, *set.Spec.Replicas, in); err != nil {
		return nil, err
	}
	s.facts = controlplane.Set{
		Replicas: *set.Spec.Replicas, Strategy: controlplane.Strategy(set.Spec.Strategy.Type),
		Active: set.Spec.State == machinev1.ControlPlaneMachineSetStateActive,
	}
	for i := range s.machines {
		m := &s.machines[i]
		fact, err := r.factsOf(ctx, set, s, m, in, fill)
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.Name, err)
		}
		s.facts.Machines = append(s.facts.Machines, fact)
	}
	s.facts.UnmanagedNodes, err = r.unmanaged(ctx, s.machines)
	return s, err
}

// selected lists the machines that the selector of the set matches, with any owner.
func (r *Reconciler) selected(ctx context.Context, set *machinev1.ControlPlaneMachineSet) ([]machinev1beta1.Machine, error) {
	selector, err := metav1.LabelSelectorAsSelector(&set.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("spec.selector: %w", err)
	}
	var list machinev1beta1.MachineList
	if err := r.Live.List(ctx, &list, client.InNamespace(set.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	return list.Items, nil
}

// place finds the index of each machine, and the provider spec of each index.
func (s *sight) place(template machinev1.OpenShiftMachineV1Beta1MachineTemplate, replicas int32, in *configv1.Infrastructure) error {
	config, err := failuredomain.OfTemplate(template, in)
	if err != nil {
		return fmt.Errorf("provider spec of the template: %w", err)
	}
	base, err := config.Domain()
	if err != nil {
		return fmt.Errorf("provider spec of the template: %w", err)
	}
	listed, err := failuredomain.List(template.FailureDomains)
	if err != nil {
		return fmt.Errorf("spec.template failure domains: %w", err)
	}
	domains, texts := map[string]failuredomain.Domain{}, []string(nil)
	for _, d := range listed {
		d = d.Completed(base)
		domains[d.String()], texts = d, append(texts, d.String())
	}
	var placed []controlplane.Placed
	for _, m := range s.machines {
		c, err := failuredomain.Of(m.Spec.ProviderSpec, in)
		if err != nil {
			return fmt.Errorf("machine %s: %w", m.Name, err)
		}
		d, err := c.Domain()
		if err != nil {
			return fmt.Errorf("machine %s: %w", m.Name, err)
		}
		placed = append(placed, controlplane.Placed{Name: m.Name, Domain: d.String(), Created: m.CreationTimestamp.Time, Deleting: m.DeletionTimestamp != nil})
	}
	spread := controlplane.Spread(replicas, texts, placed)
	s.indexes = controlplane.Assign(replicas, placed, spread)
	for _, p := range placed {
		if _, has := s.indexes[p.Name]; !has {
			return fmt.Errorf("could not determine Machine index from name or failure domain: machine %s is in %s", p.Name, p.Domain)
		}
	}
	return s.want(config, domains, spread, replicas)
}

// want sets the provider spec of each index.
func (s *sight) want(config failuredomain.Config, domains map[string]failuredomain.Domain, spread map[int32]string, replicas int32) (err error) {
	for index := range replicas {
		s.wanted[index] = config
	}
	for _, index := range s.indexes {
		s.wanted[index] = config
	}
	for index, text := range spread {
		if s.wanted[index], err = config.In(domains[text]); err != nil {
			return fmt.Errorf("provider spec of index %d: %w", index, err)
		}
	}
	return nil
}

func (r *Reconciler) factsOf(ctx context.Context, set *machinev1.ControlPlaneMachineSet, s *sight, m *machinev1beta1.Machine, in *configv1.Infrastructure, fill Filler) (controlplane.Machine, error) {
	owner := metav1.GetControllerOf(m)
	f := controlplane.Machine{
		Name: m.Name, Index: s.indexes[m.Name], Created: m.CreationTimestamp.Time, Deleting: m.DeletionTimestamp != nil,
		Foreign: owner != nil && !ours(set, *owner), Failure: ptr.Deref(m.Status.ErrorMessage, ""),
	}
	actual, err := failuredomain.Of(m.Spec.ProviderSpec, in)
	if err != nil {
		return f, err
	}
	template := set.Spec.Template.OpenShiftMachineV1Beta1Machine
	defaulted := func(c failuredomain.Config, labels map[string]string) failuredomain.Config {
		return c.Defaulted(func(raw []byte) ([]byte, error) { return fill(c.Platform, filled(m, labels, raw)) })
	}
	diff, err := defaulted(s.wanted[f.Index], template.ObjectMeta.Labels).Diff(defaulted(actual, m.Labels))
	if err != nil {
		return f, err
	}
	f.Outdated = len(diff) > 0
	s.diffs[m.Name] = diff
	node, err := r.node(ctx, m)
	if err != nil {
		return f, err
	}
	phase := controlplane.OtherPhase
	switch ptr.Deref(m.Status.Phase, "") {
	case machinev1beta1.PhaseRunning:
		phase = controlplane.Running
	case machinev1beta1.PhaseDeleting:
		phase = controlplane.Deleting
	}
	var recheck time.Duration
	if f.Ready, recheck = controlplane.Ready(r.Clock.Now(), phase, node); recheck > 0 && (s.recheck == 0 || recheck < s.recheck) {
		s.recheck = recheck
	}
	return f, nil
}

// filled returns a machine for the defaults of a provider spec.
func filled(m *machinev1beta1.Machine, labels map[string]string, raw []byte) *machinev1beta1.Machine {
	out := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, Labels: labels}}
	out.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: raw}
	return out
}

// ours reports whether an owner reference is to the set, by its name: after a restore, the set has another UID.
func ours(set *machinev1.ControlPlaneMachineSet, owner metav1.OwnerReference) bool {
	ref := reference(set)
	group, _, _ := cut(owner.APIVersion)
	own, _, _ := cut(ref.APIVersion)
	return group == own && owner.Kind == ref.Kind && owner.Name == ref.Name
}

// node reads the facts about the node of a machine. A node that does not exist is a machine without a node, in contrast to the replaced operator (K2).
func (r *Reconciler) node(ctx context.Context, m *machinev1beta1.Machine) (controlplane.Node, error) {
	if m.Status.NodeRef == nil {
		return controlplane.Node{}, nil
	}
	n := &corev1.Node{}
	if err := r.Nodes.Get(ctx, client.ObjectKey{Name: m.Status.NodeRef.Name}, n); err != nil {
		if apierrors.IsNotFound(err) {
			return controlplane.Node{}, nil
		}
		return controlplane.Node{}, fmt.Errorf("read its node: %w", err)
	}
	out := controlplane.Node{Found: true}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			out.Ready, out.Since = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
	}
	return out, nil
}

// unmanaged counts the nodes of the control plane that are the node of no selected machine.
func (r *Reconciler) unmanaged(ctx context.Context, machines []machinev1beta1.Machine) (int, error) {
	found := map[string]bool{}
	for _, label := range nodeRoles {
		var list corev1.NodeList
		if err := r.Nodes.List(ctx, &list, client.HasLabels{label}); err != nil {
			return 0, fmt.Errorf("list the nodes of the control plane: %w", err)
		}
		for _, n := range list.Items {
			found[n.Name] = true
		}
	}
	count := 0
	for name := range found {
		if !slices.ContainsFunc(machines, func(m machinev1beta1.Machine) bool { return m.Status.NodeRef != nil && m.Status.NodeRef.Name == name }) {
			count++
		}
	}
	return count, nil
}
