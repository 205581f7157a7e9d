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

// plane is a control plane whose responses a test chooses. denied has "verb resource".
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

// newPlane returns a plane with the UID of kube-system and these objects.
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

// TestIdentity: if an identity cannot be read, the process starts nevertheless, and uses another identity. If the API server
// does not answer, the process does not start, because all new instances until the next start would have no owner.
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
		"gardener":      {"the originals' roles do not let kube-system be read", map[string]error{"get namespaces": refused}, "uid-1-own-1", nil, "", false},
		"few APIs":      {"a control plane may have no kube-system", map[string]error{"get namespaces": gone}, "uid-1-own-1", nil, "", false},
		"no ConfigMap":  {"kube-system is enough", map[string]error{"create configmaps": refused}, "uid-1", nil, "", false},
		"no update":     {"the record is only for later", map[string]error{"update configmaps": refused}, "uid-1", []string{"uid-1-own-1"}, "", false},
		"neither":       {"nothing is known", map[string]error{"get namespaces": refused, "get configmaps": refused}, "", nil, "forbidden", false},
		"neither made":  {"nothing can be known", map[string]error{"get namespaces": refused, "create configmaps": refused}, "", nil, "forbidden", false},
		"silent":        {"it will answer again", map[string]error{"get namespaces": silent}, "", nil, "", true},
		"silent later":  {"it will answer again", map[string]error{"get namespaces": refused, "get configmaps": silent}, "", nil, "", true},
		"silent at all": {"a ConfigMap that may be there is not ignored", map[string]error{"get configmaps": silent}, "", nil, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlane("uid-1")
			for what, err := range tc.denied {
				p.denied[what] = err
			}
			got, err := identityOf(t.Context(), p, "ns", logr.Discard())
			if (err != nil) != tc.fails {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if got.owner != tc.owner || !slices.Equal(got.also, tc.also) || !strings.Contains(got.lacks, tc.lacks) || (got.lacks == "") != (tc.lacks == "") {
				t.Errorf("%s: %+v", tc.reason, got)
			}
		})
	}
}

// TestIdentityLasts: restarts, changing rights, and the loss of the ConfigMap.
func TestIdentityLasts(t *testing.T) {
	p := newPlane("uid-1")
	if first, again := p.identities(t), p.identities(t); first.owner != "uid-1" || again.owner != "uid-1" || !slices.Equal(again.also, []string{"uid-1-own-1"}) || p.made != 1 {
		t.Errorf("%+v, then %+v, of %d ConfigMaps", first, again, p.made)
	}
	p.denied["get namespaces"] = refused
	if got := p.identities(t); got.owner != "uid-1-own-1" || !slices.Equal(got.also, []string{"uid-1"}) {
		t.Errorf("with the right taken away: %+v, want what kube-system marked to stay ours", got)
	}
	delete(p.denied, "get namespaces")
	if got := p.identities(t); got.owner != "uid-1" || !slices.Equal(got.also, []string{"uid-1-own-1"}) {
		t.Errorf("with the right back: %+v, want what the ConfigMap marked to stay ours", got)
	}
	p.denied["get namespaces"] = refused
	if err := p.Delete(t.Context(), p.held(t)); err != nil {
		t.Fatal(err)
	}
	if got := p.identities(t); got.owner != "uid-1-own-2" || len(got.also) > 0 {
		t.Errorf("with another ConfigMap: %+v, want another identity", got)
	}
}

// TestIdentityIsNotCopied: a ConfigMap that is restored or copied into another cluster does not make that cluster the owner of
// instances of the first.
func TestIdentityIsNotCopied(t *testing.T) {
	first := newPlane("uid-1")
	first.identities(t)
	copied := first.held(t)
	copied.ResourceVersion, copied.UID = "", "uid-2-restored" // as in any API server
	second := newPlane("uid-2", copied)
	for what, denied := range map[string]error{"before": nil, "then": refused} {
		second.denied["get namespaces"] = denied
		got := second.identities(t)
		for _, id := range append(got.also, got.owner) {
			if strings.HasPrefix(id, "uid-1") {
				t.Errorf("%s: the copy takes itself for the first: %+v", what, got)
			}
		}
	}
}
