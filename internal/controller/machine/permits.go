package machine

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// permits let one machine of a group fail at a time, so that an outage which makes all of them unhealthy
// does not replace all of them. The decision reads a cache; a permit therefore stays granted until the
// cache certainly shows what was done under it.
type permits struct {
	mu      *sync.Mutex
	granted map[string]grant
	// blockers are the machines that prevented others of their group from failing at the last count. While
	// such a machine does, no other has to be checked: thousands may wait for it.
	blockers map[string]types.NamespacedName
}

type grant struct {
	uid string
	at  time.Time
}

// mostBlockers bounds the remembered blockers.
const mostBlockers = 1000

// permitTime is how long a machine keeps its permit.
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

// note remembers the blocker of a group; a zero name means no blocker.
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
	if p.takenLocked(group, uid, now) {
		return false
	}
	p.granted[group] = grant{uid: uid, at: now}
	return true
}

// taken reports whether another machine has the group's permit.
func (p permits) taken(group, uid string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.takenLocked(group, uid, now)
}

func (p permits) takenLocked(group, uid string, now time.Time) bool {
	maps.DeleteFunc(p.granted, func(_ string, g grant) bool { return now.Sub(g.at) >= permitTime })
	g, ok := p.granted[group]
	return ok && g.uid != uid
}

// mayFail reports whether the machine may fail: no other machine of its group is being created or deleted.
// What this process wrote to the others counts before the cache shows it: one may just have begun an update
// in place. If a cache hides a write, the passes of those machines ask the API server.
func (o otherMachines[M]) mayFail(ctx context.Context, m M) bool {
	now := o.Clock.Now()
	key, group := o.Dialect.Group(m)
	if group == "" {
		return true
	}
	read, place := &readyourwrites.Client{Client: o.Client, Writes: &o.writes}, o.mine.Namespace+"/"+group
	if o.permits.taken(place, o.mine.UID, now) || o.stillBlocked(ctx, read, place) {
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

// stillBlocked reports whether the machine that last blocked the group still does.
func (o otherMachines[M]) stillBlocked(ctx context.Context, read client.Reader, group string) bool {
	key, known := o.permits.blocker(group)
	if !known {
		return false
	}
	m := o.Dialect.New()
	if err := read.Get(ctx, key, m, client.UnsafeDisableDeepCopy); err != nil {
		return false // all are counted again
	}
	_, is := o.Dialect.Group(m)
	return o.mine.Namespace+"/"+is == group && o.Dialect.View(m).Blocks(o.Clock.Now(), *o.mine)
}
