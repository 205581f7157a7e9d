package departures

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// The record of deleted machines is one ConfigMap in the namespace of the machines. Its keys are the groups of the APIs.
const (
	// Name is the name of the ConfigMap, LabelValue the value of [status.Label].
	Name       = "deleted-machines"
	LabelValue = "deletions"
)

// Stored returns an empty record for a namespace.
func Stored(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Name, Labels: map[string]string{status.Label: LabelValue}}}
}

// FromStored returns the departures in a record. It ignores keys that cannot be decoded.
func FromStored(c *corev1.ConfigMap) (out []postmortem.Departure) {
	for _, raw := range c.Data {
		if some, err := postmortem.DecodeDepartures(raw); err == nil {
			out = append(out, some...)
		}
	}
	return out
}

// FromEvidence returns the facts about the deletion of a machine in its evidence, which is stored in c. A machine that
// failed may still exist.
func FromEvidence(c *corev1.ConfigMap) (d postmortem.Departure, ok bool) {
	r, err := postmortem.Decode([]byte(c.Data[status.Key]))
	if err != nil {
		return d, false
	}
	d = postmortem.Departure{API: r.API, Namespace: r.Namespace, Name: r.Name, UID: r.UID, Owner: r.Owner, Why: r.Summary, Source: "evidence", Created: r.Created(), Evidence: "configmap " + c.Namespace + "/" + c.Name}
	for _, m := range r.Moments {
		if m.What == postmortem.MomentRequested {
			d.Requested = m.At
		}
	}
	if r.Node != nil {
		d.Node, d.Joined = r.Node.Name, r.Node.Created
	}
	if i := r.Instance; i != nil {
		d.Zone, d.Type = i.Zone, i.Type
	}
	if d.Requested.IsZero() && r.Cause != postmortem.GivenUp {
		d.Requested = r.Taken
	}
	return d, true
}
