package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// otherMachines are the machines besides a pass's own: the instances and nodes that they have recorded, and the
// instances that their scope lists.
type otherMachines[M client.Object] struct {
	*Reconciler[M]
	mine  *lifecycle.Machine
	infra *infrastructure
	// targetless: none of these machines has a node.
	targetless bool
}

// older is a machine that is older and has recorded the same instance; nil if no machine is.
func (o otherMachines[M]) older(ctx context.Context) (*lifecycle.Machine, error) {
	recorded := o.mine.Recorded.ProviderID
	list := o.Dialect.NewList()
	if err := o.Client.List(ctx, list, client.MatchingFields{index.Node: index.ProviderIDKey(recorded)}); err != nil {
		return nil, fmt.Errorf("look whose instance %s is: %w", recorded, err)
	}
	for m := range dialect.Items[M](list) {
		v := o.Dialect.View(m)
		older := cmp.Or(v.Created.Compare(o.mine.Created), cmp.Compare(v.UID, o.mine.UID)) < 0
		if older && o.infra.same(v.Recorded.ProviderID, recorded) && o.sharesScope(ctx, m) {
			return &v, nil
		}
	}
	return nil, nil
}

// claimant names the machine that has more right to an instance than this one; empty if no machine has. It
// is called only for instances that do not carry this machine's UID.
func (o otherMachines[M]) claimant(ctx context.Context, s lifecycle.Sighting) (string, error) {
	rivals := map[string]lifecycle.Rival{}
	for _, key := range index.ClaimKeys(s.UID, s.Name, s.ProviderID) {
		list := o.Dialect.NewList()
		if err := o.Client.List(ctx, list, client.MatchingFields{index.Node: key}); err != nil {
			return "", fmt.Errorf("look whose instance %s is: %w", s.ID, err)
		}
		for m := range dialect.Items[M](list) {
			v := o.Dialect.View(m)
			if v.UID != o.mine.UID && (v.UID == s.UID || o.sharesScope(ctx, m)) {
				rivals[v.UID] = o.rival(v, s.Instance)
			}
		}
	}
	all := make([]lifecycle.Rival, 0, len(rivals))
	for _, r := range rivals {
		all = append(all, r)
	}
	return lifecycle.ClaimantOf(s.Instance, o.rival(*o.mine, s.Instance), all), nil
}

func (o otherMachines[M]) rival(v lifecycle.Machine, i provider.Instance) lifecycle.Rival {
	records := o.infra.same(i.ProviderID, v.Recorded.ProviderID)
	return lifecycle.Rival{
		UID: v.UID, Namespace: v.Namespace, Name: v.Name, Created: v.Created,
		Records: records, Other: v.Recorded.ProviderID != "" && !records,
	}
}

// sharesScope reports whether another machine's instances are in the same scope: in another scope, the same
// names and provider IDs may belong to different instances.
func (o otherMachines[M]) sharesScope(ctx context.Context, m M) bool {
	c, _ := o.Resolver.Class(ctx, m) // an incomplete class still has a known scope
	return c.Cluster == o.infra.class.Cluster
}

// have reports whether another machine has recorded the node of the name, or its instance has the name.
func (o otherMachines[M]) have(ctx context.Context, name string) (bool, error) {
	if o.memory.hasNamed(o.mine.UID, name) {
		return true, nil
	}
	list := o.Dialect.NewList()
	if err := o.Client.List(ctx, list, client.MatchingFields{index.Node: index.NodeNameKey(name)}); err != nil {
		return false, fmt.Errorf("listing the machines of node %s: %w", name, err)
	}
	for m := range dialect.Items[M](list) {
		if o.Dialect.View(m).UID != o.mine.UID {
			return true, nil
		}
	}
	return false, nil
}

// listed is the last listing of the scope, if it is later than the given time, or a new one.
func (o otherMachines[M]) listed(ctx context.Context, after time.Time) listing {
	key := o.infra.scope()
	l, ok := o.listings.lately(key, o.Clock.Now())
	if !ok || !l.at.After(after) {
		l = o.infra.list(ctx, o.Clock.Now())
		o.listings.note(key, l)
	}
	return l
}

// recorded are the provider IDs that other machines of the scope have recorded, limited to machines whose
// instance should exist by their objects and nodes. An instance that is not listed any more, and whose node
// does not report, agrees with the listing: if a whole account was wiped, that ends the doubt.
func (o otherMachines[M]) recorded(ctx context.Context) (ids []string, err error) {
	key := o.infra.scope()
	all, err := o.fleet.recorded.get(o.Clock, key, func() (map[string]string, int, error) { return o.allRecorded(ctx, key) })
	for uid, id := range all {
		if uid != o.mine.UID {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, err
}

// allRecorded are the provider IDs that such machines of a scope have recorded, by UID, and the number of
// machines.
func (o otherMachines[M]) allRecorded(ctx context.Context, key string) (map[string]string, int, error) {
	list := o.Dialect.NewList()
	if err := o.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // they are only read
		return nil, 0, fmt.Errorf("list machines: %w", err)
	}
	once, scopes, out := o.Resolver.Once(), map[provider.ClientKey]string{}, map[string]string{}
	for m := range dialect.Items[M](list) {
		v := o.Dialect.View(m)
		if v.Recorded.ProviderID == "" || !v.Deleted.IsZero() || v.Stage == lifecycle.StageFailed || o.silent(ctx, v.Recorded.NodeName) {
			continue
		}
		// The scope of an incomplete class is incomplete too.
		class, _ := once.Class(ctx, m)
		k := dialect.ClassKey(class.Class)
		if _, known := scopes[k]; !known {
			if s, err := o.Provider.Open(ctx, class.Class); err == nil {
				scopes[k] = dialect.ScopeKey(class.Class, s.Traits())
			} else {
				scopes[k] = ""
			}
		}
		if scopes[k] == key {
			out[v.UID] = v.Recorded.ProviderID
		}
	}
	return out, meta.LenList(list), nil
}

// silent reports whether the cached node of the name is not Ready, or does not exist.
func (o otherMachines[M]) silent(ctx context.Context, name string) bool {
	if o.targetless || name == "" {
		return false
	}
	var n corev1.Node
	err := o.Nodes.Client.Get(ctx, client.ObjectKey{Name: name}, &n)
	return client.IgnoreNotFound(err) == nil && lifecycle.Ready(&n).Status != corev1.ConditionTrue
}
