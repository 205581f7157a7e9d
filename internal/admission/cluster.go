package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/millwright-dev/millwright/provider/admit"
)

// Admitters validate provider specs, one for each infrastructure, by the type in Infrastructure objects.
type Admitters = map[string]admit.Admitter

// Cluster has the facts about where a cluster runs.
type Cluster struct {
	// Type is the type of its infrastructure, as Infrastructure objects spell it: "AWS". Empty: unknown.
	Type     string
	Platform admit.Platform
}

// The objects with these facts. A cluster without config.openshift.io has neither.
var (
	infrastructures = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "infrastructures"}
	dnses           = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "dnses"}
)

// clusterObject is the name of both.
const clusterObject = "cluster"

// clusterOf reads the facts from the objects, each nil if it does not exist. Facts that they lack are as
// given.
func clusterOf(infrastructure, dns map[string]any, given Cluster) Cluster {
	c := given
	status := func(path ...string) string {
		text, _, _ := unstructured.NestedString(infrastructure, append([]string{"status"}, path...)...)
		return text
	}
	c.Type = cmp.Or(status("platformStatus", "type"), status("platform"), given.Type)
	c.Platform.ID = cmp.Or(status("infrastructureName"), given.Platform.ID)
	of := func(name string) string { return status("platformStatus", strings.ToLower(c.Type), name) }
	c.Platform.Region = cmp.Or(of("region"), given.Platform.Region)
	c.Platform.Cloud = cmp.Or(of("cloudName"), given.Platform.Cloud)
	c.Platform.Project = cmp.Or(of("projectID"), given.Platform.Project)
	if dns != nil {
		_, public, _ := unstructured.NestedMap(dns, "spec", "publicZone")
		c.Platform.NoPublicZone = !public
	}
	return c
}

// Facts follow the facts about a cluster.
type Facts struct {
	client dynamic.Interface
	given  Cluster
	// last are the facts of the last read.
	last atomic.Pointer[Cluster]
	seen struct{ infrastructure, dns map[string]any }
}

// NewFacts reads by c; given are the facts that hold unless the cluster says otherwise.
func NewFacts(c dynamic.Interface, given Cluster) *Facts {
	f := &Facts{client: c, given: given}
	f.last.Store(&given)
	return f
}

// Now returns the facts of the last read.
func (f *Facts) Now() Cluster { return *f.last.Load() }

// Refresh reads the objects, for one caller at a time. Objects that cannot be read keep their last facts.
func (f *Facts) Refresh(ctx context.Context) error {
	err := errors.Join(
		f.read(ctx, infrastructures, &f.seen.infrastructure),
		f.read(ctx, dnses, &f.seen.dns),
	)
	c := clusterOf(f.seen.infrastructure, f.seen.dns, f.given)
	f.last.Store(&c)
	return err
}

func (f *Facts) read(ctx context.Context, of schema.GroupVersionResource, into *map[string]any) error {
	o, err := f.client.Resource(of).Get(ctx, clusterObject, metav1.GetOptions{})
	switch {
	case err == nil:
		*into = o.Object
	case apierrors.IsNotFound(err): // neither the object nor its kind exists
		*into = nil
	default:
		return fmt.Errorf("read %s %s: %w", of.Resource, clusterObject, err)
	}
	return nil
}
