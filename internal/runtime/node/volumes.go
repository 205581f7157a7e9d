package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/drain"
)

// VolumeNamer is a provider that knows how nodes list its volumes: drains wait until a volume is no longer
// listed. It is asked about PersistentVolumes without that information.
type VolumeNamer interface {
	// VolumeIDs returns parts of the names under which status.volumesAttached of a node lists the volume;
	// none for a volume of another infrastructure.
	VolumeIDs(ctx context.Context, volume *corev1.PersistentVolumeSpec) ([]string, error)
}

// volumes adds to the facts the volumes that the node's pods claim, and those attached to it. The drain does
// not wait for a claim or a volume that does not exist.
func (c *Cluster) volumes(ctx context.Context, f *drain.Facts) error {
	var attachments storagev1.VolumeAttachmentList
	if err := c.Client.List(ctx, &attachments, client.MatchingFields{AttachmentNodeIndex: f.Node.Name}); err != nil {
		return fmt.Errorf("listing the volume attachments of node %s: %w", f.Node.Name, err)
	}
	f.Attachments = attachments.Items
	var names []string
	for i := range f.Attachments {
		names = append(names, attachmentVolume(&f.Attachments[i])...)
	}
	for i := range f.Pods {
		for _, claim := range drain.Claims(&f.Pods[i]) {
			var pvc corev1.PersistentVolumeClaim
			if err := client.IgnoreNotFound(c.Client.Get(ctx, claim, &pvc)); err != nil {
				return fmt.Errorf("reading the claim %s: %w", claim, err)
			}
			names = append(names, pvc.Spec.VolumeName)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		var pv corev1.PersistentVolume
		if name == "" {
			continue // not bound
		}
		if err := client.IgnoreNotFound(c.Client.Get(ctx, client.ObjectKey{Name: name}, &pv)); err != nil {
			return fmt.Errorf("reading the volume %s: %w", name, err)
		}
		if pv.Name != "" {
			f.Volumes = append(f.Volumes, describe(ctx, c.Volumes, &pv))
		}
	}
	return nil
}

// volumePatience is how long an infrastructure may take to return how nodes list a volume.
const volumePatience = 10 * time.Second

// describe describes a PersistentVolume. If the volume does not show how the node lists it, the
// infrastructure is asked; if that fails, only the volume's attachments are followed.
func describe(ctx context.Context, known VolumeNamer, pv *corev1.PersistentVolume) drain.Volume {
	v := drain.VolumeOf(pv)
	if known == nil || v.ID != "" || v.Local {
		return v
	}
	ctx, cancel := context.WithTimeout(ctx, volumePatience)
	defer cancel()
	if ids, err := known.VolumeIDs(ctx, pv.Spec.DeepCopy()); err == nil && len(ids) > 0 {
		v.Part = ids[0]
	}
	return v
}

// follow adds to the facts where the volumes that left the node are used and attached now.
func (c *Cluster) follow(ctx context.Context, f *drain.Facts, m drain.Memory) error {
	for _, p := range m.Passages {
		if p.Left.IsZero() || p.Inline || p.Shared {
			continue
		}
		var attachments storagev1.VolumeAttachmentList
		if err := c.Client.List(ctx, &attachments, client.MatchingFields{AttachmentVolumeIndex: p.Name}); err != nil {
			return fmt.Errorf("listing the attachments of volume %s: %w", p.Name, err)
		}
		f.Attachments = append(f.Attachments, slices.DeleteFunc(attachments.Items, func(a storagev1.VolumeAttachment) bool {
			return a.Spec.NodeName == f.Node.Name
		})...)
		var pods corev1.PodList
		if p.Claim.Name == "" {
			continue
		}
		if err := c.Client.List(ctx, &pods, client.InNamespace(p.Claim.Namespace), client.MatchingFields{PodClaimIndex: p.Claim.Name}); err != nil {
			return fmt.Errorf("listing the pods that use the claim %s: %w", p.Claim, err)
		}
		f.Claimants = append(f.Claimants, pods.Items...)
	}
	return nil
}

// detach deletes this attachment, by UID, which requests the detachment.
func (c *Cluster) detach(ctx context.Context, a drain.Attached) error {
	o := &storagev1.VolumeAttachment{}
	o.Name = a.Name
	if err := c.Client.Delete(ctx, o, client.Preconditions{UID: &a.UID}); err != nil {
		return fmt.Errorf("deleting the volume attachment %s: %w", a.Name, err)
	}
	return nil
}

// DrainsWaitingFor returns the nodes whose drains may be waiting for a change of the attachment: its own
// node, and the node from which the volume came.
func (c *Cluster) DrainsWaitingFor(a *storagev1.VolumeAttachment) []string {
	out := []string{a.Spec.NodeName}
	if c == nil {
		return out
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range attachmentVolume(a) {
		for _, m := range c.memory {
			if p, ok := m.Passages[name]; ok && !p.Left.IsZero() {
				out = append(out, m.node)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// AttachmentMoved reports whether a change of a volume attachment matters to drains: its volume was attached
// or detached, or the attachment was deleted.
func AttachmentMoved(before, after *storagev1.VolumeAttachment) bool {
	return before != nil && (after == nil || before.Status.Attached != after.Status.Attached)
}

// VolumesLeft reports whether a node shows one attached volume less.
func VolumesLeft(before, after *corev1.Node) bool {
	return before != nil && after != nil && slices.ContainsFunc(before.Status.VolumesAttached, func(v corev1.AttachedVolume) bool {
		return !slices.Contains(after.Status.VolumesAttached, v)
	})
}
