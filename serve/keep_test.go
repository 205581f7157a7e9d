package serve

import (
	"context"
	"errors"
	"fmt"
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

const hold = "example.org/hold"

// holding returns the JSON of an object that a provider stores for the machine.
func holding(machine string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"machines","name":"held","finalizers":[%q],
		"ownerReferences":[{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","name":%q,"uid":"u"}]}}`, hold, machine)
}

// TestKeep: Keep creates an object once, and does not change an existing object.
func TestKeep(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	o := newObjects(c, clocktesting.NewFakeClock(time.Now()))
	for _, machine := range []string{"m-1", "m-2"} {
		if err := o.Keep(t.Context(), []byte(holding(machine))); err != nil {
			t.Fatal(err)
		}
	}
	var held corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "machines", Name: "held"}, &held); err != nil {
		t.Fatal(err)
	}
	if len(held.OwnerReferences) != 1 || held.OwnerReferences[0].Name != "m-1" || len(held.Finalizers) != 1 {
		t.Errorf("the object is %+v", held.ObjectMeta)
	}
	if err := o.Keep(t.Context(), []byte(`{}`)); provider.KindOf(err) != provider.Invalid {
		t.Errorf("keep an object without a kind: error %v, want an Invalid error", err)
	}
}

// TestRelease: Release deletes the object of a machine and removes the finalizer of the caller, even if the object is
// already under deletion. Other objects stay.
func TestRelease(t *testing.T) {
	ref := provider.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "machines", Name: "held"}
	for _, row := range []struct {
		name, machine string
		finalizers    []string
		leaving       bool
		there         bool
		want          []string
	}{
		{"ours", "m-1", []string{hold}, false, false, nil},
		{"deleted by a user before", "m-1", []string{hold}, true, false, nil},
		{"another's finalizer", "m-1", []string{hold, "ipam/held"}, false, true, []string{"ipam/held"}},
		{"another machine's", "m-2", []string{hold}, false, true, []string{hold}},
		{"an object without an owner", "", []string{hold}, false, true, []string{hold}},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "machines", Name: "held", Finalizers: row.finalizers}}
			if row.machine != "" {
				m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "machine.openshift.io/v1beta1", Kind: "Machine", Name: row.machine, UID: "u"}}
			}
			c := fake.NewClientBuilder().WithObjects(m).Build()
			if row.leaving {
				if err := c.Delete(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			}
			o := newObjects(c, clocktesting.NewFakeClock(time.Now()))
			for range 2 {
				if err := o.Release(t.Context(), ref, "m-1", hold); err != nil {
					t.Fatal(err)
				}
			}
			err := c.Get(t.Context(), client.ObjectKeyFromObject(m), m)
			if (err == nil) != row.there || row.there && fmt.Sprint(m.Finalizers) != fmt.Sprint(row.want) {
				t.Errorf("error %v, finalizers %v", err, m.Finalizers)
			}
		})
	}
}

// TestKeepingFails: each response of the API server is reported with its kind.
func TestKeepingFails(t *testing.T) {
	maps := schema.GroupResource{Resource: "configmaps"}
	for _, row := range []struct {
		answer error
		kind   provider.Kind
		absent bool
	}{
		{apierrors.NewForbidden(maps, "held", errors.New("no")), provider.Denied, false},
		{apierrors.NewNotFound(maps, "held"), provider.Transient, true},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "held", nil), provider.Invalid, false},
		{errors.New("connection refused"), provider.Transient, false},
	} {
		c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
				return row.answer
			},
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return row.answer
			},
		}).Build()
		o := newObjects(c, clocktesting.NewFakeClock(time.Now()))
		err := o.Keep(t.Context(), []byte(holding("m-1")))
		if provider.KindOf(err) != row.kind || errors.Is(err, provider.ErrNoObject) != row.absent {
			t.Errorf("keep: error %v", err)
		}
		err = o.Release(t.Context(), provider.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "machines", Name: "held"}, "m-1", hold)
		if row.absent && err != nil || !row.absent && provider.KindOf(err) != row.kind {
			t.Errorf("release: error %v", err)
		}
	}
}
