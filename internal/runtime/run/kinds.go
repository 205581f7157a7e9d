package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
)

const (
	// awaitPeriod is how often a process without an API to serve looks for kinds.
	awaitPeriod = 2 * time.Second
	// lackPeriod is how often a process looks for the kinds and permissions that it lacks.
	lackPeriod = 30 * time.Second
)

// lack is a kind or permission that the process lacks.
type lack struct {
	what string
	// ended reports whether it is available now.
	ended func(context.Context) bool
}

// surroundings has the kinds of the control cluster, and the permissions of the process in any cluster.
type surroundings struct {
	control *rest.Config
	log     logr.Logger
	lacks   []lack
}

// await waits until the control cluster has the kinds of an API to serve, and then serves the APIs that are
// available.
func (p *Process) await(ctx context.Context) error {
	wanted := p.Flags.APIs
	for told := ""; ; {
		there, err := p.there(ctx, wanted)
		if err == nil && len(there) > 0 {
			p.Flags.APIs = there
			for _, l := range p.lacks {
				p.leftOut(l.what)
			}
			p.health.lacks("")
			return nil
		}
		why := fmt.Sprintf("the control cluster lacks kinds of %s", strings.Join(wanted, ", and of "))
		if err != nil {
			why = err.Error()
		}
		if why != told {
			p.Log.Info("Waiting for an API to serve", "why", why)
			told = why
		}
		p.health.lacks(why)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(awaitPeriod):
		}
	}
}

// there returns the wanted APIs that the control cluster has. An API whose kinds are not all installed yet is
// not included.
func (c *surroundings) there(ctx context.Context, wanted []string) (there []string, err error) {
	c.lacks = nil
	for _, name := range wanted {
		api, _ := apis.Of(name)
		whole := true
		for _, kind := range api.Needed() {
			has, err := c.has(ctx, schema.GroupVersionKind{Group: api.Name, Version: api.Version, Kind: kind.Name})
			if err != nil {
				return nil, err
			}
			whole = whole && has
		}
		if whole {
			there = append(there, name)
		}
	}
	return there, nil
}

// Has reports whether the control cluster has a kind. If a missing kind is installed later, the process ends
// and restarts.
func (c *surroundings) Has(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	has, err := c.has(ctx, kind)
	if err == nil && !has {
		c.leftOut(kind.GroupKind().String())
	}
	return has, err
}

// has is [surroundings.Has] without a log line.
func (c *surroundings) has(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	has, err := c.discovers(ctx, kind)
	if err == nil && !has {
		c.lacks = append(c.lacks, lack{kind.GroupKind().String(), func(ctx context.Context) bool {
			has, err := c.discovers(ctx, kind)
			return err == nil && has
		}})
	}
	return has, err
}

func (c *surroundings) leftOut(kind string) {
	c.log.Info("The control cluster does not have this kind, which is left out", "kind", kind)
}

func (c *surroundings) discovers(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	d, err := discovery.NewDiscoveryClientForConfig(c.control)
	if err != nil {
		return false, fmt.Errorf("make a client for discovery: %w", err)
	}
	var list metav1.APIResourceList
	err = d.RESTClient().Get().AbsPath("/apis/" + kind.GroupVersion().String()).Do(ctx).Into(&list)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", kind.GroupKind(), err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind.Kind }), nil
}

// MayList reports whether the process may list the resources of all namespaces in the cluster of in. If it
// gets that permission later, the process ends and restarts. Purpose names what it cannot do without it.
func (c *surroundings) MayList(ctx context.Context, in *rest.Config, r schema.GroupVersionResource, purpose string) (bool, error) {
	err := listOne(ctx, in, r)
	if !apierrors.IsForbidden(err) {
		return err == nil, err
	}
	c.log.Info("Not permitted, and left undone", "purpose", purpose, "why", err.Error())
	c.lacks = append(c.lacks, lack{"the right to list " + r.GroupResource().String(), func(ctx context.Context) bool { return listOne(ctx, in, r) == nil }})
	return false, nil
}

func listOne(ctx context.Context, c *rest.Config, r schema.GroupVersionResource) error {
	paths, err := pathClient(c)
	if err != nil {
		return err
	}
	root := "/apis/" + r.GroupVersion().String()
	if r.Group == "" {
		root = "/api/" + r.Version
	}
	return paths.Get().AbsPath(root, r.Resource).Param("limit", "1").Do(ctx).Error()
}

// pathClient asks an API server for paths, with the connection and the permissions of c.
func pathClient(c *rest.Config) (rest.Interface, error) {
	c = rest.CopyConfig(c)
	c.GroupVersion, c.NegotiatedSerializer = &schema.GroupVersion{}, scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return client, nil
}

// errAnew ends a process that has to restart.
var errAnew = errors.New("begin anew")

// watchLacks ends the process when something that it lacks becomes available.
func (c *surroundings) watchLacks(ctx context.Context) error {
	lacks := c.lacks
	for len(lacks) > 0 {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lackPeriod):
		}
		for _, l := range lacks {
			if l.ended(ctx) {
				c.log.Info("What this process does without is there now: it ends, to begin anew", "what", l.what)
				return errAnew
			}
		}
	}
	return nil
}
