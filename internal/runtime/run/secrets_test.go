package run

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestSecretsAreRememberedBriefly: a fleet of one class reads its secrets a few
// times a minute, and a rotated one is seen within seconds.
func TestSecretsAreRememberedBriefly(t *testing.T) {
	reads := 0
	inner := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	clock := testclock.NewFakePassiveClock(time.Unix(1000, 0))
	c := &secretCache{Client: inner, clock: clock, seen: map[client.ObjectKey]seenSecret{}}
	key := client.ObjectKey{Namespace: "ns", Name: "cloud"}
	get := func() (string, error) {
		var s corev1.Secret
		err := c.Get(t.Context(), key, &s)
		return string(s.Data["password"]), err
	}

	if _, err := get(); !apierrors.IsNotFound(err) {
		t.Fatalf("a secret that is not there: %v", err)
	}
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: map[string][]byte{"password": []byte("old")}}
	if err := inner.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	clock.SetTime(clock.Now().Add(secretTTL + time.Second))
	for range 3 {
		if got, err := get(); got != "old" || err != nil {
			t.Fatalf("got %q (%v), want old", got, err)
		}
	}
	if reads != 2 {
		t.Errorf("%d reads, want 2: one that found none, one that found it", reads)
	}
	s.Data["password"] = []byte("new")
	if err := inner.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	clock.SetTime(clock.Now().Add(secretTTL + time.Second))
	if got, _ := get(); got != "new" {
		t.Errorf("a rotated secret still reads %q after %v", got, secretTTL)
	}
}

// TestSecretsAreCopies: what a caller does to a secret is its own affair.
func TestSecretsAreCopies(t *testing.T) {
	inner := fake.NewClientBuilder().WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Data: map[string][]byte{"k": []byte("v")},
	}).Build()
	c := &secretCache{Client: inner, clock: testclock.NewFakePassiveClock(time.Unix(1000, 0)), seen: map[client.ObjectKey]seenSecret{}}
	for range 2 {
		var s corev1.Secret
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "s"}, &s); err != nil || string(s.Data["k"]) != "v" {
			t.Fatalf("got %q (%v)", s.Data["k"], err)
		}
		s.Data["k"][0] = 'x'
	}
}
