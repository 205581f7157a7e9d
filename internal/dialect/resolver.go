package dialect

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/provider"
)

// Resolver reads the classes and secrets of one kind of machine, with its reader. All I/O of a dialect is in
// its resolver; lenses have none.
type Resolver[M client.Object] interface {
	// Class resolves the class of m. It is as complete as possible also if err is not nil: a machine under
	// deletion uses the available part.
	Class(ctx context.Context, m M) (Class, error)
	// Templates returns the templates from which new machines may be created.
	Templates(ctx context.Context) ([]Template[M], error)
	// Once returns a resolver that reads each object once ([Once]).
	Once() Resolver[M]
}

// Template is a template of machines, and a machine created from it.
type Template[M client.Object] struct {
	// Anchor is the object with the template, to which messages refer.
	Anchor  client.Object
	Machine M
}

// ReadSpec reads the names in a provider spec, secrets and a region: through p if it is a
// [provider.SpecReader], otherwise from the fields that the specs of all infrastructures share.
func ReadSpec(p provider.Provider, api string, spec []byte) (provider.SpecNames, error) {
	if r, ok := provider.As[provider.SpecReader](p); ok {
		return r.ReadSpec(api, spec)
	}
	return provider.ReadCommon(spec)
}

// Secret reads the secret of a reference. If it does not exist, the error names the field and the secret.
func Secret(ctx context.Context, r client.Reader, ref provider.SecretRef, field string) (map[string][]byte, error) {
	var s corev1.Secret
	err := r.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &s)
	if err != nil {
		return nil, fmt.Errorf("%s: read secret %s/%s: %w", field, ref.Namespace, ref.Name, err)
	}
	return s.Data, nil
}

// Fallbacks returns those of the first object that has the annotation: [provider.Class.Fallbacks]. A text
// that is not a list counts as one fallback; its error is reported when it is used.
func Fallbacks(objects ...client.Object) [][]byte {
	for _, o := range objects {
		r := millwright.Read(o.GetAnnotations())
		text, there := r.Text(millwright.Fallback)
		if !there {
			continue
		}
		var patches []json.RawMessage
		if _, err := r.JSON(millwright.Fallback, &patches); err != nil {
			return [][]byte{[]byte(text)}
		}
		out := make([][]byte, 0, len(patches))
		for _, p := range patches {
			out = append(out, p)
		}
		return out
	}
	return nil
}

// AnyResolver returns a resolver for [client.Object].
func AnyResolver[M client.Object](r Resolver[M]) Resolver[client.Object] { return anyResolver[M]{r} }

type anyResolver[M client.Object] struct{ resolver Resolver[M] }

func (a anyResolver[M]) Class(ctx context.Context, m client.Object) (Class, error) {
	return a.resolver.Class(ctx, m.(M))
}

func (a anyResolver[M]) Templates(ctx context.Context) (out []Template[client.Object], err error) {
	all, err := a.resolver.Templates(ctx)
	for _, t := range all {
		out = append(out, Template[client.Object]{Anchor: t.Anchor, Machine: t.Machine})
	}
	return out, err
}

func (a anyResolver[M]) Once() Resolver[client.Object] { return anyResolver[M]{a.resolver.Once()} }

// Once returns a reader that reads each object once: a thousand machines of one class read its secrets once.
// It is for one goroutine.
func Once(r client.Reader) client.Reader { return &once{Reader: r, known: map[string]read{}} }

type once struct {
	client.Reader
	known map[string]read
}

type read struct {
	object client.Object
	err    error
}

// Get implements [client.Reader].
func (r *once) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	id := fmt.Sprintf("%T %s", o, key)
	k, ok := r.known[id]
	if !ok {
		k.object = o.DeepCopyObject().(client.Object)
		k.err = r.Reader.Get(ctx, key, k.object, opts...)
		r.known[id] = k
	}
	if k.err != nil {
		return k.err
	}
	// Read objects are not changed, so a shallow copy is sufficient.
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(k.object).Elem())
	return nil
}
