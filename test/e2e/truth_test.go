package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/verify/checker"
	"github.com/millwright-dev/millwright/internal/verify/record"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// clusters are the ownership scopes of the instances, by API.
var clusters = map[string]string{provider.OpenShift: "crash", provider.Gardener: fleet.GardenerNamespace}

// truth compares the objects of the API with the real instances and nodes.
type truth struct {
	*fleet.Fleet
	console kubemark.Console
}

func truthOf(f *fleet.Fleet) (truth, error) {
	p, err := kubemark.New(kubemark.Config{Dir: fleet.CloudDir(f.Dir)})
	if err != nil {
		return truth{}, fmt.Errorf("look at the infrastructure: %w", err)
	}
	return truth{f, p.Console()}, nil
}

// settled returns the difference between the present state and the state at rest: each API has its number of machines, each
// machine has one instance and one node, and nothing else exists. All machines have joined or were removed, so no bootstrap
// token is needed.
func (w truth) settled(ctx context.Context, replicas int) (missing string, err error) {
	return w.atRest(ctx, slices.Collect(maps.Values(clusters)), replicas*len(clusters))
}

// atRest returns the difference for the given wanted numbers of machines, whose instances are in these clusters.
func (w truth) atRest(ctx context.Context, clusters []string, wanted int) (missing string, err error) {
	events, err := record.Objects(ctx, w.Client, record.Tokens)
	if err != nil {
		return "", err
	}
	var seen record.Watch
	began := time.Now()
	sights, err := w.sights(ctx, clusters)
	if err != nil {
		return "", err
	}
	events = append(events, seen.Look(began, time.Now(), sights)...)
	instances := map[string]int{}
	for _, s := range sights {
		instances[s.Cluster]++
	}
	var left []string
	for _, cluster := range clusters {
		dependants, err := w.console.Dependants(cluster)
		if err != nil {
			return "", err
		}
		if dependants != 2*instances[cluster] {
			left = append(left, fmt.Sprintf("%d instances of %s have %d disks and network interfaces", instances[cluster], cluster, dependants))
		}
	}
	events = append(events, checker.Event{At: time.Now(), What: checker.Mark, Mark: checker.AtRest, Wanted: &wanted, Message: strings.Join(left, ", ")})
	return checker.Wrong(checker.Run{Events: events}, checker.Rest), nil
}

// sights returns the present instances of these clusters. The list shows no times, and may take seconds on a busy machine: an instance
// was accepted, and the request to end it, at some moment before the list ended.
func (w truth) sights(ctx context.Context, clusters []string) (all []record.Sight, err error) {
	for _, cluster := range clusters {
		instances, err := w.console.Instances(ctx, cluster)
		if err != nil {
			return nil, err
		}
		now := time.Now()
		for _, i := range instances {
			s := record.Sight{ID: i.ID, Cluster: cluster, UID: i.UID, Machine: i.Name, Made: now}
			if i.State == provider.Stopping {
				s.Ending = now
			}
			all = append(all, s)
		}
	}
	return all, nil
}
