package sim

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
)

// cleared makes worlds in which users soon delete the namespace.
func cleared(c *profile) {
	troubled(func(t *troubles) { t.ends = 30 })(c)
	c.sets, c.singles, c.percent, c.cloud.Lag = 0, 3, [allFaults]int{}, 0
}

// endingMutants are defects that show only when the namespace is deleted.
func endingMutants() []Mutation {
	return []Mutation{
		{
			Name: "a secret that is missing counts as empty", Finds: []string{judge.SaysWhy}, Dialects: []string{OpenShift}, Setting: cleared,
			Client: silenced,
		},
		{
			Name: "what a person says of an instance is not heard", Finds: []string{judge.LeavesNothing}, Setting: cleared,
			View: func(m *lifecycle.Machine) { m.Deletion.Abandon = false },
		},
		{
			Name: "a secret is let go with the deletion of its class", Finds: []string{judge.SecretHeld}, Dialects: []string{Gardener},
			Setting: func(c *profile) {
				cleared(c)
				c.helpers, c.viewLag = true, 30*time.Second
			},
			Helpers: func(c client.Client, live client.Reader) (client.Client, client.Reader) {
				return forgetting{c}, forgettingToo{live}
			},
		},
	}
}

// silenced reports no missing secret.
func silenced(c client.Client, live client.Reader) (client.Client, client.Reader) {
	return secretIgnorer{c}, live
}

// secretIgnorer returns an empty secret instead of NotFound.
type secretIgnorer struct{ client.Client }

// Get implements [client.Reader].
func (c secretIgnorer) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, o, opts...)
	if _, is := o.(*corev1.Secret); is {
		return client.IgnoreNotFound(err)
	}
	return err
}

// forgetting and forgettingToo do not see classes that are being deleted.
type (
	forgetting    struct{ client.Client }
	forgettingToo struct{ client.Reader }
)

// List implements [client.Reader].
func (c forgetting) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Client.List(ctx, list, opts...)
	forget(list)
	return err
}

// List implements [client.Reader].
func (r forgettingToo) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := r.Reader.List(ctx, list, opts...)
	forget(list)
	return err
}

func forget(list client.ObjectList) {
	if l, is := list.(*v1alpha1.MachineClassList); is {
		l.Items = slices.DeleteFunc(l.Items, func(c v1alpha1.MachineClass) bool { return c.DeletionTimestamp != nil })
	}
}
