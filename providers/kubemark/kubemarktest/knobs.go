// Package kubemarktest has the conformance suite's knobs for kubemark, in any process.
package kubemarktest

import (
	"context"
	"fmt"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// Knobs returns the knobs of the conformance suite. The console is that of the provider that was started
// last; elsewhere starts a provider for another account.
func Knobs(
	c *clocktesting.FakeClock, faults *providertest.Faults, console func() kubemark.Console, elsewhere func() (provider.Provider, error),
) providertest.Knobs {
	ctx := context.Background()
	with := func(class provider.Class, id string, do func(provider.Instance) error) error {
		all, err := console().Instances(ctx, class.Cluster)
		for _, i := range all {
			if i.ID == id {
				return do(i)
			}
		}
		return fmt.Errorf("no instance %s: %w", id, err)
	}
	return providertest.Knobs{
		Advance: c.Step,
		Inject:  faults.Inject,
		Lag:     faults.Lag,
		Plant: func(class provider.Class, i provider.Instance) error {
			_, err := console().Plant(ctx, class, i)
			return err
		},
		Remove: func(class provider.Class, id string) error {
			return with(class, id, func(i provider.Instance) error { return console().Remove(ctx, class.Cluster, i) })
		},
		GiveUp: func(class provider.Class, id string) error {
			return with(class, id, func(i provider.Instance) error {
				return console().GiveUp(ctx, class.Cluster, i, provider.Exhausted)
			})
		},
		Rotate: func(class provider.Class) (provider.Class, error) {
			class.Credentials = map[string][]byte{"password": []byte("rotated")}
			return class, console().SetPassword("rotated")
		},
		Elsewhere: func(ctx context.Context, class provider.Class) (provider.Session, error) {
			other, err := elsewhere()
			if err != nil {
				return nil, err
			}
			return other.Open(ctx, class)
		},
		Leave: func(class provider.Class, ref provider.Ref) error { return console().Leave(class, ref) },
		Count: func(class provider.Class) (instances, dependants int, err error) {
			all, err := console().Instances(ctx, class.Cluster)
			if err != nil {
				return 0, 0, err
			}
			dependants, err = console().Dependants(class.Cluster)
			return len(all), dependants, err
		},
	}
}
