package termination

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

// Clouds creates the sources of the known clouds, by the name that --provider has for each.
type Clouds map[string]func() Source

// Names returns the clouds' names, in order.
func (c Clouds) Names() []string {
	var names []string
	for name := range c {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// schemes are the schemes of provider IDs that differ from the name of the cloud.
var schemes = map[string]string{"gce": "gcp"}

// ByNode is the source of the cloud that the node's spec.providerID names. It reads the node until the field
// is set.
type ByNode struct {
	Clouds Clouds
	Nodes  Nodes
	Node   string

	source Source
}

// Look implements [Source].
func (b *ByNode) Look(ctx context.Context, hold time.Duration) (interruption.Report, error) {
	if b.source == nil {
		source, err := b.find(ctx)
		if err != nil {
			return interruption.Report{}, fmt.Errorf("find out which cloud this is (--provider says it): %w", err)
		}
		b.source = source
	}
	return b.source.Look(ctx, hold)
}

func (b *ByNode) find(ctx context.Context) (Source, error) {
	n, err := b.Nodes.Get(ctx, b.Node, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	scheme, _, _ := strings.Cut(n.Spec.ProviderID, ":")
	if name, ok := schemes[scheme]; ok {
		scheme = name
	}
	newSource, ok := b.Clouds[scheme]
	if !ok {
		return nil, fmt.Errorf("node %s has the provider ID %q, which names none of %s", b.Node, n.Spec.ProviderID, strings.Join(b.Clouds.Names(), ", "))
	}
	return newSource(), nil
}
