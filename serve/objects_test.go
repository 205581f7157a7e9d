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

// TestObjects: objects reads an object again after objectAge, and then detects a rotation. It does not cache a failed
// read, and does not treat it as absence.
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
		"forbidden": {"the role lacks the right: a user must add it", apierrors.NewForbidden(maps, "ca", errors.New("no")), provider.Denied, false},
		"silent":    {"the API server may answer later", errors.New("connection refused"), provider.Transient, false},
	} {
		fails = r.answer
		_, err := o.Object(t.Context(), ref)
		if provider.KindOf(err) != r.kind || errors.Is(err, provider.ErrNoObject) != r.absent {
			t.Errorf("%s: %s: error %v", name, r.reason, err)
		}
	}
	fails = nil
	says("new", 5)
}

// TestAbsentObjects: objects reads a missing object again only after absenceAge, or after this process has created
// it.
func TestAbsentObjects(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	reads := 0
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	o := newObjects(c, clk)
	ref := provider.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "cloud", Name: "ca"}
	has := func(want bool, wantReads int) {
		t.Helper()
		_, err := o.Object(t.Context(), ref)
		if errors.Is(err, provider.ErrNoObject) == want || want && err != nil || reads != wantReads {
			t.Errorf("error %v after %d reads, want the object to exist: %t, after %d", err, reads, want, wantReads)
		}
	}
	has(false, 1)
	if err := c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "cloud", Name: "ca"}}); err != nil {
		t.Fatal(err)
	}
	clk.Step(absenceAge - time.Second)
	has(false, 1)
	clk.Step(time.Second)
	has(true, 2)

	ref.Name = "claim"
	has(false, 3)
	if err := o.Keep(t.Context(), []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"cloud","name":"claim"}}`)); err != nil {
		t.Fatal(err)
	}
	has(true, 4)
}

// TestObjectKeptDuringRead: a read that began before this process stored its object is not cached.
func TestObjectKeptDuringRead(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	var meanwhile func()
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, o, opts...)
			if m := meanwhile; m != nil {
				meanwhile = nil
				m()
			}
			return err
		},
	}).Build()
	o := newObjects(c, clk)
	ref := provider.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "cloud", Name: "claim"}
	meanwhile = func() {
		if err := o.Keep(t.Context(), []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"cloud","name":"claim"}}`)); err != nil {
			t.Error(err)
		}
	}
	if _, err := o.Object(t.Context(), ref); !errors.Is(err, provider.ErrNoObject) {
		t.Errorf("the read that began first: error %v", err)
	}
	if _, err := o.Object(t.Context(), ref); err != nil {
		t.Errorf("after the object was stored: error %v", err)
	}
}
