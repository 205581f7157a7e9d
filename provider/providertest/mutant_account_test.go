package providertest_test

import (
	"context"
	"strconv"

	"github.com/millwright-dev/millwright/provider"
)

// names returns a mutant whose accounts get their names from f, a new one in each process.
func names(f func() func(provider.Class) string) func(provider.Provider) provider.Provider {
	return func(p provider.Provider) provider.Provider {
		name := f()
		return mutant{Provider: p, session: func(c provider.Class, s provider.Session) provider.Session {
			return altered{Session: s, account: func(ctx context.Context) (string, error) {
				_, err := s.Account(ctx)
				return name(c), err
			}}
		}}
	}
}

func accountMutations() []mutation {
	fixed := func(name func(provider.Class) string) func() func(provider.Class) string {
		return func() func(provider.Class) string { return name }
	}
	return []mutation{
		{
			"an account without a name", "account", "no account is told from another",
			names(fixed(func(provider.Class) string { return "" })),
		},
		{
			"the process names the account", "account", "after a restart all machines are those of another account",
			names(func() func(provider.Class) string {
				n := strconv.FormatInt(serial.Add(1), 10)
				return func(provider.Class) string { return n }
			}),
		},
		{
			"the spec names the account", "account", "an edit of the class is an account of its own",
			names(fixed(func(c provider.Class) string { return "account-" + string(c.Spec) })),
		},
		{
			"the credentials name the account", "account after rotation", "rotated credentials are an account of their own",
			names(fixed(func(c provider.Class) string { return string(provider.KeyOf(c.Credentials, "", "")) })),
		},
		{
			"names an account that it may not open", "account after rotation", "nothing tells that the credentials open it no more",
			alters(altered{account: func(context.Context) (string, error) { return "account", nil }}),
		},
		{
			"one name for all accounts", "another account", "machines look gone when the credentials of another account come",
			names(fixed(func(provider.Class) string { return "account" })),
		},
	}
}
