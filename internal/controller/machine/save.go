package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// object is the object of the pass's machine: results are recorded there, and stored.
type object[M client.Object] struct{ passFacts[M] }

// record stores the result of the pass.
func (o object[M]) record(ctx context.Context, out lifecycle.Outcome) error {
	before := o.m.DeepCopyObject().(M)
	if out.Step != lifecycle.AddFinalizer && out.Step != lifecycle.RecordRequest { // the marks of the node are recorded later, with the provider ID
		o.recordOwned()
	}
	o.Dialect.Record(o.m, out)
	return o.save(ctx, before)
}

// save writes the difference from before: first everything but status, then the status, each only if
// something changed. Both carry the resource version, so that a list that is written as a whole
// (finalizers, conditions) never undoes another client's write. Afterwards o.m is the object in its new
// state.
func (o object[M]) save(ctx context.Context, before M) error {
	body, status, err := diff(before, o.m)
	if err != nil {
		return err
	}
	stored := before
	if body != nil {
		stored = o.answerTo(before)
		if err := o.own.Patch(ctx, stored, locked(body, before.GetResourceVersion())); err != nil {
			return o.unsaved(fmt.Errorf("save machine: %w", err))
		}
	}
	if status != nil && !gone(stored) {
		patch := locked(status, stored.GetResourceVersion())
		stored = o.answerTo(stored)
		if err := o.own.Status().Patch(ctx, stored, patch); err != nil {
			return o.unsaved(fmt.Errorf("save machine status: %w", err))
		}
	}
	o.mem.reported.refusal = lifecycle.Retry{}
	o.m.SetResourceVersion(stored.GetResourceVersion())
	return nil
}

// answerTo is the object into which the answer to a write of m is decoded. It is empty except for the
// identity of m: a decoder leaves fields that the answer does not mention as they are, and the answer is
// what the pass reads from now on.
func (o object[M]) answerTo(m M) M {
	answer := o.Dialect.New()
	answer.SetNamespace(m.GetNamespace())
	answer.SetName(m.GetName())
	answer.SetUID(m.GetUID())
	answer.SetResourceVersion(m.GetResourceVersion())
	return answer
}

// unsaved reports that a webhook or a missing permission refuses writes to the machine: the machine itself
// cannot say so.
func (o object[M]) unsaved(err error) error {
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		return err
	}
	refusal := lifecycle.Retry{Err: err}
	if was := o.mem.reported.refusal; was.Err != nil && was.Err.Error() == err.Error() {
		refusal.Told = was.Told
	}
	if now := o.Clock.Now(); refusal.News(now) {
		refusal.Told = now
		o.Recorder.Eventf(o.found, nil, corev1.EventTypeWarning, "FailedUpdate", "Save", "%s", dialect.Note(err.Error()))
	}
	o.mem.reported.refusal = refusal
	return err
}

// replace deletes the machine object, as the client requested that deleted its node. It asks the API server
// itself first: a cache that lost the node is no reason, nor is a machine that never knew its node's name.
func (o object[M]) replace(ctx context.Context) error {
	if o.view.Recorded.NodeName == "" {
		return nil
	}
	if _, foreign, err := o.cluster(ctx, 0); foreign != "" || err != nil {
		return err
	}
	var n corev1.Node
	err := o.Nodes.Live.Get(ctx, client.ObjectKey{Name: o.view.Recorded.NodeName}, &n)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read node %s: %w", o.view.Recorded.NodeName, err)
	}
	if err == nil && n.DeletionTimestamp == nil {
		return nil
	}
	if err := o.explainReplacement(ctx); err != nil {
		return err
	}
	uid := o.m.GetUID()
	if err := o.Client.Delete(ctx, o.m, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete machine: %w", err)
	}
	return nil
}

// explainReplacement reports once why the machine is about to be deleted, where the report outlives the
// machine: in its postmortem record, and in an event.
func (o object[M]) explainReplacement(ctx context.Context) error {
	why := fmt.Sprintf("node %s was deleted", o.view.Recorded.NodeName)
	if o.m.GetAnnotations()[dialect.DeletedBecauseAnnotation] == why {
		return nil
	}
	before := o.m.DeepCopyObject().(M)
	dialect.SetAnnotation(o.m, dialect.DeletedBecauseAnnotation, why)
	if err := o.save(ctx, before); err != nil {
		return err
	}
	note := "The machine is deleted, because " + why
	if owner := metav1.GetControllerOfNoCopy(o.m); owner != nil {
		note += "; " + owner.Kind + " " + owner.Name + " makes another in its place"
	}
	o.Recorder.Eventf(o.m, nil, corev1.EventTypeWarning, "NodeDeleted", "Replace", "%s", dialect.Note(note))
	return nil
}

// gone reports whether o ceased to exist with its last finalizer.
func gone(o client.Object) bool {
	return o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0
}

// diff is the merge patch from before to after, in two parts; nil if there is nothing to write.
func diff(before, after client.Object) (body, status map[string]any, err error) {
	if reflect.DeepEqual(before, after) { // most passes change nothing, and a patch encodes and decodes both objects
		return nil, nil, nil
	}
	raw, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return nil, nil, fmt.Errorf("compare machine: %w", err)
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, nil, fmt.Errorf("compare machine: %w", err)
	}
	if s, ok := body["status"]; ok {
		status = map[string]any{"status": s}
		delete(body, "status")
	}
	if len(body) == 0 {
		body = nil
	}
	return body, status, nil
}

// locked turns a merge patch into one that fails if the object has changed.
func locked(patch map[string]any, version string) client.Patch {
	metadata, _ := patch["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["resourceVersion"] = version
	patch["metadata"] = metadata
	raw, err := json.Marshal(patch)
	if err != nil {
		panic(err) // the parts come from json.Unmarshal
	}
	return client.RawPatch(types.MergePatchType, raw)
}
