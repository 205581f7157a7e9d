package controlplanemachineset

import (
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/dialect/failuredomain"
)

// fewestMachines is how many machines of a control plane must exist before a set is generated for them.
const fewestMachines = 2

// Generator maintains an inactive set that describes the existing machines, so that a user only has to activate it. It does not change an active set.
type Generator struct{ Options }

// NewGenerator returns a generator.
func NewGenerator(o Options) *Generator { return &Generator{Options: o.complete()} }

// Reconcile makes one pass.
func (g *Generator) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	err := g.pass(ctx, req.NamespacedName)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	}
	return reconcile.Result{}, err
}

func (g *Generator) pass(ctx context.Context, key client.ObjectKey) error {
	set := &machinev1.ControlPlaneMachineSet{}
	err := g.Live.Get(ctx, key, set)
	exists := err == nil
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("read the control plane machine set: %w", err)
	case exists && (set.DeletionTimestamp != nil || set.Spec.State == machinev1.ControlPlaneMachineSetStateActive):
		return nil
	}
	machines, err := g.machines(ctx)
	if err != nil || len(machines) < fewestMachines {
		return err
	}
	in, err := g.infrastructure(ctx)
	if err != nil {
		return err
	}
	platform := platformOf(in, machines)
	if !failuredomain.Supported(platform) {
		log.FromContext(ctx).V(1).Info("No control plane machine set is generated for this platform", "platform", platform)
		return nil
	}
	spec, err := failuredomain.Generate(platform, machines, in)
	if err != nil {
		return fmt.Errorf("unable to generate control plane machine set: %w", err)
	}
	if !exists {
		set = &machinev1.ControlPlaneMachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Spec: spec}
		if err := g.Client.Create(ctx, set); err != nil {
			return fmt.Errorf("unable to create control plane machine set: %w", err)
		}
		return nil
	}
	return g.update(ctx, set, spec)
}

// platformOf returns the platform of the cluster: that of the Infrastructure, or of a machine's provider spec if the cluster has no Infrastructure.
func platformOf(in *configv1.Infrastructure, machines []machinev1beta1.Machine) configv1.PlatformType {
	if in != nil {
		if in.Status.PlatformStatus == nil {
			return ""
		}
		return in.Status.PlatformStatus.Type
	}
	c, err := failuredomain.Of(machines[0].Spec.ProviderSpec, nil)
	if err != nil {
		return ""
	}
	return c.Platform
}

// machines lists the machines of the control plane, by their role.
func (g *Generator) machines(ctx context.Context) (out []machinev1beta1.Machine, err error) {
	for _, role := range []string{failuredomain.Master, controlPlane} {
		var list machinev1beta1.MachineList
		if err := g.Live.List(ctx, &list, client.InNamespace(g.Namespace), client.MatchingLabels{failuredomain.RoleLabel: role}); err != nil {
			return nil, fmt.Errorf("list control plane machines: %w", err)
		}
		out = append(out, list.Items...)
	}
	return out, nil
}

// update brings an inactive set up to date. It writes the spec in place, in contrast to the replaced operator, which deletes the set and creates it again (K14). Only if an
// immutable field differs, the set is deleted; the next pass creates it.
func (g *Generator) update(ctx context.Context, set *machinev1.ControlPlaneMachineSet, spec machinev1.ControlPlaneMachineSetSpec) error {
	same, err := alike(set.Spec, spec)
	if err != nil || same {
		return err
	}
	if ptr.Deref(set.Spec.Replicas, 0) != ptr.Deref(spec.Replicas, 0) || !equality.Semantic.DeepEqual(set.Spec.Selector, spec.Selector) {
		if err := g.Client.Delete(ctx, set, client.Preconditions{UID: ptr.To(set.UID), ResourceVersion: ptr.To(set.ResourceVersion)}); err != nil {
			return client.IgnoreNotFound(fmt.Errorf("unable to delete outdated control plane machine set: %w", err))
		}
		return nil
	}
	before := set.DeepCopy()
	set.Spec = spec
	if err := g.Client.Patch(ctx, set, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("unable to update control plane machine set: %w", err)
	}
	return nil
}

// alike compares two specs as machines are compared: fields that replace no machine do not count in a provider spec.
func alike(a, b machinev1.ControlPlaneMachineSetSpec) (bool, error) {
	x, y := a.DeepCopy(), b.DeepCopy()
	if x.Template.OpenShiftMachineV1Beta1Machine == nil || x.Template.OpenShiftMachineV1Beta1Machine.Spec.ProviderSpec.Value == nil {
		return false, nil
	}
	configs := make([]failuredomain.Config, 2)
	for i, s := range []*machinev1.ControlPlaneMachineSetSpec{x, y} {
		m := &s.Template.OpenShiftMachineV1Beta1Machine.Spec
		var err error
		if configs[i], err = failuredomain.Of(m.ProviderSpec, nil); err != nil {
			return false, nil //nolint:nilerr // an unreadable provider spec is replaced
		}
		m.ProviderSpec.Value, m.AuthoritativeAPI = nil, ""
	}
	if configs[0].Platform != configs[1].Platform || !equality.Semantic.DeepEqual(x, y) {
		return false, nil
	}
	diff, err := configs[0].Diff(configs[1])
	return len(diff) == 0, err
}
