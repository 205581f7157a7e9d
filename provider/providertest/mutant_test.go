package providertest_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// mutant is a provider with one defect, over sessions that otherwise conform.
type mutant struct {
	provider.Provider
	session func(class provider.Class, s provider.Session) provider.Session
}

func (m mutant) Unwrap() any { return m.Provider }

func (m mutant) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	s, err := m.Provider.Open(ctx, class)
	if err != nil {
		return nil, err
	}
	return m.session(class, s), nil
}

// verbs overrides single verbs of a session.
type verbs struct {
	provider.Session
	find   func(context.Context, provider.Ref) ([]provider.Instance, error)
	create func(context.Context, provider.Ref, provider.Want) (provider.Instance, error)
	delete func(context.Context, provider.Ref, []provider.Instance) (bool, error)
	list   func(context.Context) iter.Seq2[provider.Instance, error]
}

func (v verbs) Unwrap() any { return v.Session }

func (v verbs) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	if v.find != nil {
		return v.find(ctx, ref)
	}
	return v.Session.Find(ctx, ref)
}

func (v verbs) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if v.create != nil {
		return v.create(ctx, ref, want)
	}
	return v.Session.Create(ctx, ref, want)
}

func (v verbs) Delete(ctx context.Context, ref provider.Ref, all []provider.Instance) (bool, error) {
	if v.delete != nil {
		return v.delete(ctx, ref, all)
	}
	return v.Session.Delete(ctx, ref, all)
}

func (v verbs) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	if v.list != nil {
		return v.list(ctx)
	}
	return v.Session.List(ctx)
}

// openOnly overrides Open, which verbs cannot.
type openOnly struct {
	provider.Provider
	open func(context.Context, provider.Class) (provider.Session, error)
}

func (o openOnly) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	return o.open(ctx, class)
}

// serial makes the random parts of mutants: different each time, but the same in every run of the test.
var serial atomic.Int64

type mutation struct {
	name string
	// caught is the check that must fail; others may.
	caught string
	reason string
	wrap   func(provider.Provider) provider.Provider
}

func allMutations() (all []mutation) {
	for _, group := range [][]mutation{createMutations(), readMutations(), otherMutations(), capabilityMutations(), takeoverMutations(), accountMutations(), ownerMutations(), faultMutations(), choiceMutations()} {
		all = append(all, group...)
	}
	return all
}

func onSession(f func(provider.Class, provider.Session) verbs) func(provider.Provider) provider.Provider {
	return func(p provider.Provider) provider.Provider {
		return mutant{Provider: p, session: func(c provider.Class, s provider.Session) provider.Session {
			v := f(c, s)
			v.Session = s
			return v
		}}
	}
}

func createMutations() []mutation {
	return []mutation{
		{
			"needs a spec to delete", "class gone", "a machine outlives its class for ever",
			func(p provider.Provider) provider.Provider { return specBound{p} },
		},
		{
			"ignores the UID on create", "create twice", "every call buys an instance",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{create: func(ctx context.Context, ref provider.Ref, w provider.Want) (provider.Instance, error) {
					real := ref.UID
					ref.UID = fmt.Sprintf("%s-%d", real, serial.Add(1))
					i, err := s.Create(ctx, ref, w)
					i.UID = real
					return i, err
				}}
			}),
		},
		{
			"random token, looks first", "listing lag", "a lookup before create does not replace a token when reads lag",
			func(p provider.Provider) provider.Provider {
				return onSession(func(_ provider.Class, s provider.Session) verbs {
					return verbs{create: func(ctx context.Context, ref provider.Ref, w provider.Want) (provider.Instance, error) {
						providertest.ForgetTokens(p)
						return s.Create(ctx, ref, w)
					}}
				})(p)
			},
		},
		{
			"reports the instance it was not given", "found by name", "a second instance beside what another implementation made",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{create: func(ctx context.Context, ref provider.Ref, w provider.Want) (provider.Instance, error) {
					name := ref.Name
					ref.Name += "-x"
					i, err := s.Create(ctx, ref, w)
					i.Name = name
					return i, err
				}}
			}),
		},
		{
			"blocks although cancelled", "cancelled midway", "a worker is held by a cloud that does not answer",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{create: func(ctx context.Context, ref provider.Ref, w provider.Want) (provider.Instance, error) {
					return s.Create(context.WithoutCancel(ctx), ref, w)
				}}
			}),
		},
		{
			"quota is a failure for good", "quota", "machines fail when the cloud is merely full",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{create: func(ctx context.Context, ref provider.Ref, w provider.Want) (provider.Instance, error) {
					i, err := s.Create(ctx, ref, w)
					if provider.KindOf(err) == provider.Exhausted {
						err = provider.Errorf(provider.Invalid, "%w", err)
					}
					return i, err
				}}
			}),
		},
		{
			"asks to wait ten times as long", "throttled", "the infrastructure's word is not passed on",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{create: func(ctx context.Context, ref provider.Ref, w provider.Want) (provider.Instance, error) {
					i, err := s.Create(ctx, ref, w)
					if provider.KindOf(err) == provider.Throttled {
						err = provider.ThrottledFor(10*provider.AfterOf(err), err)
					}
					return i, err
				}}
			}),
		},
	}
}

func readMutations() []mutation {
	return []mutation{
		{
			"denied read is emptiness", "find Denied", "machines are declared gone when credentials expire",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{find: func(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
					found, err := s.Find(ctx, ref)
					if provider.KindOf(err) == provider.Denied {
						return nil, nil
					}
					return found, err
				}}
			}),
		},
		{
			"failed read is emptiness", "find Transient", "machines are declared gone in an outage",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{find: func(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
					found, _ := s.Find(ctx, ref)
					return found, nil
				}}
			}),
		},
		{
			"reports one of several", "two for one machine", "a duplicate is never seen and never removed",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{find: func(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
					found, err := s.Find(ctx, ref)
					return found[:min(len(found), 1)], err
				}}
			}),
		},
		{
			"finds by name whatever the UID", "namesake", "a new machine takes over, and deletes, a former one's instance",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{find: func(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
					var found []provider.Instance
					for i, err := range s.List(ctx) {
						if err != nil {
							return nil, err
						}
						if i.Name == ref.Name {
							found = append(found, i)
						}
					}
					return found, nil
				}}
			}),
		},
		{
			"truncates paging", "listing complete", "the collector believes that instances beyond page one are gone",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{list: func(ctx context.Context) iter.Seq2[provider.Instance, error] {
					return func(yield func(provider.Instance, error) bool) {
						n := 0
						for i, err := range s.List(ctx) {
							if n++; n > 5 || !yield(i, err) {
								return
							}
						}
					}
				}}
			}),
		},
		{
			"takes what came before an error", "listing cut short", "an incomplete listing passes for a complete one",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{list: func(ctx context.Context) iter.Seq2[provider.Instance, error] {
					return func(yield func(provider.Instance, error) bool) {
						seen := false
						for i, err := range s.List(ctx) {
							if err != nil && seen || !yield(i, err) {
								return
							}
							seen = true
						}
					}
				}}
			}),
		},
		{
			"swallows a listing's error", "list Denied", "an incomplete listing passes for a complete one",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{list: func(ctx context.Context) iter.Seq2[provider.Instance, error] {
					return func(yield func(provider.Instance, error) bool) {
						for i, err := range s.List(ctx) {
							if err != nil || !yield(i, nil) {
								return
							}
						}
					}
				}}
			}),
		},
	}
}

func otherMutations() []mutation {
	return []mutation{
		{"lists foreign instances", "listing complete", "another cluster's machines are collected as orphans", listsForeign},
		{
			"leaks leftovers", "leftovers removed", "disks are paid for for ever",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{delete: func(ctx context.Context, ref provider.Ref, all []provider.Instance) (bool, error) {
					found, err := s.Find(ctx, ref)
					if err != nil || len(provider.Existing(found)) == 0 {
						return err == nil, err
					}
					return s.Delete(ctx, ref, all)
				}}
			}),
		},
		{
			"removes what shares the UID", "one of two", "the wanted instance goes with its double",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{delete: func(ctx context.Context, ref provider.Ref, all []provider.Instance) (bool, error) {
					if ref.UID == "" && len(all) > 0 {
						ref.UID = all[0].UID
					}
					return s.Delete(ctx, ref, all)
				}}
			}),
		},
		{
			"takes no UID for a UID", "one without UID", "all that another implementation made goes with one of them",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{delete: func(ctx context.Context, ref provider.Ref, all []provider.Instance) (bool, error) {
					if ref.UID != "" {
						return s.Delete(ctx, ref, all)
					}
					for i, err := range s.List(ctx) {
						if err != nil {
							return false, err
						}
						if i.UID == "" {
							all = append(all, i)
						}
					}
					return s.Delete(ctx, ref, all)
				}}
			}),
		},
		{
			"done too early", "life", "the machine's object goes while its instance lives",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{delete: func(ctx context.Context, ref provider.Ref, all []provider.Instance) (bool, error) {
					_, err := s.Delete(ctx, ref, all)
					return err == nil, err
				}}
			}),
		},
		{
			"fails on the missing", "delete the missing", "a machine that never got an instance cannot be deleted",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{delete: func(ctx context.Context, ref provider.Ref, all []provider.Instance) (bool, error) {
					if found, err := s.Find(ctx, ref); err == nil && len(provider.Existing(found)) == 0 {
						return false, provider.Errorf(provider.Invalid, "no such instance")
					}
					return s.Delete(ctx, ref, all)
				}}
			}),
		},
		{
			"never done", "delete the missing", "the finalizer stays for ever",
			onSession(func(_ provider.Class, s provider.Session) verbs {
				return verbs{delete: func(ctx context.Context, ref provider.Ref, all []provider.Instance) (bool, error) {
					_, err := s.Delete(ctx, ref, all)
					return false, err
				}}
			}),
		},
		{"accepts unknown fields", "bad specs", "a misspelt field is silently without effect", acceptsAnything},
		{"keeps the first credentials", "rotated credentials", "a rotation is not noticed until a restart", keepsFirst},
		{
			"one format of provider ID", "provider ID format", "nodes are not linked in the other API",
			onSession(func(c provider.Class, s provider.Session) verbs {
				strip := func(i provider.Instance) provider.Instance {
					i.ProviderID = "example-id-of-" + i.ID
					return i
				}
				return verbs{find: func(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
					found, err := s.Find(ctx, ref)
					for n := range found {
						found[n] = strip(found[n])
					}
					return found, err
				}}
			}),
		},
	}
}

// listsForeign lists the instances of the neighbouring cluster too.
func listsForeign(p provider.Provider) provider.Provider {
	return mutant{Provider: p, session: func(c provider.Class, s provider.Session) provider.Session {
		list := func(ctx context.Context) iter.Seq2[provider.Instance, error] {
			return func(yield func(provider.Instance, error) bool) {
				other := c
				other.Cluster += "-other"
				foreign, err := p.Open(ctx, other)
				if err != nil {
					yield(provider.Instance{}, err)
					return
				}
				for _, each := range []provider.Session{s, foreign} {
					for i, err := range each.List(ctx) {
						if !yield(i, err) {
							return
						}
					}
				}
			}
		}
		return verbs{Session: s, list: list}
	}}
}

// acceptsAnything opens a good class in place of a bad one.
func acceptsAnything(p provider.Provider) provider.Provider {
	return openOnly{p, func(ctx context.Context, c provider.Class) (provider.Session, error) {
		s, err := p.Open(ctx, c)
		if provider.KindOf(err) == provider.Invalid {
			c.Spec = []byte(`{"size":"small"}`)
			return p.Open(ctx, c)
		}
		return s, err
	}}
}

// keepsFirst caches credentials without reading them again.
func keepsFirst(p provider.Provider) provider.Provider {
	var first map[string][]byte
	return openOnly{p, func(ctx context.Context, c provider.Class) (provider.Session, error) {
		if first == nil {
			first = c.Credentials
		}
		c.Credentials = first
		return p.Open(ctx, c)
	}}
}

// TestMutantsAreCaught proves that the suite can fail: each broken provider fails the check that is meant
// for it.
func TestMutantsAreCaught(t *testing.T) {
	checks := map[string]providertest.Check{}
	for _, c := range providertest.Checks() {
		checks[c.Name] = c
	}
	for _, m := range allMutations() {
		t.Run(m.name, func(t *testing.T) {
			c, ok := checks[m.caught]
			if !ok {
				t.Fatalf("no check is called %q", m.caught)
			}
			err := runMutant(t, c, m)
			if err == nil || providertest.Skipped(err) {
				t.Fatalf("%q does not fail although %s (result: %v)", m.caught, m.reason, err)
			}
			t.Logf("caught: %v", err)
		})
	}
}

// specBound cannot open a class without a spec.
type specBound struct{ provider.Provider }

func (p specBound) Open(ctx context.Context, c provider.Class) (provider.Session, error) {
	if len(c.Spec) == 0 {
		return nil, provider.Errorf(provider.Invalid, "no spec")
	}
	return p.Provider.Open(ctx, c)
}
