package survey

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/drain"
)

// kindIndex is the field by which an API server selects events about machines.
const kindIndex = "involvedObject.kind"

// removals reads from events how long deletions took. After a deletion, the API server keeps events about the machine
// for an hour by default.
func (r *Read) removals(ctx context.Context, c client.Reader, api, namespace string) {
	var list corev1.EventList
	if err := c.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{kindIndex: "Machine"}); err != nil {
		r.unknown("events", err, "how long deletions took is not known")
		return
	}
	if r.removed == nil {
		r.removed = map[string][]time.Duration{}
	}
	r.removed[api] = append(r.removed[api], took(api, list.Items)...)
}

// took returns the durations of the deletions whose beginning and end have events.
func took(api string, events []corev1.Event) (out []time.Duration) {
	of, _ := apis.Of(api)
	begun, ended := map[types.UID]time.Time{}, map[types.UID]time.Time{}
	for i := range events {
		e := &events[i]
		machine, at := e.InvolvedObject.UID, first(e)
		switch {
		case e.InvolvedObject.GroupVersionKind().Group != api:
		case slices.Contains(of.Removal.Begins, e.Reason):
			if was := begun[machine]; was.IsZero() || at.Before(was) {
				begun[machine] = at
			}
		case e.Reason == of.Removal.Ends:
			ended[machine] = at
		}
	}
	for machine, at := range ended {
		if since := begun[machine]; !since.IsZero() && !at.Before(since) {
			out = append(out, at.Sub(since))
		}
	}
	return out
}

// first returns the time of the first occurrence of an event, in both APIs for events.
func first(e *corev1.Event) time.Time {
	return cmp.Or(e.EventTime.Time, e.FirstTimestamp.Time, e.CreationTimestamp.Time)
}

// volumes reads volumes and their attachments to nodes, if the drain of a machine waits for volumes.
func (r *Read) volumes(ctx context.Context, c client.Reader) {
	if r.NodesUnread != "" || !r.waitsForVolumes() {
		return
	}
	var attachments storagev1.VolumeAttachmentList
	var volumes corev1.PersistentVolumeList
	for _, list := range []client.ObjectList{&attachments, &volumes} {
		if err := c.List(ctx, list); err != nil {
			r.VolumesUnread = "volumes were not read"
			r.unknown("volumes", err, "whether drains wait for some is not known")
			return
		}
	}
	r.Attachments = attachments.Items
	for i := range volumes.Items {
		r.Volumes = append(r.Volumes, drain.VolumeOf(&volumes.Items[i]))
	}
}

// waitsForVolumes reports whether the drain of any machine waits for volumes.
func (r *Read) waitsForVolumes() bool {
	return slices.ContainsFunc(r.Objects, func(o client.Object) bool {
		api, kind := apis.KindOf(o)
		of, _ := apis.Of(api)
		return kind == "Machine" && of.Machines.Policy(o).Drain.Policy.VolumesOneByOne
	})
}
