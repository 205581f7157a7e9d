package cloud

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

// Delete implements [provider.Session]: hosts are deprovisioned, then their secrets go, and at last nobody has them any more.
func (s *session) Delete(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return false, err
	}
	done, err := giver{errand{s, c}, ref, given}.give(ctx)
	if err != nil {
		return false, fmt.Errorf("give back the hosts of %s: %w", ref.Name, s.observe(err))
	}
	return done, nil
}

// giver gives back what one machine has.
type giver struct {
	errand
	ref   provider.Ref
	given []provider.Instance
}

func (g giver) give(ctx context.Context) (done bool, err error) {
	all, err := g.all(ctx)
	if err != nil {
		return false, err
	}
	left := 0
	for _, at := range slices.Sorted(maps.Keys(all)) {
		is, err := g.release(ctx, all[at])
		if err != nil {
			return false, err
		}
		if is {
			left++
		}
	}
	if left > 0 || g.ref.UID == "" {
		return left == 0, nil
	}
	return true, g.forget(ctx, g.of(g.ref), g.ref)
}

// all are the hosts to be given back: those that carry ref's UID, and those that are given, if they are still what they were.
func (g giver) all(ctx context.Context) (map[string]*host, error) {
	all := map[string]*host{}
	if g.ref.UID != "" {
		found, err := g.ofUID(ctx, g.ref)
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			all[id(h)] = h
		}
	}
	for _, i := range g.given {
		namespace, name, ok := strings.Cut(i.ID, "/")
		if _, listed := all[i.ID]; listed || !ok {
			continue
		}
		h, err := hosts.Get(ctx, g.c, namespace, name)
		if err != nil {
			return nil, err
		}
		if h != nil && providerID(h) == i.ProviderID && g.owns(h) && marksOn(h).UID == i.UID {
			all[id(h)] = h
		}
	}
	return all, nil
}

// release takes a host one step further, and reports whether anything of that is left.
func (g giver) release(ctx context.Context, h *host) (left bool, err error) {
	withdrawn := !deploys(h) && h.Spec.UserData == nil && h.Spec.Online == h.Spec.DisablePowerOff
	switch {
	case !withdrawn:
		err = g.write(ctx, h, map[string]any{}, map[string]any{
			"image": nil, "customDeploy": nil, userDataKey: nil, "online": h.Spec.DisablePowerOff,
		})
		return true, err
	case occupied(h):
		if why := untouched(h); why != "" {
			return true, provider.Errorf(provider.Conflict, "host %s %s: it is not deprovisioned until somebody takes that away", h.Name, why)
		}
		return true, nil
	}
	o := marksOn(h)
	if err := g.forget(ctx, h.Namespace, provider.Ref{UID: o.UID, Name: o.Name}); err != nil {
		return true, err
	}
	labels, annotations := unmarked(h)
	metadata := map[string]any{"labels": labels, "annotations": annotations}
	if slices.Contains(h.Finalizers, originalFinalizer) {
		metadata["finalizers"] = slices.DeleteFunc(slices.Clone(h.Finalizers), func(f string) bool { return f == originalFinalizer })
	}
	return false, g.write(ctx, h, metadata, map[string]any{"consumerRef": nil})
}

// occupied reports whether something that a machine has left is still on a host, or runs there.
func occupied(h *host) bool {
	switch h.Status.Provisioning.State {
	case metal3.StateProvisioning, metal3.StateProvisioned, metal3.StateDeprovisioning:
		return true
	case metal3.StateExternallyProvisioned: // nothing but its power is ours to decide
		return h.Status.PoweredOn && !h.Spec.DisablePowerOff
	}
	return false
}

// write changes a host that is as it was read. One that is gone needs no change.
func (e errand) write(ctx context.Context, h *host, metadata, to map[string]any) error {
	metadata["resourceVersion"] = h.ResourceVersion
	_, err := hosts.Patch(ctx, e.c, h.Namespace, h.Name, map[string]any{"metadata": metadata, "spec": to})
	if err != nil && !kubeapi.IsGone(err) {
		return fmt.Errorf("write host %s: %w", h.Name, err)
	}
	return nil
}

// forget removes the secret of a machine.
func (e errand) forget(ctx context.Context, namespace string, ref provider.Ref) error {
	if ref.UID == "" {
		return nil
	}
	s, err := kubeapi.Secrets.Get(ctx, e.c, namespace, e.secretName(ref))
	if err != nil || s == nil || s.Labels[kubeapi.LabelUID] != ref.UID || !e.marked(s.ObjectMeta) {
		return err
	}
	return kubeapi.Secrets.Remove(ctx, e.c, namespace, s.Name, s.UID)
}
