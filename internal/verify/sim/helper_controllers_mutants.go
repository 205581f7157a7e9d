package sim

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
)

// helperSetting makes worlds in which users delete classes, and in which machines are created and deleted.
func helperSetting(c *profile) {
	c.wider = wider{helperProfile: helperProfile{helpers: true}, trouble: 25}
	c.sets, c.singles, c.apps = 0, 2, 0
}

// helperMutants are defects of the helper controllers.
func helperMutants() []Mutation {
	return []Mutation{
		{
			Name: "a class is let go by what a cache shows", Finds: []string{judge.ClassHeld}, Dialects: []string{Gardener},
			Setting: func(c *profile) {
				helperSetting(c)
				c.trouble, c.deployments, c.viewLag = 15, 0, 30*time.Second
				c.cloud.Boot, c.cloud.Stop, c.cloud.Lag, c.percent = 0, 0, 0, [allFaults]int{}
			},
			Helpers: func(c client.Client, _ client.Reader) (client.Client, client.Reader) { return c, c },
		},
		{
			Name: "nobody says what a deployment would offer", Finds: []string{judge.Converges}, Dialects: []string{OpenShift},
			Setting: func(c *profile) {
				helperSetting(c)
				c.deployments = 1
			},
			Helpers: func(c client.Client, live client.Reader) (client.Client, client.Reader) {
				return deploymentSilencer{c}, live
			},
		},
	}
}

// deploymentSilencer drops patches of deployments.
type deploymentSilencer struct{ client.Client }

// Patch implements [client.Writer].
func (c deploymentSilencer) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if _, is := o.(*v1beta1.MachineDeployment); is {
		return nil
	}
	return c.Client.Patch(ctx, o, p, opts...)
}
