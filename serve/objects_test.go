package serve

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/provider"
)

// TestObjects: what is read is read once in a while, a rotation shows after that, and
// an answer that failed is neither kept nor taken for absence.
func TestObjects(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	bundle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "cloud", Name: "ca"}, Data: map[string]string{"ca": "old"}}
	reads, fails := 0, error(nil)
	c := fake.NewClientBuilder().WithObjects(bundle).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if reads++; fails != nil {
				return fails
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	o := newObjects(c, clk)
	ref := provider.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "cloud", Name: "ca"}
	says := func(want string, wantReads int) {
		t.Helper()
		raw, err := o.Object(t.Context(), ref)
		var got corev1.ConfigMap
		if err != nil || json.Unmarshal(raw, &got) != nil || got.Data["ca"] != want || reads != wantReads {
			t.Errorf("%q after %d reads, error %v; want %q after %d", got.Data["ca"], reads, err, want, wantReads)
		}
	}
	says("old", 1)
	bundle.Data["ca"] = "new"
	if err := c.Update(t.Context(), bundle); err != nil {
		t.Fatal(err)
	}
	says("old", 1)
	clk.Step(objectAge)
	says("new", 2)

	clk.Step(objectAge)
	maps := schema.GroupResource{Resource: "configmaps"}
	for name, r := range map[string]struct {
		reason string
		answer error
		kind   provider.Kind
		absent bool
	}{
		"forbidden": {"the role lacks it: a person has to mend that", apierrors.NewForbidden(maps, "ca", errors.New("no")), provider.Denied, false},
		"silent":    {"it will answer again", errors.New("connection refused"), provider.Transient, false},
		"missing":   {"the provider may put up with that", apierrors.NewNotFound(maps, "ca"), provider.Transient, true},
	} {
		fails = r.answer
		_, err := o.Object(t.Context(), ref)
		if provider.KindOf(err) != r.kind || errors.Is(err, provider.ErrNoObject) != r.absent {
			t.Errorf("%s: %s: %v", name, r.reason, err)
		}
	}
	fails = nil
	says("new", 6)
}
