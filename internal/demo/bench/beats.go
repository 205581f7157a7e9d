package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

const (
	// period is the heartbeat period of a busy kubelet: one status update and one
	// renewed lease of each node. Kwok renews the leases; the bench updates the
	// statuses, because kwok does so only every ten minutes.
	period = 10 * time.Second
	// heart is the user agent of heartbeats.
	heart = "millwright-heart"
)

// pulse is a node that gets heartbeats, with the types of its conditions.
type pulse struct {
	node       string
	conditions []string
}

// heartbeat is the patch that a kubelet sends: the heartbeat time of each condition.
// Nothing else changes.
func (p pulse) heartbeat(now time.Time) []byte {
	type condition struct {
		Type              string    `json:"type"`
		LastHeartbeatTime time.Time `json:"lastHeartbeatTime"`
	}
	conditions := make([]condition, len(p.conditions))
	for i, c := range p.conditions {
		conditions[i] = condition{c, now.UTC().Truncate(time.Second)}
	}
	raw, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": conditions}})
	if err != nil {
		panic(err) // strings and current times can always be encoded
	}
	return raw
}

// pulses are all nodes, each with all conditions that it has, because a heartbeat
// must not add a condition.
func (s *session) pulses(ctx context.Context) ([]pulse, error) {
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct{ Conditions []struct{ Type string } }
		}
	}
	if err := s.plane.get(ctx, "/api/v1/nodes", &list); err != nil {
		return nil, err
	}
	out := make([]pulse, len(list.Items))
	for i, n := range list.Items {
		out[i].node = n.Metadata.Name
		for _, c := range n.Status.Conditions {
			out[i].conditions = append(out[i].conditions, c.Type)
		}
		if len(n.Status.Conditions) == 0 {
			return nil, fmt.Errorf("node %s has no condition that could be refreshed", n.Metadata.Name)
		}
	}
	if len(out) != s.machines {
		return nil, fmt.Errorf("there are %d nodes, want %d", len(out), s.machines)
	}
	return out, nil
}

// beat sends the heartbeats of all nodes, spread evenly over the period, until stop is
// called. If the control plane cannot keep up, it gets fewer heartbeats, which its audit
// log shows.
func (s *session) beat(ctx context.Context) (stop func() error, err error) {
	pulses, err := s.pulses(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	due := make(chan pulse)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(due)
		return schedule(ctx, period, pulses, due)
	})
	for range workers {
		g.Go(func() error {
			for p := range due {
				if err := send(ctx, s.plane.raw, p); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return func() error {
		early := ctx.Err() != nil
		cancel()
		if err := g.Wait(); early {
			return fmt.Errorf("heartbeats ended too early: %w", err)
		}
		return nil
	}, nil
}

// schedule sends each pulse once in a period until ctx ends. It catches up if it is
// late.
func schedule(ctx context.Context, period time.Duration, pulses []pulse, due chan<- pulse) error {
	gap := period / time.Duration(len(pulses))
	for next := time.Now(); ; {
		for _, p := range pulses {
			if err := pause(ctx, time.Until(next)); err != nil {
				return err
			}
			select {
			case due <- p:
			case <-ctx.Done():
				return ctx.Err()
			}
			next = next.Add(gap)
		}
	}
}

func send(ctx context.Context, raw rest.Interface, p pulse) error {
	r := raw.Patch(types.StrategicMergePatchType).AbsPath(nodePath(p.node)+"/status").
		SetHeader("User-Agent", heart+"/v0").Body(p.heartbeat(time.Now()))
	if _, err := r.DoRaw(ctx); err != nil {
		return fmt.Errorf("heartbeat of %s: %w", p.node, err)
	}
	return nil
}
