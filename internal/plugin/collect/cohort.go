package collect

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// Cohort has a health check, the machines that it selects, and its controller's plan for the stored objects. The
// controller also knows how long it has observed each machine, and how good its connection is.
type Cohort struct {
	// API is the group of the machines.
	API      string
	Check    health.Check
	Machines []*health.Judged
	Plan     health.Plan
	// Past has the remediations that the controller has recorded, the oldest first.
	Past []health.Past
}

// cohort judges the machines of a health check. It returns nil if machines or nodes cannot be read: an unread node
// does not make its machine unhealthy.
func cohort(ctx context.Context, l *look, c *lenient.MachineHealthCheck) *Cohort {
	api, served := apis.Of(among(c))
	if !served {
		return nil
	}
	machines, err := l.listed(ctx, kindOf(api.Name, "Machine"), c.Namespace)
	l.gap("machines", err)
	nodes, looked := l.nodes(ctx)
	if err != nil || !looked {
		return nil
	}
	lens := of(subject(c)).Checks
	out := &Cohort{API: api.Name, Check: lens.View(c)}
	selector := lens.Selector(c)
	for _, m := range machines {
		if selector.Matches(labels.Set(m.GetLabels())) {
			t := api.Patients.Patient(m, health.NodeOf(nodes[api.Patients.NodeName(m)], dialect.RackLabel(c)))
			j := health.Judge(l.now, connectivity.State{}, &out.Check, nil, &t)
			j.Since = earliest(j.Since, j.Verdict.Began)
			out.Machines = append(out.Machines, &j)
		}
	}
	seen := health.Connectivity{Nodes: len(nodes), Cluster: target(ctx, l, api, nodes)}
	memory := dialect.ReadMemory(c)
	out.Past = memory.Past
	out.Plan = health.Decide(l.now, health.Cohort{Check: out.Check, Machines: out.Machines}, seen, memory)
	return out
}

func earliest(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// target returns the facts about the target cluster, from all machines of the API that the user may read.
func target(ctx context.Context, l *look, api apis.API, nodes map[string]*corev1.Node) (c health.Cluster) {
	uid, err := identity(ctx, l)
	if err != nil {
		c.Unknown = "it is not known whether the cluster that answers is the one that the machines joined: " + err.Error()
	}
	c.UID = uid
	all, err := l.listed(ctx, kindOf(api.Name, "Machine"), "")
	l.gap("machines of other namespaces", err)
	var targets []health.Target
	for _, m := range all {
		targets = append(targets, api.Patients.Patient(m, nil))
	}
	names := map[string]bool{}
	for name := range nodes {
		names[name] = true
	}
	c.Gather(targets, names)
	return c
}

// identity returns the UID of the target cluster, or "" if the user may not read it.
func identity(ctx context.Context, l *look) (string, error) {
	return once(l, "identity", func() (string, error) {
		return (&node.Identity{Live: l.Target, Clock: clock.RealClock{}}).UID(ctx, 0)
	})
}
