package providertest_test

import (
	"context"
	"iter"

	"github.com/millwright-dev/millwright/provider"
)

// shows returns a mutant in which the named verbs report instances with changes, or not at all.
func shows(f func(c provider.Class, i *provider.Instance) bool, in ...string) func(provider.Provider) provider.Provider {
	named := map[string]bool{}
	for _, v := range in {
		named[v] = true
	}
	return onSession(func(c provider.Class, s provider.Session) verbs {
		v := verbs{}
		if named["find"] {
			v.find = func(ctx context.Context, ref provider.Ref) (out []provider.Instance, err error) {
				found, err := s.Find(ctx, ref)
				for _, i := range found {
					if f(c, &i) {
						out = append(out, i)
					}
				}
				return out, err
			}
		}
		if named["create"] {
			v.create = func(ctx context.Context, ref provider.Ref, w provider.Want) (provider.Instance, error) {
				i, err := s.Create(ctx, ref, w)
				f(c, &i)
				return i, err
			}
		}
		if named["list"] {
			v.list = func(ctx context.Context) iter.Seq2[provider.Instance, error] {
				return func(yield func(provider.Instance, error) bool) {
					for i, err := range s.List(ctx) {
						if (err != nil || f(c, &i)) && !yield(i, err) {
							return
						}
					}
				}
			}
		}
		return v
	})
}

// classed returns a mutant that opens another class than the given one.
func classed(f func(provider.Class) provider.Class) func(provider.Provider) provider.Provider {
	return func(p provider.Provider) provider.Provider {
		return openOnly{p, func(ctx context.Context, c provider.Class) (provider.Session, error) { return p.Open(ctx, f(c)) }}
	}
}

// anonymous lists leftovers without their owner.
type anonymous struct{ provider.LeftoverLister }

func (l anonymous) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return func(yield func(provider.Leftover, error) bool) {
		for left, err := range l.LeftoverLister.Leftovers(ctx) {
			left.Owner = ""
			if !yield(left, err) {
				return
			}
		}
	}
}

func ownerMutations() []mutation {
	forget := func(_ provider.Class, i *provider.Instance) bool { i.Owner = ""; return true }
	mine := func(c provider.Class, i *provider.Instance) bool { i.Owner = c.Owner; return true }
	only := func(c provider.Class, i *provider.Instance) bool { return i.Owner == c.Owner }
	nowhere := func(_ provider.Class, i *provider.Instance) bool { i.Namespace = ""; return true }
	all := []string{"find", "create", "list"}
	return []mutation{
		{
			"writes no owner", "owner", "no instance is ever collected",
			classed(func(c provider.Class) provider.Class { c.Owner = ""; return c }),
		},
		{"no owner when found", "owner", "a second look says that it is another's", shows(forget, "find")},
		{"no owner when listed", "owner", "no instance is ever collected", shows(forget, "list")},
		{"no owner when made", "owner", "the engine does not learn what was written", shows(forget, "create")},
		{"no namespace", "owner", "an instance of another process' namespace is collected", shows(nowhere, all...)},
		{"everything is the caller's", "owner unknown", "the collector takes what others made", shows(mine, all...)},
		{
			"leftovers of no owner", "leftovers listed", "no disk is ever collected",
			offers(func(l provider.LeftoverLister) provider.LeftoverLister { return anonymous{l} }),
		},
		{"finds only what is the caller's", "another owner", "a machine that moved gets a second instance", shows(only, "find")},
		{"lists only what is the caller's", "another owner", "what nobody owns is never reported", shows(only, "list")},
		{
			"another instance for another owner", "another owner", "a machine that moved gets a second instance",
			onSession(func(c provider.Class, s provider.Session) verbs {
				return verbs{create: func(ctx context.Context, ref provider.Ref, w provider.Want) (provider.Instance, error) {
					uid := ref.UID
					if found, err := s.Find(ctx, ref); err == nil && len(found) > 0 && found[0].Owner != c.Owner {
						ref.UID += "-" + c.Owner
					}
					i, err := s.Create(ctx, ref, w)
					i.UID = uid
					return i, err
				}}
			}),
		},
	}
}
