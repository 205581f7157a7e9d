package admission_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/departures"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// as is the client of another user, who may delete machines.
func (b *box) as(t *testing.T, user string) client.Client {
	t.Helper()
	c := rest.CopyConfig(b.config)
	c.Impersonate.UserName = user
	k, err := client.New(c, client.Options{Scheme: run.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestDeletionIsNamed: a deletion by another client than Millwright's programs leaves one event with the name of the
// client, in both APIs. A dry run, a repeated deletion and a deletion by a controller leave none.
func TestDeletionIsNamed(t *testing.T) {
	b := startBox(t)
	ctx := t.Context()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "deletes-machines"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"machine.openshift.io", "machine.sapcloud.io"}, Resources: []string{"machines"}, Verbs: []string{"delete"}}}}
	bound := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "deletes-machines"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}, Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:authenticated"}}}
	for _, o := range []client.Object{role, bound} {
		if err := b.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Delete(context.WithoutCancel(ctx), o) })
	}
	b.serve(t)
	const finalizer, jane, controller = "test/x", "jane <b>@example.com", "system:serviceaccount:anywhere:machine-controller-manager"
	machine := func(name string) client.Object {
		m := b.machine(name, `{"size":"small"}`)
		m.Finalizers = []string{finalizer}
		return m
	}
	other := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "g", Finalizers: []string{finalizer}}, Spec: v1alpha1.MachineSpec{Class: v1alpha1.ClassSpec{Kind: "MachineClass", Name: "c"}}}
	steps := []struct {
		o    client.Object
		user string
		opts []client.DeleteOption
		want string
	}{
		{machine("dry"), jane, []client.DeleteOption{client.DryRunAll}, ""},
		{machine("scaled"), controller, nil, ""},
		{machine("direct"), jane, nil, jane},
		{machine("bot"), "system:serviceaccount:ci:cleaner", nil, "system:serviceaccount:ci:cleaner"},
		{other, jane, nil, jane},
	}
	for _, s := range steps {
		if err := b.Create(ctx, s.o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = b.patch(context.WithoutCancel(ctx), s.o, `{"metadata":{"finalizers":null}}`)
			_ = b.Delete(context.WithoutCancel(ctx), s.o)
		})
		for range 2 { // the second deletion is of a machine in deletion
			if err := b.as(t, s.user).Delete(ctx, s.o, s.opts...); err != nil {
				t.Fatal(err)
			}
		}
	}
	var events corev1.EventList
	if err := b.List(ctx, &events, client.InNamespace(b.namespace), client.MatchingFields{"reason": departures.EventRequested}); err != nil {
		t.Fatal(err)
	}
	got := departures.FromEvents(events.Items)
	wanted := 0
	for _, s := range steps {
		d := got[string(s.o.GetUID())]
		if d.By != s.want {
			t.Errorf("%s was deleted by %q, by its event %q", s.o.GetName(), s.want, d.By)
		}
		if s.want != "" {
			wanted++
		}
	}
	if len(events.Items) != wanted {
		t.Errorf("%d events, want %d", len(events.Items), wanted)
	}
}
