package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// plane is a control plane that refuses some requests. denied has the errors by "verb resource".
type plane struct {
	client.Client
	denied map[string]error
	made   int
}

var refused = apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "y", errors.New("no"))

func resourceOf(o client.Object) string {
	if _, ok := o.(*corev1.Namespace); ok {
		return "namespaces"
	}
	return "configmaps"
}

// newPlane returns a plane with these objects, whose namespace kube-system has the given UID.
func newPlane(uid types.UID, objects ...client.Object) *plane {
	p := &plane{denied: map[string]error{}}
	objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: uid}})
	p.Client = fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := p.denied["get "+resourceOf(o)]; err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := p.denied["create "+resourceOf(o)]; err != nil {
				return err
			}
			p.made++ // an API server gives each object its own UID
			o.SetUID(types.UID(fmt.Sprintf("%s-own-%d", uid, p.made)))
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if err := p.denied["update "+resourceOf(o)]; err != nil {
				return err
			}
			return c.Update(ctx, o, opts...)
		},
	}).Build()
	return p
}

func (p *plane) identities(t *testing.T) identities {
	t.Helper()
	got, err := identityOf(t.Context(), p, "ns", logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (p *plane) held(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	var m corev1.ConfigMap
	if err := p.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: identityName}, &m); err != nil {
		t.Fatal(err)
	}
	return &m
}

// TestIdentity: if an identity cannot be read, the process starts with another identity, or without one. If the API
// server does not answer, the process does not start: all new instances until the next start would have no owner.
func TestIdentity(t *testing.T) {
	silent := errors.New("connection refused")
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "kube-system")
	for name, tc := range map[string]struct {
		reason string
		denied map[string]error
		owner  string
		also   []string
		lacks  string
		fails  bool
	}{
		"all":           {"the UID of kube-system is the identity", nil, "uid-1", []string{"uid-1-own-1"}, "", false},
		"gardener":      {"the originals' roles may not read kube-system", map[string]error{"get namespaces": refused}, "uid-1-own-1", nil, "", false},
		"few APIs":      {"a control plane may have no kube-system", map[string]error{"get namespaces": gone}, "uid-1-own-1", nil, "", false},
		"no ConfigMap":  {"the UID of kube-system is sufficient", map[string]error{"create configmaps": refused}, "uid-1", nil, "", false},
		"no update":     {"the process needs the record only later", map[string]error{"update configmaps": refused}, "uid-1", []string{"uid-1-own-1"}, "", false},
		"neither":       {"no identity can be read", map[string]error{"get namespaces": refused, "get configmaps": refused}, "", nil, "forbidden", false},
		"neither made":  {"no identity can be read or created", map[string]error{"get namespaces": refused, "create configmaps": refused}, "", nil, "forbidden", false},
		"silent":        {"the API server may answer later", map[string]error{"get namespaces": silent}, "", nil, "", true},
		"silent later":  {"the API server may answer later", map[string]error{"get namespaces": refused, "get configmaps": silent}, "", nil, "", true},
		"silent at all": {"the ConfigMap may exist", map[string]error{"get configmaps": silent}, "", nil, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlane("uid-1")
			for what, err := range tc.denied {
				p.denied[what] = err
			}
			got, err := identityOf(t.Context(), p, "ns", logr.Discard())
			if (err != nil) != tc.fails {
				t.Fatalf("%s: error %v", tc.reason, err)
			}
			if got.owner != tc.owner || !slices.Equal(got.also, tc.also) || !strings.Contains(got.lacks, tc.lacks) || (got.lacks == "") != (tc.lacks == "") {
				t.Errorf("%s: identities %+v", tc.reason, got)
			}
		})
	}
}

// TestIdentityLasts: the identities survive restarts and changes of rights. A new ConfigMap is a new identity.
func TestIdentityLasts(t *testing.T) {
	p := newPlane("uid-1")
	if first, again := p.identities(t), p.identities(t); first.owner != "uid-1" || again.owner != "uid-1" || !slices.Equal(again.also, []string{"uid-1-own-1"}) || p.made != 1 {
		t.Errorf("identities %+v, then %+v, with %d ConfigMaps", first, again, p.made)
	}
	p.denied["get namespaces"] = refused
	if got := p.identities(t); got.owner != "uid-1-own-1" || !slices.Equal(got.also, []string{"uid-1"}) {
		t.Errorf("without the right to read kube-system: %+v, want its UID in also", got)
	}
	delete(p.denied, "get namespaces")
	if got := p.identities(t); got.owner != "uid-1" || !slices.Equal(got.also, []string{"uid-1-own-1"}) {
		t.Errorf("with the right again: %+v, want the UID of the ConfigMap in also", got)
	}
	p.denied["get namespaces"] = refused
	if err := p.Delete(t.Context(), p.held(t)); err != nil {
		t.Fatal(err)
	}
	if got := p.identities(t); got.owner != "uid-1-own-2" || len(got.also) > 0 {
		t.Errorf("with a new ConfigMap: %+v, want a new identity", got)
	}
}

// TestIdentityIsNotCopied: a ConfigMap that is restored or copied into another cluster does not make that cluster the owner of
// instances of the first.
func TestIdentityIsNotCopied(t *testing.T) {
	first := newPlane("uid-1")
	first.identities(t)
	copied := first.held(t)
	copied.ResourceVersion, copied.UID = "", "uid-2-restored" // an API server assigns a new UID
	second := newPlane("uid-2", copied)
	for what, denied := range map[string]error{"before": nil, "then": refused} {
		second.denied["get namespaces"] = denied
		got := second.identities(t)
		for _, id := range append(got.also, got.owner) {
			if strings.HasPrefix(id, "uid-1") {
				t.Errorf("%s: the second cluster has an identity of the first: %+v", what, got)
			}
		}
	}
}
