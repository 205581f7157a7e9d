package machine

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// upkeep is the state of the work that keeps the machine's instance as its class says.
func (s *instances[M]) upkeep() lifecycle.Upkeep {
	u := s.mem.upkeep
	u.Due = s.infra.unkept(s.ref(), s.instance())
	return u
}

// maintain keeps the resources of the instance as its class says. A failure is reported once; the machine
// lives on.
func (s *instances[M]) maintain(ctx context.Context) lifecycle.Upkeep {
	before := s.mem.upkeep
	done := lifecycle.Upkeep{At: s.Clock.Now(), Err: s.infra.maintain(ctx, s.ref(), *s.instance())}
	if done.Err != nil && (before.Err == nil || before.Err.Error() != done.Err.Error()) {
		s.Recorder.Eventf(s.found, nil, corev1.EventTypeWarning, "FailedUpdate", "Maintain", "%s", dialect.Note(done.Err.Error()))
	}
	s.mem.upkeep = done
	return done
}
