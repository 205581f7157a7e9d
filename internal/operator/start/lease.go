package start

import (
	"context"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// times are those of leader election: how long others wait for a leader, how long the leader tries to
// renew, and how long it pauses.
type times struct{ lease, deadline, pause time.Duration }

// usualTimes are the original's: they outlast an API server that does not answer for one and a half
// minutes.
var usualTimes = times{137 * time.Second, 107 * time.Second, 26 * time.Second}

// singleTimes are for a control plane of one node, whose API server does not answer while it restarts.
var singleTimes = times{270 * time.Second, 240 * time.Second, 60 * time.Second}

// timesOf reads how many nodes the control plane of the cluster has. If that is unknown, the usual times
// hold.
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
