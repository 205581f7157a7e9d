package providertest_test

import (
	"context"
	"iter"

	"github.com/millwright-dev/millwright/provider"
)

// edits returns a mutant that changes how failed instances are reported.
func edits(edit func(*provider.Instance)) func(provider.Provider) provider.Provider {
	edited := func(i provider.Instance) provider.Instance {
		if i.Fault != nil {
			edit(&i)
		}
		return i
	}
	return onSession(func(_ provider.Class, s provider.Session) verbs {
		return verbs{
			find: func(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
				all, err := s.Find(ctx, ref)
				for n := range all {
					all[n] = edited(all[n])
				}
				return all, err
			},
			list: func(ctx context.Context) iter.Seq2[provider.Instance, error] {
				return func(yield func(provider.Instance, error) bool) {
					for i, err := range s.List(ctx) {
						if !yield(edited(i), err) {
							return
						}
					}
				}
			},
		}
	})
}

func faultMutations() []mutation {
	return []mutation{
		{
			"does not say why", "given up", "the machine waits for a node that never comes",
			edits(func(i *provider.Instance) { i.Fault = nil }),
		},
		{
			"takes all for an accident", "given up", "the autoscaler asks for more of what there is no room for",
			edits(func(i *provider.Instance) { i.Fault = provider.Errorf(provider.Transient, "error") }),
		},
		{
			"gives a kind without a cause", "given up", "nobody reads why",
			edits(func(i *provider.Instance) { i.Fault = &provider.Error{Kind: provider.Exhausted} }),
		},
		{
			"calls it pending", "given up", "the machine is polled for what does not come",
			edits(func(i *provider.Instance) { i.State = provider.Pending }),
		},
		{
			"calls it running", "given up", "the machine waits for a node that never comes",
			edits(func(i *provider.Instance) { i.State = provider.Running }),
		},
		{
			"find fails with the fault", "given up", "the machine cannot be deleted",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{find: func(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
					all, err := s.Find(ctx, ref)
					for _, i := range all {
						if i.Fault != nil {
							return nil, i.Fault
						}
					}
					return all, err
				}}
			}),
		},
		{
			"hides what was given up", "given up", "it costs money and nobody removes it",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{find: func(ctx context.Context, ref provider.Ref) (sound []provider.Instance, err error) {
					all, err := s.Find(ctx, ref)
					for _, i := range all {
						if i.Fault == nil {
							sound = append(sound, i)
						}
					}
					return sound, err
				}}
			}),
		},
		{
			"lists it without the fault", "given up", "a find that a listing answers does not tell",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{list: func(ctx context.Context) iter.Seq2[provider.Instance, error] {
					return func(yield func(provider.Instance, error) bool) {
						for i, err := range s.List(ctx) {
							i.Fault = nil
							if !yield(i, err) {
								return
							}
						}
					}
				}}
			}),
		},
	}
}
