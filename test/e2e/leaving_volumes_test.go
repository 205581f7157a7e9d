package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// detachFinalizer blocks the deletion of an attachment until its driver has detached the volume, as external attachers do.
const detachFinalizer = "example.com/detach"

// storage simulates the part of a CSI driver in attaching volumes. kube-controller-manager creates and deletes the attachments.
type storage struct {
	*fleet.Fleet
	driver string
}

// find returns the attachment of a volume to a node, or nil.
func (s storage) find(ctx context.Context, volume, node string) (*storagev1.VolumeAttachment, error) {
	var list storagev1.VolumeAttachmentList
	if err := s.Client.List(ctx, &list); err != nil {
		return nil, err
	}
	for i := range list.Items {
		a := &list.Items[i]
		if a.Spec.Attacher == s.driver && a.Spec.NodeName == node && *a.Spec.Source.PersistentVolumeName == volume {
			return a, nil
		}
	}
	return nil, nil
}

// attach waits until the attachment is requested, and confirms it.
func (s storage) attach(t *testing.T, volume, node string) {
	t.Helper()
	var a *storagev1.VolumeAttachment
	eventually(t, volume+" is to be attached to "+node, func(ctx context.Context) (string, error) {
		var err error
		if a, err = s.find(ctx, volume, node); a == nil {
			return "it is not requested", err
		}
		return "", nil
	})
	merge(t, s.Fleet, a, `{"metadata":{"finalizers":[%q]}}`, detachFinalizer)
	a.Status.Attached = true
	if err := s.Client.Status().Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

// leaving waits until the detachment of a volume from the node is requested. It returns the first such volume and the others.
func (s storage) leaving(t *testing.T, node string, volumes ...string) (first string, others []string) {
	t.Helper()
	eventually(t, "a volume is to be detached from "+node, func(ctx context.Context) (string, error) {
		first, others = "", nil
		for _, v := range volumes {
			a, err := s.find(ctx, v, node)
			if err != nil || a == nil {
				return "attachment of " + v + " is not there", err
			}
			if first == "" && a.DeletionTimestamp != nil {
				first = v
			} else {
				others = append(others, v)
			}
		}
		if first == "" {
			return "it is not requested", nil
		}
		return "", nil
	})
	return first, others
}

// detach waits until the detachment is requested, and confirms it.
func (s storage) detach(t *testing.T, volume, node string) {
	t.Helper()
	s.leaving(t, node, volume)
	a, err := s.find(t.Context(), volume, node)
	if err != nil || a == nil {
		t.Fatalf("attachment of %s to %s: %v", volume, node, err)
	}
	merge(t, s.Fleet, a, `{"metadata":{"finalizers":null}}`)
}

// attached fails unless the volume is attached to the node, and its detachment is not requested.
func (s storage) attached(t *testing.T, volume, node string) {
	t.Helper()
	a, err := s.find(t.Context(), volume, node)
	if err != nil || a == nil || !a.Status.Attached || a.DeletionTimestamp != nil {
		t.Fatalf("attachment of %s to %s: %+v, %v", volume, node, a, err)
	}
}

// stateful creates two machines, and on the node of the first a StatefulSet of two pods, whose volumes are attached there.
func stateful(t *testing.T, f *fleet.Fleet, d dialect) (s storage, from, to string) {
	t.Helper()
	name := "db-" + d.name
	from, to = "from-"+d.name, "to-"+d.name
	s = storage{f, name + ".example.com"}
	s.host(t, d, from)
	pods := strings.NewReplacer("FROM", from, "TO", to).Replace(manifest(t, "leaving-volumes.yaml", name))
	kubectl(t, f, pods, "apply", "-f", "-")
	for n := range 2 {
		s.attach(t, fmt.Sprint(name, "-", n), from)
	}
	s.host(t, d, to)
	return s, from, to
}

// host creates a machine to whose node kube-controller-manager attaches volumes. A hollow kubelet does not request this itself.
func (s storage) host(t *testing.T, d dialect, name string) {
	t.Helper()
	d.machine(t, s.Fleet, name)
	n := &corev1.Node{}
	n.Name = name
	merge(t, s.Fleet, n, `{"metadata":{"annotations":{"volumes.kubernetes.io/controller-managed-attach-detach":"true"}}}`)
}

// T12 of the Gardener notes with a real StatefulSet, scheduler and attach-detach controller. The pods are evicted one after the
// other. Each volume is detached, and attached to the node of the new pod, before the next pod is evicted. The instance is not
// terminated while a volume is attached to it.
func TestVolumesLeaveBeforeTheirMachine(t *testing.T) {
	t.Parallel()
	f, d := hollow(t), dialects[1]
	s, from, to := stateful(t, f, d)
	before := d.instance(t, f, from)
	d.remove(t, f, from)

	first, others := s.leaving(t, from, "db-gardener-0", "db-gardener-1")
	second := others[0]
	d.says(t, f, from, "volume "+first+" of default/"+first+" is being detached", "default/"+second+" (others leave before it)")
	unmoved(t, f, second)
	s.detach(t, first, from)
	d.says(t, f, from, "volume "+first+" of default/"+first+" is detached and not attached elsewhere yet", "default/"+second+" (others leave before it)")
	unmoved(t, f, second)
	s.attached(t, second, from)
	s.attach(t, first, to)

	s.leaving(t, from, second)
	d.says(t, f, from, "volume "+second+" of default/"+second+" is being detached")
	if after := d.instance(t, f, from); after.ID != before.ID {
		t.Errorf("instance %s became %s", before.ID, after.ID)
	}
	s.detach(t, second, from)
	d.gone(t, f, from)
	s.attach(t, second, to)
	s.attached(t, first, to)
}

// The other API works like kubectl drain: all pods are evicted together, and the drain does not wait for their volumes. The
// volumes are nevertheless attached to the new nodes.
func TestVolumesAreNotWaitedForInOpenShift(t *testing.T) {
	t.Parallel()
	f, d := hollow(t), dialects[0]
	s, from, to := stateful(t, f, d)
	d.remove(t, f, from)
	d.gone(t, f, from)
	for _, v := range []string{"db-openshift-0", "db-openshift-1"} {
		s.leaving(t, from, v) // the driver has not yet confirmed the detachment
		s.detach(t, v, from)
		s.attach(t, v, to)
	}
}
