// Package kubeapi is for providers whose infrastructure is an API server with instances as objects. It has
// a client that uses types of its own and never retries, self-contained kubeconfigs, the classification of
// failures, and the marks that record the owner of an object.
package kubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/provider"
)

// Kind is a kind of objects with the type T.
type Kind[T any] struct {
	// Path is that of the group and version, "/apis/metal3.io/v1alpha1"; Resource is "baremetalhosts", Name
	// "BareMetalHost".
	Path, Resource, Name string
}

// Secrets are the cluster's secrets.
var Secrets = Kind[corev1.Secret]{"/api/v1", "secrets", "Secret"}

// Words are an infrastructure's texts for the failures of an API server.
type Words struct {
	// Missing suggests a reason why objects are not served: "are KubeVirt and CDI installed there, and
	// ready?".
	Missing string
	// Field translates a field of an object to the field of the spec. It returns the path unchanged if no
	// spec decides it.
	Field func(path string) string
}

// Client calls one API server.
type Client struct {
	// Namespace is that of the login; empty: the login has none.
	Namespace string

	rest  *rest.RESTClient
	words Words

	mu sync.Mutex
	// uids caches the UIDs of namespaces.
	uids map[string]string
}

// statuses decodes only the failures that API servers report: objects are decoded into the Go types that
// callers give, which needs no scheme.
var statuses = func() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}()

// NewClient returns a client; if the login is unusable, the error is [provider.Denied]. Rate limits in a
// login are ignored: a decorator limits the provider.
func NewClient(l Login, words Words) (*Client, error) {
	config := rest.CopyConfig(l.Config)
	config.NegotiatedSerializer = statuses
	config.Timeout = 2 * time.Minute
	config.QPS, config.RateLimiter = -1, nil
	r, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, provider.Errorf(provider.Denied, "the kubeconfig cannot be used: %w", err)
	}
	return &Client{rest: r, words: words, Namespace: l.Namespace, uids: map[string]string{}}, nil
}

// send runs the request, and decodes the answer into the object into. An answer of another kind is an error. It
// never retries.
func (c *Client) send(ctx context.Context, r *rest.Request, kind string, into any) error {
	result := r.MaxRetries(0).Do(ctx)
	if err := result.Error(); err != nil {
		return c.words.classify(err)
	}
	raw, err := result.Raw()
	if err != nil {
		return c.words.classify(err)
	}
	if into == nil {
		return nil
	}
	var says metav1.TypeMeta
	if json.Unmarshal(raw, &says) != nil || says.Kind != kind {
		return provider.Errorf(provider.Transient, "the address answers with something else than a %s: is it that of an API server?", kind)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return provider.Errorf(provider.Transient, "read a %s: %w", kind, err)
	}
	return nil
}

// at adds the path of an object, or of all in a namespace; an empty namespace means all namespaces.
func (k Kind[T]) at(r *rest.Request, namespace string, name ...string) *rest.Request {
	path := []string{k.Path}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	return r.AbsPath(append(append(path, k.Resource), name...)...)
}

// Get returns the object with this name; nil if it does not exist.
func (k Kind[T]) Get(ctx context.Context, c *Client, namespace, name string) (*T, error) {
	out := new(T)
	switch err := c.send(ctx, k.at(c.rest.Get(), namespace, url.PathEscape(name)), k.Name, out); {
	case IsGone(err):
		return nil, nil //nolint:nilnil // It does not exist.
	case err != nil:
		return nil, fmt.Errorf("get %s %s: %w", k.Resource, name, err)
	}
	return out, nil
}

// Create creates an object. [ErrExists] says that one of this name exists.
func (k Kind[T]) Create(ctx context.Context, c *Client, namespace string, object *T) (*T, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, c.send(ctx, k.at(c.rest.Post(), namespace).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(raw), k.Name, out)
}

// Patch merges a patch into the object with this name. With metadata.resourceVersion, and if the object has
// another by now, the error is [provider.Conflict].
func (k Kind[T]) Patch(ctx context.Context, c *Client, namespace, name string, merge map[string]any) (*T, error) {
	raw, err := json.Marshal(merge)
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, c.send(ctx, k.at(c.rest.Patch(types.MergePatchType), namespace, url.PathEscape(name)).Body(raw), k.Name, out)
}

// Remove deletes the object with this name and UID; it is done if none exists, or one with another UID.
func (k Kind[T]) Remove(ctx context.Context, c *Client, namespace, name string, uid types.UID) error {
	background := metav1.DeletePropagationBackground
	raw, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background,
	})
	if err != nil {
		return err
	}
	r := k.at(c.rest.Delete(), namespace, url.PathEscape(name)).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(raw)
	err = c.send(ctx, r, "", nil)
	if IsGone(err) || provider.KindOf(err) == provider.Conflict {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete %s %s: %w", k.Resource, name, err)
	}
	return nil
}

// pageSize is the number of objects of a page.
const pageSize = 500

// List yields the objects that the label selector matches, page by page. An error ends it, and it is then
// incomplete.
func (k Kind[T]) List(ctx context.Context, c *Client, namespace, selector string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for next := ""; ; {
			r := k.at(c.rest.Get(), namespace).Param("labelSelector", selector).Param("limit", strconv.Itoa(pageSize))
			if next != "" {
				r = r.Param("continue", next)
			}
			var page struct {
				Metadata metav1.ListMeta `json:"metadata"`
				Items    []T             `json:"items"`
			}
			if err := c.send(ctx, r, k.Name+"List", &page); err != nil {
				yield(nil, fmt.Errorf("list %s: %w", k.Resource, k.Missing(c, err)))
				return
			}
			for i := range page.Items {
				if !yield(&page.Items[i], nil) {
					return
				}
			}
			if next = page.Metadata.Continue; next == "" {
				return
			}
		}
	}
}

// All returns the whole list.
func (k Kind[T]) All(ctx context.Context, c *Client, namespace, selector string) (out []*T, err error) {
	for object, err := range k.List(ctx, c, namespace, selector) {
		if err != nil {
			return nil, err
		}
		out = append(out, object)
	}
	return out, nil
}

// Missing explains a 404 of a list or of a creation: the server does not serve such objects.
func (k Kind[T]) Missing(c *Client, err error) error {
	if IsGone(err) {
		return c.words.noKind(k.Resource)
	}
	return err
}

var errNoUID = errors.New("it has no UID")

// UIDOf returns the UID of a namespace, which is unique among all clusters. It is read once.
func (c *Client) UIDOf(ctx context.Context, namespace string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if uid := c.uids[namespace]; uid != "" {
		return uid, nil
	}
	var n corev1.Namespace
	err := c.send(ctx, c.rest.Get().AbsPath("/api/v1/namespaces", namespace), "Namespace", &n)
	switch {
	case err != nil:
		return "", fmt.Errorf("get namespace %s: %w", namespace, err)
	case n.UID == "":
		return "", fmt.Errorf("get namespace %s: %w", namespace, errNoUID)
	}
	c.uids[namespace] = string(n.UID)
	return string(n.UID), nil
}
