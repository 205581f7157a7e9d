package machine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// save writes what differs from before: first what is not status, then the
// status, each only if something changed. Both carry the resource version, so
// that a list written whole (finalizers, conditions) never undoes somebody
// else's write. Afterwards p.m is the object as it should be now.
func (p *pass[M]) save(ctx context.Context, before M) error {
	wanted := p.m
	body, status, err := diff(before, wanted)
	if err != nil {
		return err
	}
	stored := before
	if body != nil {
		stored = p.answerTo(before)
		if err := p.own.Patch(ctx, stored, locked(body, before.GetResourceVersion())); err != nil {
			return p.unsaved(fmt.Errorf("save machine: %w", err))
		}
	}
	if status != nil && !gone(stored) {
		patch := locked(status, stored.GetResourceVersion())
		stored = p.answerTo(stored)
		if err := p.own.Status().Patch(ctx, stored, patch); err != nil {
			return p.unsaved(fmt.Errorf("save machine status: %w", err))
		}
	}
	p.mem.refusal = lifecycle.Retry{}
	p.m = wanted
	p.m.SetResourceVersion(stored.GetResourceVersion())
	return nil
}

// answerTo is where the answer to a write of m goes. It is empty but for what names m:
// a decoder leaves what the answer does not mention as it is, and the answer is what is
// read from now on.
func (p *pass[M]) answerTo(m M) M {
	o := p.Dialect.New()
	o.SetNamespace(m.GetNamespace())
	o.SetName(m.GetName())
	o.SetUID(m.GetUID())
	o.SetResourceVersion(m.GetResourceVersion())
	return o
}

// unsaved tells that somebody refuses what is written to the machine, by a webhook or by
// permissions: the machine itself cannot say so.
func (p *pass[M]) unsaved(err error) error {
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		return err
	}
	refusal := lifecycle.Retry{Err: err}
	if was := p.mem.refusal; was.Err != nil && was.Err.Error() == err.Error() {
		refusal.Told = was.Told
	}
	if now := p.Clock.Now(); refusal.News(now) {
		refusal.Told = now
		p.Recorder.Eventf(p.found, nil, corev1.EventTypeWarning, "FailedUpdate", "Save", "%s", dialect.Note(err.Error()))
	}
	p.mem.refusal = refusal
	return err
}

// gone reports whether o ceased to exist with its last finalizer.
func gone(o client.Object) bool {
	return o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0
}

// diff is the merge patch from before to after, in two parts; nil where there
// is nothing to write.
func diff(before, after client.Object) (body, status map[string]any, err error) {
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

// locked turns a merge patch into one that fails when the object has changed.
func locked(patch map[string]any, version string) client.Patch {
	metadata, _ := patch["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["resourceVersion"] = version
	patch["metadata"] = metadata
	raw, err := json.Marshal(patch)
	if err != nil {
		panic(err) // the parts came out of json.Unmarshal
	}
	return client.RawPatch(types.MergePatchType, raw)
}
