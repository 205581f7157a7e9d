package machine

import (
	"context"
	"maps"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/controller/written"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// permits let one machine of a group be given up at a time, so that an outage
// that makes all of them unhealthy does not get all of them replaced. The
// decision reads a cache; a permit therefore stays granted until the cache has
// surely caught up with what was done under it.
type permits struct {
	mu      *sync.Mutex
	granted map[string]grant
}

type grant struct {
	uid string
	at  time.Time
}

// permitTime is how long a permit stays with the machine that got it.
const permitTime = 10 * time.Second

func newPermits() permits { return permits{mu: &sync.Mutex{}, granted: map[string]grant{}} }

// take gives the group's permit to the machine unless another has it.
func (p permits) take(group, uid string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.granted, func(_ string, g grant) bool { return now.Sub(g.at) >= permitTime })
	if g, ok := p.granted[group]; ok && g.uid != uid {
		return false
	}
	p.granted[group] = grant{uid: uid, at: now}
	return true
}

// mayFail reports whether giving up on the machine is permitted: no other
// machine of its group is on its way out or in. What this process wrote to the
// others counts before the cache shows it: one may just have begun an update in
// place. Asking past a cache that hides that is for the passes of those machines.
func (o others[M]) mayFail(ctx context.Context, m M) bool {
	now := o.Clock.Now()
	key, group := o.Dialect.Group(m)
	if group == "" {
		return true
	}
	list, read := o.Dialect.NewList(), &written.Client{Client: o.Client, Writes: &o.writes}
	err := read.List(ctx, list, client.InNamespace(o.mine.Namespace), client.MatchingLabels{key: group})
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot count the machines of the group", "group", group)
		return false
	}
	var all []lifecycle.Machine
	for m := range dialect.Items[M](list) {
		all = append(all, o.Dialect.View(m))
	}
	return lifecycle.Lone(now, *o.mine, all...) && o.permits.take(o.mine.Namespace+"/"+group, o.mine.UID, now)
}
