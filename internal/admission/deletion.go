package admission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/dialect/departures"
)

// deletionPath returns the path of the webhook that sees deletions of machines of an API:
// "/delete-machine-openshift-io-v1beta1-machine".
func deletionPath(a apis.API) string {
	return "/delete-" + strings.ReplaceAll(a.Name, ".", "-") + "-" + a.Version + "-machine"
}

// deletions are the webhooks that see deletions of machines, by path.
func (h handler) deletions() map[string]http.Handler {
	out := map[string]http.Handler{}
	for _, a := range apis.All {
		out[deletionPath(a)] = h.hook(func(ctx context.Context, r webhook.Request) (webhook.Response, error) {
			h.noteDeletion(ctx, r)
			return webhook.Allowed(""), nil
		})
	}
	return out
}

// eventTime is how long the API server may take to store the event about a deletion, which waits for that.
const eventTime = time.Second

// noteDeletion records an event with the name of the client that has requested the deletion of a machine, once for each
// machine. It never refuses a deletion: without the event, the client stays unknown.
func (h handler) noteDeletion(ctx context.Context, r webhook.Request) {
	var m metav1.PartialObjectMetadata
	if r.DryRun != nil && *r.DryRun || h.Events == nil || decode(r.OldObject.Raw, &m) != nil || m.DeletionTimestamp != nil {
		return
	}
	ctx, end := context.WithTimeout(ctx, eventTime)
	defer end()
	now := metav1.NewTime(h.Clock.Now())
	sum := sha256.Sum256([]byte(m.UID))
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: m.Name[:min(len(m.Name), 200)] + ".deletion-" + hex.EncodeToString(sum[:4])},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: r.Kind.Group + "/" + r.Kind.Version, Kind: r.Kind.Kind, Namespace: r.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		},
		Type: corev1.EventTypeNormal, Reason: departures.EventRequested, Action: "Delete", Message: dialect.Note(departures.RequestedNote(r.UserInfo.Username)),
		FirstTimestamp: now, LastTimestamp: now, Count: 1, Source: corev1.EventSource{Component: "machine-webhooks"}, ReportingController: "machine-webhooks", ReportingInstance: "machine-webhooks",
	}
	if err := h.Events.Create(ctx, e); err != nil && !apierrors.IsAlreadyExists(err) {
		h.Log.V(1).Info("Cannot record which client deleted a machine", "namespace", r.Namespace, "name", r.Name, "error", err.Error())
	}
}
