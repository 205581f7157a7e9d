package sim

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/provider"
)

// Mutants are the historic defects of machine controllers. The simulator must find each of them.
func Mutants() []Mutation {
	return slices.Concat(
		lensMutants(), cloudMutants(), clientMutants(), processMutants(), fleetMutants(), orphanMutants(),
		checkMutants(),
		misdirectionMutants(),
		timeMutants(),
		troubleMutants(),
		compromisedMutants(),
		certificateMutants(),
		helperMutants(),
		externalRemediationMutants(),
		oldCheckMutants(),
		remediationMutants(),
		rebootMutants(),
		disruptionMutants(),
		apiMutants(),
		endingMutants(),
		recreationMutants(),
		alarmMutants(),
		choosingMutants(),
		habitMutants(),
	)
}

func lensMutants() []Mutation {
	return []Mutation{
		{
			Name: "no finalizer before create", Finds: []string{judge.HeldFirst, judge.NoOrphan},
			View:   func(m *lifecycle.Machine) { m.HasFinalizer = true },
			Client: withoutFinalizers,
			// The same write stores where the instance is requested.
			Record: func(o client.Object, out lifecycle.Outcome) {
				if out.Did(lifecycle.AddFinalizer) {
					o.SetFinalizers(nil)
				}
			},
		},
		{
			Name: "terminate before drain", Finds: []string{judge.DrainedFirst},
			View: func(m *lifecycle.Machine) { m.Deletion.SkipDrain = true },
		},
		{
			Name: "a drain that was only begun counts as finished", Finds: []string{judge.DrainedFirst},
			View: func(m *lifecycle.Machine) { m.Deletion.Drained = m.Stage == lifecycle.StageDeleting },
		},
		{
			Name: "hooks are ignored", Finds: []string{judge.HooksHonoured}, Dialects: []string{OpenShift},
			Setting: func(c *profile) { c.wider, c.deployments, c.sets, c.singles = wider{}, 0, 2, 2 },
			View:    func(m *lifecycle.Machine) { m.Deletion.PreDrain, m.Deletion.PreTerminate = nil, nil },
		},
		{
			Name: "hooks are overruled when their time is over", Finds: []string{judge.HooksHonoured}, Dialects: []string{OpenShift},
			Setting: func(c *profile) {
				c.wider, c.deployments, c.sets, c.singles = wider{impatience: impatience{hooks: time.Minute}}, 0, 2, 2
			},
			Aged: func(m *lifecycle.Machine, now time.Time) {
				if !m.Deleted.IsZero() && now.Sub(m.Deleted) > time.Minute {
					m.Deletion.PreDrain, m.Deletion.PreTerminate = nil, nil
				}
			},
		},
		{
			Name: "a drain is forced at half of its time", Finds: []string{judge.ForceInTime}, Dialects: []string{Gardener}, Setting: protected,
			Patience: func(p *lifecycle.Policy) { p.Drain.Timeout /= 2 },
		},
		{
			Name: "a budget that refuses once is overruled", Finds: []string{judge.ForceInTime}, Setting: protected,
			Patience: func(p *lifecycle.Policy) { p.Drain.Policy.MaxEvictAttempts = 1 },
		},
		{
			Name: "a machine on its way out counts as a replica", Finds: []string{judge.NotTooFew, judge.Converges},
			Setting: func(c *profile) { c.wider, c.sets, c.singles, c.viewLag = wider{}, 3, 0, 0 },
			Member:  func(m *replicas.Member) { m.Deleting, m.Leaving = false, false },
		},
		{
			Name: "something is written in every pass", Finds: []string{judge.Rests, judge.Converges},
			Setting: func(c *profile) { c.wider, c.deployments, c.sets, c.singles, c.apps = wider{}, 0, 0, 1, 0 },
			Record: func(o client.Object, _ lifecycle.Outcome) {
				annotations := o.GetAnnotations()
				if annotations == nil {
					annotations = map[string]string{}
				}
				annotations["pass"] = map[string]string{"even": "odd"}[annotations["pass"]]
				if annotations["pass"] == "" {
					annotations["pass"] = "even"
				}
				o.SetAnnotations(annotations)
			},
		},
	}
}

// protected makes worlds in which no budget allows an eviction and machines are often created and deleted.
func protected(c *profile) {
	c.wider = wider{impatience: impatience{drains: 3 * time.Minute, tight: true}}
	c.deployments, c.sets, c.singles, c.apps, c.budgets = 0, 2, 2, 3, true
	c.cloud.Boot, c.percent[nodeStalls], c.percent[neverJoins], c.percent[instanceDies] = 0, 0, 0, 0
}

// brokenSession is a session with a defect.
type brokenSession struct {
	provider.Session
	find   func(ctx context.Context, ref provider.Ref) ([]provider.Instance, error)
	create func(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error)
	remove func(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error)
	list   func(ctx context.Context) iter.Seq2[provider.Instance, error]
	// hasty hides that listings lag behind.
	hasty bool
	// nameless hides the account's name, unstarted hides that instances must be initialized.
	nameless, unstarted bool
}

// List implements [provider.Session].
func (s brokenSession) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	if s.list != nil {
		return s.list(ctx)
	}
	return s.Session.List(ctx)
}

// Traits implements [provider.Session].
func (s brokenSession) Traits() provider.Traits {
	t := s.Session.Traits()
	if s.hasty {
		t.ReadLag = 0
	}
	return t
}

// Account implements [provider.Session].
func (s brokenSession) Account(ctx context.Context) (string, error) {
	if s.nameless {
		return "", provider.ErrNoAccount
	}
	return s.Session.Account(ctx)
}

// As overrides the optional interfaces.
func (s brokenSession) As(target any) bool {
	if l, ok := target.(*provider.LeftoverLister); ok {
		*l, ok = provider.As[provider.LeftoverLister](s.Session)
		return ok
	}
	if i, ok := target.(*provider.Initializer); ok && !s.unstarted {
		*i, ok = provider.As[provider.Initializer](s.Session)
		return ok
	}
	return false
}

// Find implements [provider.Session].
func (s brokenSession) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	if s.find != nil {
		return s.find(ctx, ref)
	}
	return s.Session.Find(ctx, ref)
}

// Create implements [provider.Session].
func (s brokenSession) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if s.create != nil {
		return s.create(ctx, ref, want)
	}
	return s.Session.Create(ctx, ref, want)
}

// Delete implements [provider.Session].
func (s brokenSession) Delete(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
	if s.remove != nil {
		return s.remove(ctx, ref, given)
	}
	return s.Session.Delete(ctx, ref, given)
}

// brokenProvider breaks every session.
type brokenProvider struct {
	provider.Provider
	wreck func(*brokenSession)
}

// Open implements [provider.Provider].
func (p brokenProvider) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	s, err := p.Provider.Open(ctx, class)
	if err != nil {
		return nil, err
	}
	b := brokenSession{Session: s}
	p.wreck(&b)
	return b, nil
}

func cloudMutant(name string, finds []string, wreck func(s *brokenSession, c client.Client)) Mutation {
	return Mutation{
		Name: name, Finds: finds,
		Provider: func(p provider.Provider, c client.Client) provider.Provider {
			return brokenProvider{p, func(s *brokenSession) { wreck(s, c) }}
		},
	}
}

// countingMutant breaks the token, with a separate memory in each process. It also hides that listings lag, because
// either guard alone would prevent the breach.
func countingMutant(name string, wreck func(s *brokenSession, counts map[string]int)) Mutation {
	return Mutation{
		Name: name, Finds: []string{judge.OneInstance},
		Setting: func(c *profile) {
			c.cloud.Lag, c.cloud.LagByID, c.percent[cloudLost] = 10*time.Second, true, usual[cloudLost]
		},
		Provider: func(p provider.Provider, _ client.Client) provider.Provider {
			counts := map[string]int{}
			return brokenProvider{p, func(s *brokenSession) {
				s.hasty = true
				wreck(s, counts)
			}}
		},
	}
}

// hastyMutant hides that listings lag, in worlds in which they do.
func hastyMutant() Mutation {
	m := cloudMutant("an empty listing is believed at once", []string{judge.NoEarlyRelease, judge.NoOrphan, judge.NodeLast},
		func(s *brokenSession, _ client.Client) { s.hasty = true })
	m.Setting = func(c *profile) { c.cloud.Lag, c.cloud.LagByID = 10*time.Second, true }
	return m
}

func cloudMutants() []Mutation {
	return []Mutation{
		countingMutant("a new token with every attempt to create", func(s *brokenSession, attempts map[string]int) {
			s.create = func(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
				attempts[ref.UID]++
				return s.Session.Create(cloud.Retoken(ctx, attempts[ref.UID]), ref, want)
			}
		}),
		countingMutant("a lost reply counts as a failure", func(s *brokenSession, failed map[string]int) {
			s.create = func(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
				i, err := s.Session.Create(cloud.Retoken(ctx, failed[ref.UID]), ref, want)
				if err != nil {
					failed[ref.UID]++
				}
				return i, err
			}
		}),
		cloudMutant("released as soon as removal is accepted", []string{judge.NoEarlyRelease, judge.NodeLast}, func(s *brokenSession, _ client.Client) {
			s.remove = func(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
				_, err := s.Session.Delete(ctx, ref, given)
				return err == nil, err
			}
		}),
		cloudMutant("denied counts as gone", []string{judge.NoEarlyRelease, judge.NodeLast, judge.DrainedFirst}, func(s *brokenSession, _ client.Client) {
			s.find = func(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
				out, err := s.Session.Find(ctx, ref)
				return out, allow(err)
			}
			s.remove = func(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
				done, err := s.Session.Delete(ctx, ref, given)
				return done || err != nil && allow(err) == nil, allow(err)
			}
		}),
		cloudMutant("a partial listing counts as a whole one", []string{judge.NoEarlyRelease, judge.NodeLast, judge.DrainedFirst, judge.Converges, judge.OneInstance}, func(s *brokenSession, _ client.Client) {
			s.find = func(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
				out, _ := s.Session.Find(ctx, ref)
				return out, nil
			}
			s.remove = func(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
				if len(given) == 0 {
					return true, nil
				}
				return s.Session.Delete(ctx, ref, given)
			}
		}),
		hastyMutant(),
		cloudMutant("the node is deleted before the instance", []string{judge.NodeLast}, func(s *brokenSession, c client.Client) {
			s.remove = func(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
				_ = c.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: ref.Name}})
				return s.Session.Delete(ctx, ref, given)
			}
		}),
	}
}

// allow treats a denial as success.
func allow(err error) error {
	if provider.KindOf(err) == provider.Denied {
		return nil
	}
	return err
}

// brokenClient is a client with a defect.
type brokenClient struct {
	client.Client
	create func(ctx context.Context, o client.Object, opts ...client.CreateOption) error
}

// Create implements [client.Writer].
func (c brokenClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return c.create(ctx, o, opts...)
}

// withoutFinalizers removes the finalizers of new machines.
func withoutFinalizers(c client.Client, live client.Reader) (client.Client, client.Reader) {
	return brokenClient{c, func(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
		o.SetFinalizers(nil)
		return c.Create(ctx, o, opts...)
	}}, live
}

// freshNames uses another name with every attempt, as with generateName.
func freshNames(c client.Client, live client.Reader) (client.Client, client.Reader) {
	n := 0
	return brokenClient{c, func(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
		if strings.HasPrefix(o.GetName(), o.GetGenerateName()) && o.GetGenerateName() != "" {
			n++
			o.SetName(fmt.Sprintf("%s-%d", o.GetName(), n))
		}
		err := c.Create(ctx, o, opts...)
		if err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
			return apierrors.NewBadRequest("a lost reply, taken for a refusal")
		}
		return err
	}}, live
}

func cachedForLive(c client.Client, _ client.Reader) (client.Client, client.Reader) { return c, c }

func clientMutants() []Mutation {
	return []Mutation{
		{
			Name: "a drain ends by what the cache shows", Finds: []string{judge.DrainedFirst}, Client: cachedForLive,
			Setting: func(c *profile) {
				c.wider, c.deployments, c.sets, c.singles = wider{}, 0, 1, 2
				c.apps, c.budgets, c.viewLag, c.cloud.Boot, c.cloud.Stop = 8, false, 30*time.Second, 0, 0
			},
		},
		{Name: "a set takes a lost reply for a failure", Finds: []string{judge.NotTooMany}, Client: freshNames},
	}
}

func processMutants() []Mutation {
	return []Mutation{
		{Name: "a set acts on a cache older than its own writes", Finds: []string{AsDecided, judge.NotTooMany, judge.NotTooFew}, Forgetful: true, Client: cachedForLive},
		{Name: "two leaders", Finds: []string{judge.NotTooMany, judge.NotTooFew}, TwoLeaders: true},
	}
}
