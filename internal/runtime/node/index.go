package node

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/provider"
)

// The indexes that [Cluster] needs. That of pods by node is also a field selector of the API server.
const (
	// ProviderIDIndex has the common part of the provider IDs of an instance in all spellings
	// ([provider.Tail]).
	ProviderIDIndex = "millwright.instance"
	InternalIPIndex = "status.addresses.internalIP"
	PodNodeIndex    = "spec.nodeName"
	// MarkIndex has the marks of a node for its machine: "namespace/name" or only the name, depending on the
	// API.
	MarkIndex = "millwright.mark"
	// PodClaimIndex has the names of the persistent volume claims of a pod, which are in its namespace.
	PodClaimIndex = "millwright.claim"
	// The indexes of volume attachments, by node and by PersistentVolume.
	AttachmentNodeIndex   = "spec.nodeName"
	AttachmentVolumeIndex = "spec.source.persistentVolumeName"
)

// Index is one index of a cache.
type Index struct {
	Object  client.Object
	Name    string
	Extract client.IndexerFunc
}

// Indexes returns the indexes that the cache of [Cluster.Client] must have.
func Indexes() []Index {
	return []Index{
		{&corev1.Node{}, ProviderIDIndex, providerID},
		{&corev1.Node{}, InternalIPIndex, internalIPs},
		{&corev1.Pod{}, PodNodeIndex, podNode},
		{&corev1.Node{}, MarkIndex, marks},
		{&corev1.Pod{}, PodClaimIndex, podClaims},
		{&storagev1.VolumeAttachment{}, AttachmentNodeIndex, attachmentNode},
		{&storagev1.VolumeAttachment{}, AttachmentVolumeIndex, attachmentVolume},
	}
}

// NodeIndexes returns the indexes of nodes only, for processes that read nothing else: an index over a kind
// makes a cache watch the kind.
func NodeIndexes() []Index {
	return slices.DeleteFunc(Indexes(), func(i Index) bool {
		_, is := i.Object.(*corev1.Node)
		return !is
	})
}

// SetupIndexes adds the indexes to a cache. It fails if one exists already.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, i := range Indexes() {
		if err := indexer.IndexField(ctx, i.Object, i.Name, i.Extract); err != nil {
			return fmt.Errorf("adding index %s: %w", i.Name, err)
		}
	}
	return nil
}

func providerID(o client.Object) []string {
	if id := o.(*corev1.Node).Spec.ProviderID; id != "" {
		return []string{provider.Tail(id)}
	}
	return nil
}

func internalIPs(o client.Object) []string {
	var out []string
	for _, a := range o.(*corev1.Node).Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			out = append(out, a.Address)
		}
	}
	return out
}

func podNode(o client.Object) []string {
	if name := o.(*corev1.Pod).Spec.NodeName; name != "" {
		return []string{name}
	}
	return nil
}

func podClaims(o client.Object) (out []string) {
	for _, c := range drain.Claims(o.(*corev1.Pod)) {
		out = append(out, c.Name)
	}
	return out
}

func attachmentNode(o client.Object) []string {
	return []string{o.(*storagev1.VolumeAttachment).Spec.NodeName}
}

func attachmentVolume(o client.Object) []string {
	if pv := o.(*storagev1.VolumeAttachment).Spec.Source.PersistentVolumeName; pv != nil {
		return []string{*pv}
	}
	return nil // it is part of a pod
}

func marks(o client.Object) (out []string) {
	n := o.(*corev1.Node)
	if key := n.Annotations[MachineAnnotation]; key != "" {
		out = append(out, key)
	}
	if name := n.Labels[MachineNameLabel]; name != "" {
		out = append(out, name)
	}
	return out
}
