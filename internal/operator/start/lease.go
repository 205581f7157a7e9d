package start

import (
	"context"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// times are those of leader election: how long others wait for a leader, how long that tries to renew, and how long it pauses.
type times struct{ lease, deadline, pause time.Duration }

// usualTimes are the original's: they outlast an API server that is away for one and a half minutes.
var usualTimes = times{137 * time.Second, 107 * time.Second, 26 * time.Second}

// singleTimes are for a control plane of one node, whose API server is away for as long as that takes to start again.
var singleTimes = times{270 * time.Second, 240 * time.Second, 60 * time.Second}

// timesOf asks the cluster how many nodes its control plane has. Where it does not say, the usual times hold.
func timesOf(ctx context.Context, c client.Reader) times {
	var i configv1.Infrastructure
	if err := c.Get(ctx, client.ObjectKey{Name: "cluster"}, &i); err != nil {
		return usualTimes
	}
	if i.Status.ControlPlaneTopology == configv1.SingleReplicaTopologyMode {
		return singleTimes
	}
	return usualTimes
}
