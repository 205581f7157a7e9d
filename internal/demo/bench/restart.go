package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// Rest is what the controllers do while all machines run and there is nothing to do.
type Rest struct {
	// Percent is the part of a core that they use.
	Percent float64 `json:"percent"`
	// Restarted is the cost of a restart during that time.
	Restarted *Restarted `json:"restarted,omitempty"`
}

// Restarted is the cost of a restart of the controllers while all machines run.
type Restarted struct {
	// Seconds is the time from the controllers' end to the creation call for the successor of a machine that was deleted meanwhile.
	Seconds float64 `json:"seconds"`
	// Writes are the controllers' writes until nothing more is written, including those for the one machine.
	Writes int `json:"writes"`
}

// stopGrace is how long a controller may take to finish its work.
const stopGrace = 10 * time.Second

// restart stops the controllers, like an update, deletes one machine, and starts them again.
func restart(ctx context.Context, s *session) (*Restarted, error) {
	s.logf("restarting the controllers")
	all, err := s.plane.Census(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("restart: there is no machine to replace")
	}
	begin := time.Now()
	for _, c := range s.plane.Controllers {
		if err := c.Stop(ctx, stopGrace); err != nil {
			return nil, fmt.Errorf("stop %s: %w", c.Program, err)
		}
	}
	s.plane.Controllers = nil
	stopped := time.Now()
	if err := s.client(ctx).delete(s.shape.machine(all[0].Name)); err != nil {
		return nil, err
	}
	if err := s.startControllers(ctx); err != nil {
		return nil, err
	}
	if err := s.await(ctx, s.allRunning()); err != nil {
		return nil, fmt.Errorf("restart: %w", err)
	}
	if err := s.quiet(ctx); err != nil {
		return nil, err
	}
	return restarted(s.plane.audit.since(begin), stopped)
}

// restarted computes the cost of a restart from the writes.
func restarted(writes []write, stopped time.Time) (*Restarted, error) {
	r := &Restarted{}
	for _, w := range writes {
		if ours(w) {
			r.Writes++
		}
		if r.Seconds == 0 && w.by(fleet.Machines) && w.is("create nodes") {
			r.Seconds = rounded(w.Asked.Sub(stopped).Seconds())
		}
	}
	if r.Seconds == 0 {
		return nil, errors.New("restart: the audit log shows no successor of the machine that was deleted")
	}
	return r, nil
}
