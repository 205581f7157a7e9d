package machineset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// tellCreated reports the created machines, and earlier ones that are not reported yet.
func (h executor[S]) tellCreated(made []client.Object) {
	reason := h.lens.Traits().Events.Created
	if reason == "" {
		return
	}
	named, more, again := h.memory.created.Take(h.Clock.Now(), len(made))
	h.again(again)
	for _, m := range made[:named] {
		h.Recorder.Eventf(h.object, m, corev1.EventTypeNormal, reason, "Create", "Created Machine: %s", m.GetName())
	}
	if more > 0 {
		h.Recorder.Eventf(h.object, nil, corev1.EventTypeNormal, reason, "Create", "Created %d more machines", more)
	}
}

// tellDeleted reports the deleted machines and why they were deleted, and earlier ones that are not reported yet.
func (h executor[S]) tellDeleted(deleted []replicas.Victim) {
	reason := h.lens.Traits().Events.Deleted
	if reason == "" {
		return
	}
	named, more, again := h.memory.deleted.Take(h.Clock.Now(), len(deleted))
	h.again(again)
	for _, v := range deleted[:named] {
		m := h.lens.Traits().Machine()
		m.SetNamespace(h.set.Namespace)
		m.SetName(v.Name)
		m.SetUID(v.UID)
		h.Recorder.Eventf(h.object, m, corev1.EventTypeNormal, reason, "Delete", "Deleted machine: %s (%s)", v.Name, v.Reason)
	}
	if more > 0 {
		h.Recorder.Eventf(h.object, nil, corev1.EventTypeNormal, reason, "Delete", "Deleted %d more machines", more)
	}
}

func (h executor[S]) tellFailure(f *dialect.SetFailure) {
	t := h.lens.Traits().Events
	reason, action := t.FailedDelete, "Delete"
	if f.Creating {
		reason, action = t.FailedCreate, "Create"
	}
	note := fmt.Sprintf("%s: %v", t.Failure, f.Err)
	h.Recorder.Eventf(h.object, nil, corev1.EventTypeWarning, reason, t.Action(action), "%s", dialect.Note(note))
}
