package providertest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

// renames returns a mutant that renames choices.
func renames(edit func(n int, c *provider.Choice)) func(provider.Provider) provider.Provider {
	return alters(altered{traits: func(t provider.Traits) provider.Traits {
		t.Choices = slices.Clone(t.Choices)
		for n := range t.Choices {
			edit(n, &t.Choices[n])
		}
		return t
	}})
}

// creates returns a mutant with another Create.
func creates(create func(context.Context, provider.Session, provider.Ref, provider.Want) (provider.Instance, error)) func(provider.Provider) provider.Provider {
	return onSession(func(_ provider.Class, s provider.Session) verbs {
		return verbs{create: func(ctx context.Context, ref provider.Ref, w provider.Want) (provider.Instance, error) {
			return create(ctx, s, ref, w)
		}}
	})
}

// anotherForAnother creates another instance for another choice.
func anotherForAnother() func(provider.Provider) provider.Provider {
	asked := map[string]string{} // outlives the process, as names of instances do
	return creates(func(ctx context.Context, s provider.Session, ref provider.Ref, w provider.Want) (provider.Instance, error) {
		first, ok := asked[ref.UID]
		if !ok {
			asked[ref.UID] = w.Choice
		} else if first != w.Choice {
			ref.UID += "-" + w.Choice
		}
		return s.Create(ctx, ref, w)
	})
}

// refusesForEver remembers its refusals, whatever the attempt.
func refusesForEver() func(provider.Provider) provider.Provider {
	refused := map[string]error{} // outlives the process, as tokens do
	return creates(func(ctx context.Context, s provider.Session, ref provider.Ref, w provider.Want) (provider.Instance, error) {
		if err := refused[ref.UID]; err != nil {
			return provider.Instance{}, err
		}
		i, err := s.Create(ctx, ref, w)
		if provider.KindOf(err) == provider.Exhausted {
			refused[ref.UID] = err
		}
		return i, err
	})
}

func choiceMutations() []mutation {
	return []mutation{
		{"refuses for ever what it refused once", "asked again", "a machine waits for room that there is", refusesForEver()},
		{
			"makes one for each attempt", "asked again", "a process that knows of more refusals makes a second instance",
			creates(func(ctx context.Context, s provider.Session, ref provider.Ref, w provider.Want) (provider.Instance, error) {
				if w.Attempt > 1 {
					ref.UID += fmt.Sprint("-", w.Attempt)
				}
				return s.Create(ctx, ref, w)
			}),
		},
		{"choices without names", "choices named", "none can be asked for", renames(func(_ int, c *provider.Choice) { c.Name = "" })},
		{"choices of one name", "choices named", "the second is never asked for", renames(func(_ int, c *provider.Choice) { c.Name = "a" })},
		{"choices in one place", "choices named", "all are left alone once one is exhausted", renames(func(_ int, c *provider.Choice) { c.Zone = "a" })},
		{"a first choice that is equal", "choices named", "it is equal to none", renames(func(_ int, c *provider.Choice) { c.Equal = true })},
		{
			"equal choices without zones", "choices named", "all machines are made of the one that nobody counts",
			renames(func(n int, c *provider.Choice) { c.Zone, c.Type, c.Equal = "", fmt.Sprint(n), n > 0 }),
		},
		{
			"names that change", "choices named", "a shortage is forgotten at once",
			renames(func(_ int, c *provider.Choice) { c.Name += fmt.Sprint(serial.Add(1)) }),
		},
		{
			"takes the first choice always", "choice exhausted", "no other is ever tried",
			creates(func(ctx context.Context, s provider.Session, ref provider.Ref, w provider.Want) (provider.Instance, error) {
				w.Choice = ""
				return s.Create(ctx, ref, w)
			}),
		},
		{
			"makes what it was not asked for", "choice unknown", "nobody knows what is paid for",
			creates(func(ctx context.Context, s provider.Session, ref provider.Ref, w provider.Want) (provider.Instance, error) {
				i, err := s.Create(ctx, ref, w)
				if provider.KindOf(err) == provider.Invalid {
					w.Choice = ""
					return s.Create(ctx, ref, w)
				}
				return i, err
			}),
		},
		{
			"hides the zone", "choices made", "nobody sees what was chosen",
			creates(func(ctx context.Context, s provider.Session, ref provider.Ref, w provider.Want) (provider.Instance, error) {
				if w.Choice == "b" {
					w.Choice = "a"
				}
				return s.Create(ctx, ref, w)
			}),
		},
		{"makes one for each choice", "choice lost", "a machine has two instances", anotherForAnother()},
		{
			"loses the scope", "choice exhausted for all", "every zone of an account is tried in vain",
			creates(func(ctx context.Context, s provider.Session, ref provider.Ref, w provider.Want) (provider.Instance, error) {
				i, err := s.Create(ctx, ref, w)
				if e, ok := errors.AsType[*provider.Error](err); ok {
					e.Scope = ""
				}
				return i, err
			}),
		},
		{
			"buys and calls it exhausted", "choice exhausted", "the next choice is a second instance",
			creates(func(ctx context.Context, s provider.Session, ref provider.Ref, w provider.Want) (provider.Instance, error) {
				i, err := s.Create(ctx, ref, w)
				if provider.KindOf(err) == provider.Exhausted {
					ref.UID += "-half"
					_, _ = s.Create(ctx, ref, w)
				}
				return i, err
			}),
		},
	}
}
