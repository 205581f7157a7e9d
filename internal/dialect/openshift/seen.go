package openshift

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/dialect"
)

// seen returns the instance as the machine's labels, annotations and provider status show it.
func seen(m *machinev1.Machine) (s dialect.Seen) {
	if m.Status.LastUpdated != nil {
		s.At = m.Status.LastUpdated.Time
	}
	s.Add("state", m.Annotations[InstanceStateAnnotation], "annotation "+InstanceStateAnnotation)
	for _, l := range []struct{ name, label string }{{"type", InstanceTypeLabel}, {"region", RegionLabel}, {"zone", ZoneLabel}} {
		s.Add(l.name, m.Labels[l.label], "label "+l.label)
	}
	if m.Status.ProviderStatus == nil {
		return s
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(m.Status.ProviderStatus.Raw, &fields); err != nil {
		return s
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "kind" && name != "apiVersion" {
			s.Add(name, plain(fields[name]), "status.providerStatus")
		}
	}
	s.Said = providerConditions(fields["conditions"])
	return s
}

// plain returns a JSON string, number or boolean as text; empty for other values.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	if text = string(raw); text == "null" || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return ""
	}
	return text
}

// providerConditions reads the conditions of a provider status; none if they have another form.
func providerConditions(raw json.RawMessage) []dialect.Statement {
	var list []struct {
		Type, Status, Reason, Message string
		LastTransitionTime            metav1.Time
	}
	if len(raw) == 0 || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var out []dialect.Statement
	for _, c := range list {
		out = append(out, dialect.ConditionSays(c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime))
	}
	return out
}
