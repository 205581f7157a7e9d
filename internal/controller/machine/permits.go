package machine

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/controller/written"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// permits let one machine of a group be given up at a time, so that an outage
// that makes all of them unhealthy does not get all of them replaced. The
// decision reads a cache; a permit therefore stays granted until the cache has
// surely caught up with what was done under it.
type permits struct {
	mu      *sync.Mutex
	granted map[string]grant
	// blockers are the machines that kept others of their group from being given up when these were counted last. As long as one does, nothing else
	// has to be looked at: thousands may wait for it.
	blockers map[string]types.NamespacedName
}

type grant struct {
	uid string
	at  time.Time
}

// mostBlockers are remembered.
const mostBlockers = 1000

// permitTime is how long a permit stays with the machine that got it.
const permitTime = 10 * time.Second

func newPermits() permits {
	return permits{mu: &sync.Mutex{}, granted: map[string]grant{}, blockers: map[string]types.NamespacedName{}}
}

func (p permits) blocker(group string) (key types.NamespacedName, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key, known = p.blockers[group]
	return key, known
}

// note remembers the blocker of a group; the zero name: there is none.
func (p permits) note(group string, blocker types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.blockers) > mostBlockers {
		clear(p.blockers) // of groups that do not exist any more
	}
	if delete(p.blockers, group); blocker.Name != "" {
		p.blockers[group] = blocker
	}
}

// take gives the group's permit to the machine unless another has it.
func (p permits) take(group, uid string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.othersLocked(group, uid, now) {
		return false
	}
	p.granted[group] = grant{uid: uid, at: now}
	return true
}

// others reports whether another machine has the group's permit.
func (p permits) others(group, uid string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.othersLocked(group, uid, now)
}

func (p permits) othersLocked(group, uid string, now time.Time) bool {
	maps.DeleteFunc(p.granted, func(_ string, g grant) bool { return now.Sub(g.at) >= permitTime })
	g, ok := p.granted[group]
	return ok && g.uid != uid
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
	read, place := &written.Client{Client: o.Client, Writes: &o.writes}, o.mine.Namespace+"/"+group
	if o.permits.others(place, o.mine.UID, now) || o.stillBlocked(ctx, read, place) {
		return false
	}
	list := o.Dialect.NewList()
	err := read.List(ctx, list, client.InNamespace(o.mine.Namespace), client.MatchingLabels{key: group}, client.UnsafeDisableDeepCopy)
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot count the machines of the group", "group", group)
		return false
	}
	for m := range dialect.Items[M](list) {
		if o.Dialect.View(m).Blocks(now, *o.mine) {
			o.permits.note(place, client.ObjectKeyFromObject(m))
			return false
		}
	}
	o.permits.note(place, types.NamespacedName{})
	return o.permits.take(place, o.mine.UID, now)
}

// stillBlocked reports whether the machine that was in the way of the group last still is.
func (o others[M]) stillBlocked(ctx context.Context, read client.Reader, group string) bool {
	key, known := o.permits.blocker(group)
	if !known {
		return false
	}
	m := o.Dialect.New()
	if err := read.Get(ctx, key, m, client.UnsafeDisableDeepCopy); err != nil {
		return false // all are counted anew
	}
	_, is := o.Dialect.Group(m)
	return o.mine.Namespace+"/"+is == group && o.Dialect.View(m).Blocks(o.Clock.Now(), *o.mine)
}
