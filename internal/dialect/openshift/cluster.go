package openshift

import (
	"bytes"
	"encoding/json"
	"errors"

	machinev1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
)

// DefaultsAnnotation on a machine keeps what its cluster handed down to it, as
// JSON: "{}" is nothing. It is written before an instance is asked for, and
// from then on counts instead of the cluster, whose region or account may be
// another by the time that the instance is looked for. On the template of a set
// it keeps clusters from having a say.
const DefaultsAnnotation = millwright.ClusterDefaults

// nothing is what is kept of clusters that hand down nothing.
const nothing = "{}"

// clusterOf is the cluster that m names in its label, or the only one; nil
// where there is none.
func clusterOf(m *machinev1.Machine, clusters []v1beta1.Cluster) *v1beta1.Cluster {
	for i := range clusters {
		if len(clusters) == 1 || clusters[i].Name == m.Labels[ClusterLabel] {
			return &clusters[i]
		}
	}
	return nil
}

// beneath completes own by what defaults say besides, and returns these without
// what is about the document itself, in one form whatever the order of fields;
// nothing where they add nothing. Both are JSON. Nothing is handed down by a
// document that says it is of another kind, and documents that come to the same
// stay as they are, to the byte.
func beneath(own, defaults []byte) (spec, counted []byte, err error) {
	less, ok := object(defaults)
	if !ok {
		return nil, nil, errors.New("is not an object")
	}
	out, ok := object(own)
	if !ok || out == nil {
		return own, []byte(nothing), nil // it is for the provider to object
	}
	for _, key := range []string{"apiVersion", "kind"} {
		if less[key] != nil && less[key] != "" && less[key] != out[key] {
			return own, []byte(nothing), nil
		}
		delete(less, key)
	}
	delete(less, "metadata")
	if !merge(out, less) {
		return own, []byte(nothing), nil
	}
	if spec, err = json.Marshal(out); err != nil {
		return nil, nil, err
	}
	counted, err = json.Marshal(less)
	return spec, counted, err
}

// object decodes what is an object, or nothing.
func object(raw []byte) (out map[string]any, ok bool) {
	if len(raw) == 0 {
		return nil, true
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&out)
	return out, err == nil
}

// merge adds to more what only less says, and reports whether there was any. A
// field that is there counts as said, null too.
func merge(more, less map[string]any) (changed bool) {
	for key, value := range less {
		have, ok := more[key]
		if !ok {
			more[key], changed = value, true
			continue
		}
		a, okA := have.(map[string]any)
		b, okB := value.(map[string]any)
		if okA && okB && merge(a, b) {
			changed = true
		}
	}
	return changed
}
