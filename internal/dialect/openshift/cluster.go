package openshift

import (
	"bytes"
	"encoding/json"
	"errors"

	machinev1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
)

// DefaultsAnnotation on a machine stores the defaults of its cluster, as JSON: "{}" means no defaults. It is written
// before an instance is requested, and from then on replaces the defaults of the cluster, whose region or
// account may have changed by the time that the instance is looked for. On the template of a set it disables
// the defaults of clusters.
const DefaultsAnnotation = millwright.ClusterDefaults

// nothing is the stored value for clusters without defaults.
const nothing = "{}"

// clusterOf returns the cluster that m names in its label, or the only one; nil if none exists.
func clusterOf(m *machinev1.Machine, clusters []v1beta1.Cluster) *v1beta1.Cluster {
	for i := range clusters {
		if len(clusters) == 1 || clusters[i].Name == m.Labels[ClusterLabel] {
			return &clusters[i]
		}
	}
	return nil
}

// beneath completes own by the defaults, and returns the added defaults without the fields about the document
// itself, in one form for any order of fields; nothing if they add nothing. Both are JSON. A document of
// another kind has no defaults, and documents with equal content stay unchanged, to the byte.
func beneath(own, defaults []byte) (spec, counted []byte, err error) {
	less, ok := object(defaults)
	if !ok {
		return nil, nil, errors.New("is not an object")
	}
	out, ok := object(own)
	if !ok || out == nil {
		return own, []byte(nothing), nil // the provider reports the error
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

// object decodes an object, or an empty document.
func object(raw []byte) (out map[string]any, ok bool) {
	if len(raw) == 0 {
		return nil, true
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&out)
	return out, err == nil
}

// merge adds to more the fields that only less has, and reports whether there were any. An existing field
// counts as set, null too.
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
