package bench

import (
	"bytes"
	"context"
	"encoding/json"
)

// pool is one of the sets or deployments over which the machines are spread.
type pool struct {
	// path is the path of the object with the name, machines is the number that it wants.
	path, name string
	machines   int
}

// pools spreads machines over the objects of a resource as evenly as possible.
func (s *shape) pools(resource string, machines int) []pool {
	names := setNames(s.Sets)
	out := make([]pool, len(names))
	for i, name := range names {
		out[i] = pool{s.path(resource) + "/" + name, name, machines/len(names) + min(1, max(0, machines%len(names)-i))}
	}
	return out
}

// sets and deployments are the pools of both kinds.
func (s *shape) sets(machines int) []pool        { return s.pools(s.Set.Resource, machines) }
func (s *shape) deployments(machines int) []pool { return s.pools(s.Roll.Resource, machines) }

// setNames are the names of n sets or deployments.
func setNames(n int) []string {
	if n <= 1 {
		return []string{"bench"}
	}
	return names("bench", n)
}

// ofSets copies an object that names a set for each set. An object that names no set stays alone.
func ofSets(object json.RawMessage, names []string) (out []json.RawMessage) {
	if !bytes.Contains(object, []byte("SET")) {
		return []json.RawMessage{object}
	}
	for _, name := range names {
		out = append(out, bytes.ReplaceAll(object, []byte("SET"), []byte(name)))
	}
	return out
}

// scaleAll sets the wanted number of machines of all pools, several at a time.
func (p *plane) scaleAll(ctx context.Context, pools []pool) error {
	return eachPool(pools, func(one pool) error { return p.scale(ctx, one.path, one.machines) })
}

func eachPool(pools []pool, do func(pool) error) error {
	_, err := each(pools, do)
	return err
}

// settled reports whether all pools are done, and then the condition `then`. It first asks the pool that was not done at the last call, because that is cheap.
func settled(pools []pool, done func(context.Context, pool) (bool, error), then func(context.Context) (bool, error)) func(context.Context) (bool, error) {
	next := 0
	return func(ctx context.Context) (bool, error) {
		for ; next < len(pools); next++ {
			if ok, err := done(ctx, pools[next]); err != nil || !ok {
				return false, err
			}
		}
		next = 0 // a pool may have been done before it noticed the request
		return then(ctx)
	}
}

// running reports whether a set's status says that its machines are ready.
func (p *plane) running(ctx context.Context, one pool) (bool, error) {
	var set struct{ Status struct{ ReadyReplicas int } }
	err := p.get(ctx, one.path, &set)
	return set.Status.ReadyReplicas == one.machines, err
}

// rolled reports whether a deployment's status says that its rollout is complete.
func (p *plane) rolled(ctx context.Context, one pool) (bool, error) {
	var d standing
	err := p.get(ctx, one.path, &d)
	return d.complete(one.machines), err
}
