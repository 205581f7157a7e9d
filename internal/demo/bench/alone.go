package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// alone is how many machines are deleted one after another, to measure a deletion
// while nothing else is in progress.
const alone = 10

// agent is the user agent of the bench's own writes.
const agent = "millwright-bench"

// Alone is how long the deletion of a machine without pods takes when nothing else is
// in progress: from the answer to the request until the object does not exist. The
// infrastructure of the bench removes instances at once; the little time that this
// takes is included.
type Alone struct {
	Machines int `json:"machines"`
	// Ceiling is the latency of the raw client, which only does the writes.
	Latency Latency `json:"latency"`
	Ceiling Latency `json:"ceiling"`
}

// aloneCeiling lets the raw client delete machines one after another.
func (s *session) aloneCeiling(ctx context.Context) (*Latency, error) {
	client, names := s.client(ctx), names("alone", min(alone, s.machines))
	for _, name := range names {
		if err := inOrder([]func() error{
			func() error { return client.makeNode(name, false) }, func() error { return client.create(name, false) },
		}); err != nil {
			return nil, fmt.Errorf("create a machine without a controller: %w", err)
		}
	}
	if err := s.quiet(ctx); err != nil {
		return nil, err
	}
	begin := time.Now()
	for _, name := range names {
		if err := client.remove(name); err != nil {
			return nil, fmt.Errorf("delete a machine without a controller: %w", err)
		}
	}
	if err := s.quiet(ctx); err != nil {
		return nil, err
	}
	return leaving(s.plane.audit.since(begin), agent, agent), nil
}

// leaveAlone creates some machines and deletes them one after another. There are
// no machines before and after.
func (s *session) leaveAlone(ctx context.Context, ceiling *Latency) (*Alone, error) {
	n := min(alone, s.machines)
	s.logf("delete %d machines one after another", n)
	begin := time.Now()
	for _, size := range append([]int{n}, downFrom(n)...) {
		if err := s.plane.scale(ctx, s.shape.sets(1)[0].path, size); err != nil {
			return nil, err
		}
		if err := s.await(ctx, func(ctx context.Context) (bool, error) { return s.settled(ctx, size) }); err != nil {
			return nil, fmt.Errorf("delete one after another: %w", err)
		}
	}
	if err := s.await(ctx, s.allGone); err != nil {
		return nil, fmt.Errorf("delete one after another: %w", err)
	}
	if err := s.quiet(ctx); err != nil {
		return nil, err
	}
	took := leaving(s.plane.audit.since(begin), fleet.Sets, fleet.Machines)
	if took == nil || ceiling == nil {
		return nil, errors.New("delete one after another: the audit log shows no end")
	}
	return &Alone{Machines: n, Latency: *took, Ceiling: *ceiling}, nil
}

// downFrom are the sizes from n-1 down to 0.
func downFrom(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = n - 1 - i
	}
	return out
}

// settled reports whether exactly this number of machines exists, all of them Ready.
func (s *session) settled(ctx context.Context, machines int) (bool, error) {
	all, err := s.plane.Census(ctx)
	if err != nil || len(all) != machines {
		return false, err
	}
	for _, m := range all {
		if !m.Ready() {
			return false, nil
		}
	}
	return true, nil
}

// leaving is the latency from the deletion of machines by one program until the
// other program has removed their finalizers.
func leaving(writes []write, deleter, releaser string) *Latency {
	return quantiles(between(answered(writes, deleter, "delete machines"), lastByName(writes, releaser, "patch machines")))
}
