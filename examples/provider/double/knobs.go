package double

import (
	"context"
	"maps"
	"net/http"
	"time"

	"k8s.io/utils/clock"

	"example.org/larch"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// Knobs returns all knobs of the suite.
func (l *Larch) Knobs() providertest.Knobs {
	return providertest.Knobs{
		Advance: l.advance, Inject: l.inject, Lag: l.lag, Plant: l.plant, Remove: l.remove, GiveUp: l.giveUp,
		Leave: l.leave, Count: l.count, Rotate: l.rotate, Elsewhere: l.elsewhere,
	}
}

// calls has the request in which a fault is injected, for each verb.
var calls = map[providertest.Verb]string{
	providertest.Find: "GET machines", providertest.List: "GET machines", providertest.Create: "POST machines",
	providertest.Delete: "DELETE machines", providertest.Leftovers: "GET disks",
}

func (l *Larch) inject(verb providertest.Verb, f providertest.Fault) error {
	call, ok := calls[verb]
	switch {
	case !ok:
		return providertest.Skip("Open sends no request")
	case f.Duplicate:
		return providertest.Skip("Larch creates one machine with a disk")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults[call] = f
	return nil
}

// words returns Larch's response for a fault. The test checks how the provider reads it.
func words(f providertest.Fault) (int, any) {
	status := map[provider.Kind]int{
		provider.Denied: http.StatusForbidden, provider.Throttled: http.StatusTooManyRequests, provider.Conflict: http.StatusConflict,
		provider.Invalid: http.StatusUnprocessableEntity, provider.Exhausted: http.StatusServiceUnavailable,
	}[f.Kind]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	code := map[provider.Scope]string{provider.ScopeZone: "zone_full", provider.ScopeAccount: "quota"}[f.Scope]
	if f.Kind == provider.Exhausted && code == "" {
		code = "sold_out"
	}
	return refuse(status, code, "a test injected this fault")
}

func (l *Larch) advance(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.skipped += d
}

func (l *Larch) lag(d time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Lagging = d
	return nil
}

func (l *Larch) plant(class provider.Class, i provider.Instance) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	tags := map[string]string{larch.TagCluster: class.Cluster}
	if i.UID != "" {
		maps.Copy(tags, map[string]string{larch.TagUID: i.UID, larch.TagNamespace: i.Namespace, larch.TagOwner: class.Owner})
	}
	l.addMachine(&thing{Name: i.Name, Zone: "north", Tags: tags, account: "account-1", Created: l.time().Add(-bootTime)})
	return nil
}

func (l *Larch) remove(_ provider.Class, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	find(l.machines, "account-1", id, l.time()).ended = l.time().Add(-endTime)
	return nil
}

func (l *Larch) giveUp(_ provider.Class, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	find(l.machines, "account-1", id, l.time()).failed = l.time()
	return nil
}

func (l *Larch) leave(class provider.Class, ref provider.Ref) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addDisk(&thing{Name: ref.Token(class.Cluster), Zone: "north", account: "account-1", Created: l.time(), Tags: map[string]string{
		larch.TagCluster: class.Cluster, larch.TagUID: ref.UID, larch.TagName: ref.Name, larch.TagNamespace: ref.Namespace, larch.TagOwner: class.Owner,
	}})
	return nil
}

func (l *Larch) count(class provider.Class) (machines, disks int, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := func(all []*thing) (n int) {
		for _, t := range all {
			if _, there := t.at(l.time()); there && t.Tags[larch.TagCluster] == class.Cluster {
				n++
			}
		}
		return n
	}
	return of(l.machines), of(l.disks), nil
}

func (l *Larch) rotate(class provider.Class) (provider.Class, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accounts = map[string]string{"another secret": "account-1"}
	return with(class, "another secret"), nil
}

func (l *Larch) elsewhere(ctx context.Context, class provider.Class) (provider.Session, error) {
	l.mu.Lock()
	l.accounts["their secret"] = "account-2"
	l.mu.Unlock()
	return larch.New(clock.RealClock{}).Open(ctx, with(class, "their secret"))
}

func with(class provider.Class, token string) provider.Class {
	class.Credentials = maps.Clone(class.Credentials)
	class.Credentials["token"] = []byte(token)
	return class
}
