package sim

import (
	"context"
	"iter"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/provider"
)

// habitual is a defect that shows only in worlds whose cloud has a certain habit.
type habitual struct {
	Mutation
	// like is the cloud, world changes the rest of the world, and off removes the habit.
	like  string
	world func(*profile)
	off   func(*cloud.Habits)
}

// setting makes worlds that have the habit, or all habits of the cloud except this one.
func (h habitual) setting(on bool) func(*profile) {
	return func(c *profile) {
		h.world(c)
		c.hollow = false
		c.useCloudLikeness(h.like)
		if !on {
			h.off(&c.cloud.Habits)
		}
	}
}

// habituals are the defects that need a habit.
func habituals() []habitual {
	forgotten := func(h *cloud.Habits) { h.Like = "" }
	return []habitual{
		{
			Mutation: lostMutant("an instance that is lost was never there"), like: "azure", world: mortal, off: func(h *cloud.Habits) { h.Recalls = 0 },
		},
		{
			Mutation: lostMutant("an instance that is not listed any more was never there"), like: "aws", world: mortal, off: func(h *cloud.Habits) { h.Keeps = 0 },
		},
		{
			Mutation: lostMutant("an instance whose end is not listed was never there"), like: "gcp", world: mortal,
			off: func(h *cloud.Habits) { h.Operations, h.Keeps = false, 0 },
		},
		{
			Mutation: heedlessMutant(), like: "openstack", world: settings["succession"], off: func(h *cloud.Habits) { h.Makes = "" },
		},
		{
			Mutation: cloudMutant("an instance that is there needs nothing more", []string{judge.Converges}, func(s *brokenSession, _ client.Client) {
				s.unstarted = true
			}),
			like: "vsphere", world: quiet, off: func(h *cloud.Habits) { h.Makes = "" },
		},
		{
			Mutation: cloudMutant("a removal that has to wait is done", []string{judge.NoEarlyRelease, judge.NodeLast}, func(s *brokenSession, _ client.Client) {
				s.remove = func(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
					done, err := s.Session.Delete(ctx, ref, given)
					if provider.KindOf(err) == provider.Conflict {
						return true, nil
					}
					return done, err
				}
			}),
			like: "gcp", world: booting, off: func(h *cloud.Habits) { h.Busy = false },
		},
		{
			Mutation: onceMutant(), like: "azure", world: quiet, off: forgotten,
		},
		{
			Mutation: ownerMutant(), like: "vsphere", world: lostMachineSetting, off: func(h *cloud.Habits) { h.Marks = 0 },
		},
	}
}

// habitMutants are the habituals as mutations.
func habitMutants() (out []Mutation) {
	for _, h := range habituals() {
		m := h.Mutation
		m.Setting = h.setting(true)
		out = append(out, m)
	}
	return out
}

// mortal makes worlds whose instances die.
func mortal(c *profile) {
	quiet(c)
	c.percent[instanceDies] = 100
}

// booting makes worlds whose instances are slow to start.
func booting(c *profile) {
	quiet(c)
	c.cloud.Boot = time.Minute
}

// lostMutant treats a machine that lost its instance like a new one.
func lostMutant(name string) Mutation {
	return Mutation{Name: name, Finds: []string{judge.OneInstance}, View: func(m *lifecycle.Machine) { m.Recorded.ProviderID, m.Recorded.Provisioned = "", false }}
}

// heedlessMutant also hides that listings lag, because after a takeover either guard is enough.
func heedlessMutant() Mutation {
	return cloudMutant("an instance is asked for whoever has its interface", []string{judge.OneInstance}, func(s *brokenSession, _ client.Client) {
		s.hasty = true
		s.create = func(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
			return s.Session.Create(cloud.IgnoreInterfaceOwner(ctx), ref, want)
		}
	})
}

// onceMutant requests each removal only once.
func onceMutant() Mutation {
	m := Mutation{Name: "what was accepted is not asked for again", Finds: []string{judge.LeavesNothing, judge.Converges}}
	m.Provider = func(p provider.Provider, _ client.Client) provider.Provider {
		asked := map[string]bool{}
		return brokenProvider{p, func(s *brokenSession) {
			s.remove = func(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
				for _, i := range given {
					if asked[i.ID] {
						return false, nil
					}
				}
				done, err := s.Session.Delete(ctx, ref, given)
				for _, i := range given {
					asked[i.ID] = err == nil
				}
				return done, err
			}
		}}
	}
	return m
}

// ownerMutant remembers for ever which owner an instance named first.
func ownerMutant() Mutation {
	m := Mutation{Name: "whose an instance is, is read once", Finds: []string{judge.Converges, judge.LeavesNothing}}
	m.Provider = func(p provider.Provider, _ client.Client) provider.Provider {
		first := map[string]provider.Instance{}
		return brokenProvider{p, func(s *brokenSession) {
			s.list = func(ctx context.Context) iter.Seq2[provider.Instance, error] {
				return func(yield func(provider.Instance, error) bool) {
					for i, err := range s.Session.List(ctx) {
						was, seen := first[i.ID]
						if err == nil && !seen {
							first[i.ID], was = i, i
						}
						i.Owner, i.Namespace = was.Owner, was.Namespace
						if !yield(i, err) {
							return
						}
					}
				}
			}
		}}
	}
	return m
}
