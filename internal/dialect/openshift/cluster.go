package openshift

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// clusterWait bounds how long a look at clusters may take: a cache that may not
// list them would wait for ever, and every worker with it.
const clusterWait = 3 * time.Second

// completed is the provider spec of m with what its cluster says laid beneath,
// and what of that m does not keep yet; where that cannot be found out, the
// machine's own, with the reason.
//
// A machine that keeps nothing was made from nothing else, so that one that has
// an instance goes without. Until then it counts which clusters are older than
// the machine. Where there are any, what they come to is kept before an instance
// is asked for, even if it is nothing; where there are none, there never will
// be. So nothing that happens to clusters later makes a second instance, not even
// between a call whose reply was lost and the next. Times of creation are in
// seconds: a cluster of the same second counts as older, for it may well come
// from the same file.
func (d Machines) completed(ctx context.Context, m *machinev1.Machine) (spec, inherited []byte, err error) {
	own := m.Spec.ProviderSpec.Value.Raw
	if kept, ok := m.Annotations[DefaultsAnnotation]; ok {
		spec, _, err = beneath(own, []byte(kept))
		if err != nil {
			return own, nil, fmt.Errorf("metadata.annotations[%s]: %w", DefaultsAnnotation, err)
		}
		return spec, nil, nil
	}
	if provisioned(m) {
		return own, nil, nil
	}
	clusters, err := d.clustersBefore(ctx, m)
	if err != nil || len(clusters) == 0 {
		return own, nil, err
	}
	c := clusterOf(m, clusters)
	if c == nil || c.Spec.ProviderSpec.Value == nil {
		return own, []byte(nothing), nil
	}
	spec, inherited, err = beneath(own, c.Spec.ProviderSpec.Value.Raw)
	if err != nil {
		return own, nil, fmt.Errorf("spec.providerSpec.value: complete it by cluster %s: its spec.providerSpec.value %w", c.Name, err)
	}
	return spec, inherited, nil
}

// clustersBefore are the clusters of m's namespace that are not younger than m.
// A server that does not know the kind has none. A machine that is not stored
// is younger than all.
func (d Machines) clustersBefore(ctx context.Context, m *machinev1.Machine) ([]v1beta1.Cluster, error) {
	if d.Clusters == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, clusterWait)
	defer cancel()
	var list v1beta1.ClusterList
	err := d.Clusters.List(ctx, &list, client.InNamespace(m.Namespace))
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("spec.providerSpec.value: list the clusters whose defaults it may have: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(c v1beta1.Cluster) bool {
		return !m.CreationTimestamp.IsZero() && c.CreationTimestamp.After(m.CreationTimestamp.Time)
	}), nil
}

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
