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

// Delete implements [provider.Session]: it deprovisions hosts, then deletes their secrets, and finally
// removes consumerRef.
func (s *session) Delete(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return false, err
	}
	done, err := deleter{call{s, c}, ref, given}.delete(ctx)
	if err != nil {
		return false, fmt.Errorf("release the hosts of %s: %w", ref.Name, s.observe(err))
	}
	return done, nil
}

// deleter releases the hosts of one machine.
type deleter struct {
	call
	ref   provider.Ref
	given []provider.Instance
}

func (d deleter) delete(ctx context.Context) (done bool, err error) {
	all, err := d.hosts(ctx)
	if err != nil {
		return false, err
	}
	left := 0
	for _, at := range slices.Sorted(maps.Keys(all)) {
		is, err := d.release(ctx, all[at])
		if err != nil {
			return false, err
		}
		if is {
			left++
		}
	}
	if left > 0 || d.ref.UID == "" {
		return left == 0, nil
	}
	return true, d.deleteSecret(ctx, d.of(d.ref), d.ref)
}

// hosts returns the hosts to release: those with ref's UID, and the given ones that still belong to the same
// machine.
func (d deleter) hosts(ctx context.Context) (map[string]*host, error) {
	all := map[string]*host{}
	if d.ref.UID != "" {
		found, err := d.withUID(ctx, d.ref)
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			all[id(h)] = h
		}
	}
	for _, i := range d.given {
		namespace, name, ok := strings.Cut(i.ID, "/")
		if _, listed := all[i.ID]; listed || !ok {
			continue
		}
		h, err := hosts.Get(ctx, d.client, namespace, name)
		if err != nil {
			return nil, err
		}
		if h != nil && providerID(h) == i.ProviderID && d.owns(h) && marksOn(h).UID == i.UID {
			all[id(h)] = h
		}
	}
	return all, nil
}

// release performs the next step of a host's release, and reports whether steps remain.
func (d deleter) release(ctx context.Context, h *host) (left bool, err error) {
	withdrawn := !deploys(h) && h.Spec.UserData == nil && h.Spec.Online == h.Spec.DisablePowerOff
	switch {
	case !withdrawn:
		err = d.patch(ctx, h, map[string]any{}, map[string]any{
			"image": nil, "customDeploy": nil, userDataKey: nil, "online": h.Spec.DisablePowerOff,
		})
		return true, err
	case occupied(h):
		if why := untouched(h); why != "" {
			return true, provider.Errorf(provider.Conflict, "host %s %s: the baremetal-operator does not deprovision it until a user removes that", h.Name, why)
		}
		return true, nil
	}
	o := marksOn(h)
	if err := d.deleteSecret(ctx, h.Namespace, provider.Ref{UID: o.UID, Name: o.Name}); err != nil {
		return true, err
	}
	labels, annotations := unmarked(h)
	metadata := map[string]any{"labels": labels, "annotations": annotations}
	if slices.Contains(h.Finalizers, originalFinalizer) {
		metadata["finalizers"] = slices.DeleteFunc(slices.Clone(h.Finalizers), func(f string) bool { return f == originalFinalizer })
	}
	return false, d.patch(ctx, h, metadata, map[string]any{"consumerRef": nil})
}

// occupied reports whether a deployment is still on a host, or runs there.
func occupied(h *host) bool {
	switch h.Status.Provisioning.State {
	case metal3.StateProvisioning, metal3.StateProvisioned, metal3.StateDeprovisioning:
		return true
	case metal3.StateExternallyProvisioned: // only its power is under our control
		return h.Status.PoweredOn && !h.Spec.DisablePowerOff
	}
	return false
}

// patch changes a host if it is unchanged since it was read. A deleted host needs no change.
func (c call) patch(ctx context.Context, h *host, metadata, to map[string]any) error {
	metadata["resourceVersion"] = h.ResourceVersion
	_, err := hosts.Patch(ctx, c.client, h.Namespace, h.Name, map[string]any{"metadata": metadata, "spec": to})
	if err != nil && !kubeapi.IsGone(err) {
		return fmt.Errorf("write host %s: %w", h.Name, err)
	}
	return nil
}

// deleteSecret deletes the secret of a machine.
func (c call) deleteSecret(ctx context.Context, namespace string, ref provider.Ref) error {
	if ref.UID == "" {
		return nil
	}
	s, err := kubeapi.Secrets.Get(ctx, c.client, namespace, c.secretName(ref))
	if err != nil || s == nil || s.Labels[kubeapi.LabelUID] != ref.UID || !c.marked(s.ObjectMeta) {
		return err
	}
	return kubeapi.Secrets.Remove(ctx, c.client, namespace, s.Name, s.UID)
}
