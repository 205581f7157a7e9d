package openshift

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
)

// clusterWait bounds how long a look at clusters may take: a cache that may not
// list them would wait for ever, and every worker with it.
const clusterWait = 3 * time.Second

// completed is the provider spec of m with what its cluster says laid beneath;
// where that cannot be found out, the machine's own, with the reason.
func (d Machines) completed(ctx context.Context, m *machinev1.Machine) ([]byte, error) {
	own := m.Spec.ProviderSpec.Value.Raw
	c, err := d.clusterOf(ctx, m)
	if err != nil {
		return own, err
	}
	if c == nil || c.Spec.ProviderSpec.Value == nil {
		return own, nil
	}
	out, err := beneath(own, c.Spec.ProviderSpec.Value.Raw)
	if err != nil {
		return own, fmt.Errorf("spec.providerSpec.value: complete it by cluster %s: %w", c.Name, err)
	}
	return out, nil
}

// clusterOf is the cluster that m names in its label, or the only one of the
// namespace; nil where there is none. A server that does not know the kind has
// none.
func (d Machines) clusterOf(ctx context.Context, m *machinev1.Machine) (*v1beta1.Cluster, error) {
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
	for i := range list.Items {
		if len(list.Items) == 1 || list.Items[i].Name == m.Labels[ClusterLabel] {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}

// beneath completes own by what defaults say besides. Both are JSON. Nothing is
// handed down by a document that says it is of another kind, and documents that
// come to the same stay as they are, to the byte.
func beneath(own, defaults []byte) ([]byte, error) {
	less, ok := object(defaults)
	if !ok {
		return nil, errors.New("its spec.providerSpec.value is not an object")
	}
	out, ok := object(own)
	if !ok || out == nil {
		return own, nil // it is for the provider to object
	}
	for _, key := range []string{"apiVersion", "kind"} {
		if less[key] != nil && less[key] != "" && less[key] != out[key] {
			return own, nil
		}
		delete(less, key)
	}
	delete(less, "metadata")
	if !merge(out, less) {
		return own, nil
	}
	return json.Marshal(out)
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
