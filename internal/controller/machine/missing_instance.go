package machine

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// listingAge is how long the listing of a scope is reused for its other machines: in a fleet whose
// instances are not listed, not every machine lists the scope again.
const listingAge = 30 * time.Second

// listings are the last listings of scopes, by [dialect.ScopeKey].
type listings struct {
	mu  sync.Mutex
	all map[string]listing
}

type listing struct {
	at        time.Time
	instances []provider.Instance
	err       error
}

func (l *listings) lately(key string, now time.Time) (listing, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.all, func(_ string, one listing) bool { return now.Sub(one.at) > listingAge })
	one, ok := l.all[key]
	return one, ok
}

func (l *listings) note(key string, one listing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string]listing{}
	}
	l.all[key] = one
}

// doubt says why the infrastructure is not trusted when it reports that it does not have this machine's
// instance: it does not list those of other machines either.
func (s *instances[M]) doubt(ctx context.Context) string {
	if !s.world.AbsenceMatters(s.view, s.policy) {
		return ""
	}
	ids, err := s.otherMachines().recorded(ctx)
	switch {
	case err != nil:
		return fmt.Sprintf("it cannot be told what other machines have recorded: %v", err)
	case len(ids) < 2:
		return ""
	}
	l := s.otherMachines().listed(ctx, time.Time{})
	return lifecycle.Doubted(ids, l.instances, l.err)
}
