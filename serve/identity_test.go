package serve

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestIdentity: a namespace that may not be read is no reason not to start; an API
// server that does not answer is, or all that is made until the next start would
// carry no owner.
func TestIdentity(t *testing.T) {
	namespaces := schema.GroupResource{Resource: "namespaces"}
	tests := map[string]struct {
		reason string
		answer error
		want   string
		fails  bool
	}{
		"read":      {"the UID is the identity", nil, "uid-1", false},
		"forbidden": {"the roles of the originals do not let it be read", apierrors.NewForbidden(namespaces, "kube-system", errors.New("no")), "", false},
		"missing":   {"a control plane of a few APIs may have none", apierrors.NewNotFound(namespaces, "kube-system"), "", false},
		"silent":    {"it will answer again", errors.New("connection refused"), "", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "uid-1"}}
			c := fake.NewClientBuilder().WithObjects(ns).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if tc.answer != nil {
						return tc.answer
					}
					return c.Get(ctx, key, o, opts...)
				},
			}).Build()
			got, err := identityOf(t.Context(), c, logr.Discard())
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("%s: %q, error %v", tc.reason, got, err)
			}
		})
	}
}
