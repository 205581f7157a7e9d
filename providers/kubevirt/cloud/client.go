package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	kubevirt "kubevirt.io/api/core/v1"
	cdi "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"

	"github.com/millwright-dev/millwright/provider"
)

// kind is one of objects, T their type.
type kind[T any] struct{ path, resource, name string }

// The kinds of objects that a machine is made of.
var (
	virtualMachines = kind[kubevirt.VirtualMachine]{"/apis/kubevirt.io/v1", "virtualmachines", "VirtualMachine"}
	instances       = kind[kubevirt.VirtualMachineInstance]{"/apis/kubevirt.io/v1", "virtualmachineinstances", "VirtualMachineInstance"}
	dataVolumes     = kind[cdi.DataVolume]{"/apis/cdi.kubevirt.io/v1beta1", "datavolumes", "DataVolume"}
	claims          = kind[corev1.PersistentVolumeClaim]{"/api/v1", "persistentvolumeclaims", "PersistentVolumeClaim"}
	secrets         = kind[corev1.Secret]{"/api/v1", "secrets", "Secret"}
)

// client asks one API server about one namespace.
type client struct {
	rest      *rest.RESTClient
	namespace string
	clock     provider.Clock

	mu sync.Mutex
	// account is the UID of the namespace; empty: it was not asked for yet.
	account string
}

// statuses decodes what API servers say of failures, and nothing else: objects are read with the types of KubeVirt, without a scheme of
// all of them.
var statuses = func() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}()

func newClient(l login, clock provider.Clock) (*client, error) {
	config := rest.CopyConfig(l.config)
	config.NegotiatedSerializer = statuses
	r, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, provider.Errorf(provider.Denied, "the kubeconfig cannot be used: %w", err)
	}
	return &client{rest: r, namespace: l.namespace, clock: clock}, nil
}

// connect is the client for the class's credentials.
func (s *session) connect(ctx context.Context) (*client, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.provider.clients.Get(ctx, s.key(), func(context.Context) (*client, error) {
		l, err := loginOf(s.class.Credentials)
		if err != nil {
			return nil, err
		}
		return newClient(l, s.provider.config.Clock)
	})
}

func (s *session) key() provider.ClientKey {
	return provider.KeyOf(map[string][]byte{kubeconfigKey: s.class.Credentials[kubeconfigKey]}, "", "")
}

// observe drops the client where it was denied.
func (s *session) observe(err error) error { return s.provider.clients.Observe(s.key(), err) }

// send asks, and reads the answer into one: what is not of the kind that was asked for is no answer. Nothing is tried again in here.
func (c *client) send(ctx context.Context, r *rest.Request, kind string, into any) error {
	result := r.MaxRetries(0).Do(ctx)
	if err := result.Error(); err != nil {
		return classify(err)
	}
	raw, err := result.Raw()
	if err != nil {
		return classify(err)
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

func (k kind[T]) at(c *client, r *rest.Request, name ...string) *rest.Request {
	return r.AbsPath(append([]string{k.path, "namespaces", c.namespace, k.resource}, name...)...)
}

// get is the object of the name; nil where there is none.
func (k kind[T]) get(ctx context.Context, c *client, name string) (*T, error) {
	out := new(T)
	switch err := c.send(ctx, k.at(c, c.rest.Get(), url.PathEscape(name)), k.name, out); {
	case isGone(err):
		return nil, nil //nolint:nilnil // There is none.
	case err != nil:
		return nil, fmt.Errorf("get %s %s: %w", k.resource, name, err)
	}
	return out, nil
}

// create makes an object.
func (k kind[T]) create(ctx context.Context, c *client, object *T) (*T, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, c.send(ctx, k.at(c, c.rest.Post()).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(raw), k.name, out)
}

// patch merges something into the object of the name.
func (k kind[T]) patch(ctx context.Context, c *client, name string, merge map[string]any) (*T, error) {
	raw, err := json.Marshal(merge)
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, c.send(ctx, k.at(c, c.rest.Patch(types.MergePatchType), url.PathEscape(name)).Body(raw), k.name, out)
}

// remove deletes the object that has the name and the UID; done where there is none, or another.
func (k kind[T]) remove(ctx context.Context, c *client, name string, uid types.UID) error {
	background := metav1.DeletePropagationBackground
	raw, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background,
	})
	if err != nil {
		return err
	}
	err = c.send(ctx, k.at(c, c.rest.Delete(), url.PathEscape(name)).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(raw), "", nil)
	if isGone(err) || provider.KindOf(err) == provider.Conflict {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete %s %s: %w", k.resource, name, err)
	}
	return nil
}

// pageSize is how many objects are asked for at a time.
const pageSize = 500

// list yields the objects that the selector of labels chooses, page by page. An error ends it, and it is incomplete then.
func (k kind[T]) list(ctx context.Context, c *client, selector string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for next := ""; ; {
			r := k.at(c, c.rest.Get()).Param("labelSelector", selector).Param("limit", strconv.Itoa(pageSize))
			if next != "" {
				r = r.Param("continue", next)
			}
			var page struct {
				Metadata metav1.ListMeta `json:"metadata"`
				Items    []T             `json:"items"`
			}
			if err := c.send(ctx, r, k.name+"List", &page); err != nil {
				yield(nil, fmt.Errorf("list %s: %w", k.resource, missing(k.resource, err)))
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

// all is the whole list.
func (k kind[T]) all(ctx context.Context, c *client, selector string) (out []*T, err error) {
	for object, err := range k.list(ctx, c, selector) {
		if err != nil {
			return nil, err
		}
		out = append(out, object)
	}
	return out, nil
}

// missing says what a 404 for a list means: that nobody serves such objects.
func missing(resource string, err error) error {
	if isGone(err) {
		return noKind(resource)
	}
	return err
}

var errNoUID = errors.New("it has no UID")

// accountOf is the UID of the namespace, asked for once.
func (c *client) accountOf(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.account != "" {
		return c.account, nil
	}
	var namespace corev1.Namespace
	err := c.send(ctx, c.rest.Get().AbsPath("/api/v1/namespaces", c.namespace), "Namespace", &namespace)
	switch {
	case err != nil:
		return "", fmt.Errorf("get namespace %s: %w", c.namespace, err)
	case namespace.UID == "":
		return "", fmt.Errorf("get namespace %s: %w", c.namespace, errNoUID)
	}
	c.account = string(namespace.UID)
	return c.account, nil
}
