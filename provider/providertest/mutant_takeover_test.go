package providertest_test

import (
	"context"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// asWritten recognizes a provider ID only in the spelling in which it was written.
func asWritten(t provider.Traits) provider.Traits {
	t.Identify = func(providerID string) string { return providerID }
	return t
}

// byLength treats all provider IDs of the same length as one.
func byLength(t provider.Traits) provider.Traits {
	t.Identify = func(providerID string) string { return strings.Repeat("x", len(providerID)) }
	return t
}

// schemeless reads the text after the scheme, whatever the scheme is.
func schemeless(t provider.Traits) provider.Traits {
	inner := t.Identify
	t.Identify = func(providerID string) string {
		_, rest, ok := strings.Cut(providerID, ":")
		if !ok {
			return ""
		}
		return inner("example:" + rest)
	}
	return t
}

// contented reports no difference.
func contented(provider.Instance) []string { return nil }

// fussy reports a difference for an unchanged instance.
func fussy(i provider.Instance) []string { return []string{"state: the instance has " + i.RawState} }

func takeoverMutations() []mutation {
	return []mutation{
		{
			"compares provider IDs as text", "spellings", "a machine taken over from the other API has lost its instance",
			alters(altered{traits: asWritten}),
		},
		{
			"takes one provider ID for another", "spellings", "the double is kept in place of the instance",
			alters(altered{traits: byLength}),
		},
		{
			"reads provider IDs of any scheme", "spellings", "an ID of another infrastructure names an instance here",
			alters(altered{traits: schemeless}),
		},
		{
			"finds its own UID only", "restored", "a machine restored from a backup gets a second instance",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{find: func(ctx context.Context, ref provider.Ref) (out []provider.Instance, err error) {
					found, err := s.Find(ctx, ref)
					for _, i := range found {
						if i.UID == "" || i.UID == ref.UID {
							out = append(out, i)
						}
					}
					return out, err
				}}
			}),
		},
		{
			"creates beside what is recorded", "restored", "a machine restored from a backup gets a second instance",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{create: func(ctx context.Context, ref provider.Ref, w provider.Want) (provider.Instance, error) {
					ref.ProviderID = ""
					return s.Create(ctx, ref, w)
				}}
			}),
		},
		{
			"deletes whatever it finds", "only what is given", "an instance goes with a machine that it never belonged to",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{delete: func(ctx context.Context, ref provider.Ref, all []provider.Instance) (bool, error) {
					found, err := s.Find(ctx, ref)
					if err != nil {
						return false, err
					}
					return s.Delete(ctx, ref, append(found, all...))
				}}
			}),
		},
		{
			"deletes by the UID of what it is given", "one of a former UID", "the twin goes too, whoever has it by now",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{delete: func(ctx context.Context, ref provider.Ref, all []provider.Instance) (bool, error) {
					for _, i := range all {
						if _, err := s.Delete(ctx, provider.Ref{UID: i.UID}, nil); err != nil {
							return false, err
						}
					}
					return s.Delete(ctx, ref, all)
				}}
			}),
		},
		{
			"a token of the spec", "class changed", "a create that is repeated with another spec buys again",
			onSession(func(c provider.Class, s provider.Session) verbs {
				return verbs{create: func(ctx context.Context, ref provider.Ref, w provider.Want) (provider.Instance, error) {
					if strings.Contains(string(c.Spec), "large") {
						ref.UID += "-large"
					}
					return s.Create(ctx, ref, w)
				}}
			}),
		},
		{
			"sees no difference", "class changed", "the machine is not what its class says, and nobody knows",
			alters(altered{differs: contented}),
		},
		{
			"sees differences everywhere", "class changed", "each machine is reported for nothing",
			alters(altered{differs: fussy}),
		},
	}
}
