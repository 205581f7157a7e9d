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

// Admitters judge the specs of an infrastructure each, by the type that Infrastructure objects have.
type Admitters = map[string]admit.Admitter

// Cluster is what a cluster says of where it runs.
type Cluster struct {
	// Type is that of its infrastructure, as Infrastructure objects spell it: "AWS". Empty: not known.
	Type     string
	Platform admit.Platform
}

// The objects that say so. A cluster without config.openshift.io has neither.
var (
	infrastructures = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "infrastructures"}
	dnses           = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "dnses"}
)

// clusterObject is the name of either.
const clusterObject = "cluster"

// clusterOf reads the objects, each nil where there is none. What they do not say is as given.
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

// Facts follow what a cluster says of itself.
type Facts struct {
	client dynamic.Interface
	given  Cluster
	// last is what was said last.
	last atomic.Pointer[Cluster]
	seen struct{ infrastructure, dns map[string]any }
}

// NewFacts reads by c; given are the facts that hold where the cluster does not say otherwise.
func NewFacts(c dynamic.Interface, given Cluster) *Facts {
	f := &Facts{client: c, given: given}
	f.last.Store(&given)
	return f
}

// Now is what the cluster said last.
func (f *Facts) Now() Cluster { return *f.last.Load() }

// Refresh reads the objects, for one caller at a time. What cannot be read is as it was.
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
	case apierrors.IsNotFound(err): // neither the object, or its kind
		*into = nil
	default:
		return fmt.Errorf("read %s %s: %w", of.Resource, clusterObject, err)
	}
	return nil
}
