package machine

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/provider"
)

// listingAge is how long what a scope listed answers for other machines of it: a
// fleet that is not seen does not list the scope once for each machine.
const listingAge = 30 * time.Second

// listings are what scopes listed lately, by [dialect.ScopeKey].
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

// doubt says why the infrastructure is not believed where it is about to be that it does
// not have this machine's instance: it does not list those of other machines either.
func (p *pass[M]) doubt(ctx context.Context) string {
	if !p.wantsSecondOpinion() {
		return ""
	}
	key := p.infra.scope()
	ids, err := p.recordedBeside(ctx, key)
	switch {
	case err != nil:
		return fmt.Sprintf("it cannot be told what other machines have recorded: %v", err)
	case len(ids) < 2:
		return ""
	}
	l := p.listed(ctx, key, time.Time{})
	if l.err != nil {
		return fmt.Sprintf("the scope cannot be listed as a whole: %v", l.err)
	}
	return orphan.Scant(ids, l.instances)
}

// wantsSecondOpinion reports whether anything would come of it that the instance
// is not there, and nothing else speaks against that.
func (p *pass[M]) wantsSecondOpinion() bool {
	w, living := &p.world, p.view.Deleted.IsZero()
	switch {
	case !w.Instances.Looked || !p.view.Recorded.Provisioned || len(w.Instances.Owned()) > 0 || w.Instances.SeenToGo || w.Unlisted.QuietFor < w.Unlisted.ReadLag || w.Contradiction(p.view) != "":
		return false
	case living:
		return p.policy.Join.MissingFails && p.view.Stage != lifecycle.StageFailed
	}
	return p.view.Held && !p.view.Deletion.Abandon
}

// listed is what the scope listed lately, if that was after the given time, or lists now.
func (p *pass[M]) listed(ctx context.Context, key string, after time.Time) listing {
	l, ok := p.listings.lately(key, p.Clock.Now())
	if !ok || !l.at.After(after) {
		l = p.infra.list(ctx, p.Clock.Now())
		p.listings.note(key, l)
	}
	return l
}

// recordedBeside are the provider IDs that other machines of the scope have
// recorded, of those that should be there by all that their objects and nodes say.
// An instance that is not listed any more, and whose node is silent, agrees with
// the listing: when a whole account was wiped, that ends the doubt.
func (p *pass[M]) recordedBeside(ctx context.Context, key string) (ids []string, err error) {
	list := p.Dialect.NewList()
	if err := p.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // they are only read
		return nil, fmt.Errorf("list machines: %w", err)
	}
	once, scopes := p.Resolver.Once(), map[provider.ClientKey]string{}
	for m := range dialect.Items[M](list) {
		v := p.Dialect.View(m)
		if v.UID == p.view.UID || v.Recorded.ProviderID == "" || !v.Deleted.IsZero() || v.Stage == lifecycle.StageFailed || p.silent(ctx, v.Recorded.NodeName) {
			continue
		}
		// Where the class is incomplete, so is what is known of its scope.
		class, _ := once.Class(ctx, m)
		k := dialect.ClassKey(class.Class)
		if _, known := scopes[k]; !known {
			if s, err := p.Provider.Open(ctx, class.Class); err == nil {
				scopes[k] = dialect.ScopeKey(class.Class, s)
			} else {
				scopes[k] = ""
			}
		}
		if scopes[k] == key {
			ids = append(ids, v.Recorded.ProviderID)
		}
	}
	return ids, nil
}

// silent reports whether the cached node of the name is not Ready, or not there.
func (p *pass[M]) silent(ctx context.Context, name string) bool {
	if p.policy.Targetless || name == "" {
		return false
	}
	var n corev1.Node
	err := p.Nodes.Client.Get(ctx, client.ObjectKey{Name: name}, &n)
	return client.IgnoreNotFound(err) == nil && lifecycle.Ready(&n).Status != corev1.ConditionTrue
}
