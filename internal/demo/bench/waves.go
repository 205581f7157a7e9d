package bench

import (
	"context"
	"fmt"
	"time"
)

// surgeOf is how many machines a rolling update may have above the wanted number: a
// tenth, rounded up, as in the deployments of the shapes.
func surgeOf(machines int) int { return (machines + 9) / 10 }

// waveCeilings are the times in which the raw client replaces all machines within the
// same bounds.
func (s *session) waveCeilings(ctx context.Context) (c ceilings, err error) {
	s.logf("measuring the raw ceiling")
	if _, err = s.ceiling(ctx, "warm", warmUp, false); err != nil {
		return c, err
	}
	old, raw, joining := names("old", s.machines), names("raw", s.machines), names("join", s.machines)
	client := s.client(ctx)
	settle := func(name string) error {
		if err := client.makeNode(name, false); err != nil {
			return err
		}
		return client.create(name, false)
	}
	if _, err = each(old, settle); err != nil {
		return c, fmt.Errorf("make machines to replace: %w", err)
	}
	if _, err = each(raw, func(name string) error { return client.makeNode(name, false) }); err != nil {
		return c, fmt.Errorf("make nodes beforehand: %w", err)
	}
	if c.waves, err = s.wavesOf(ctx, old, raw, false); err != nil {
		return c, err
	}
	if c.wavesJoining, err = s.wavesOf(ctx, raw, joining, true); err != nil {
		return c, err
	}
	s.logf("ceiling: replace %.2f s (%.2f s with nodes joining)", c.waves.Seconds(), c.wavesJoining.Seconds())
	if _, err = each(joining, client.remove); err != nil {
		return c, fmt.Errorf("delete without a controller: %w", err)
	}
	return c, s.quiet(ctx)
}

// wavesOf replaces old machines by new ones in waves of the size of the surge. Each wave
// is created, and is ready if nodes join, before the same number of old machines is
// deleted. The old machines no longer exist before the next wave is created.
func (s *session) wavesOf(ctx context.Context, old, fresh []string, joining bool) (time.Duration, error) {
	if err := s.quiet(ctx); err != nil {
		return 0, err
	}
	client, surge := s.client(ctx), surgeOf(len(old))
	begin := time.Now()
	for from := 0; from < len(old); from += surge {
		to := min(from+surge, len(old))
		mark := len(s.plane.audit.writes)
		if _, err := each(fresh[from:to], func(name string) error { return client.create(name, joining) }); err != nil {
			return 0, fmt.Errorf("create a wave without a controller: %w", err)
		}
		if joining {
			if err := s.awaitNodes(ctx, fresh[from:to], mark); err != nil {
				return 0, err
			}
		}
		if _, err := each(old[from:to], client.remove); err != nil {
			return 0, fmt.Errorf("delete a wave without a controller: %w", err)
		}
	}
	return time.Since(begin), nil
}

// awaitNodes waits until the nodes are Ready, according to the audit log after its
// first mark writes.
func (s *session) awaitNodes(ctx context.Context, names []string, mark int) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	waiting := map[string]bool{}
	for _, name := range names {
		waiting[name] = true
	}
	for {
		if err := s.plane.audit.read(); err != nil {
			return err
		}
		for _, w := range s.plane.audit.writes[mark:] {
			if w.by("kwok") && w.is("patch nodes/status") {
				delete(waiting, w.Name)
			}
		}
		mark = len(s.plane.audit.writes)
		if len(waiting) == 0 {
			return nil
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("wait for %d of %d nodes of a wave: %w", len(waiting), len(names), err)
		}
	}
}
