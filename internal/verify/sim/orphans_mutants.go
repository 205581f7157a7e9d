package sim

import (
	"context"
	"iter"
	"reflect"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/provider"
)

// emptyReader returns an empty list if the API server does not answer.
type emptyReader struct{ client.Reader }

// List implements [client.Reader].
func (r emptyReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	_ = r.Reader.List(ctx, list, opts...)
	return nil
}

// late returns outdated lists.
type late struct {
	client.Reader
	seen map[reflect.Type][]client.ObjectList
}

// List implements [client.Reader].
func (r late) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	const behind = 8
	if err := r.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	kind := reflect.TypeOf(list)
	r.seen[kind] = append(r.seen[kind], list.DeepCopyObject().(client.ObjectList))
	all := r.seen[kind]
	old := all[max(0, len(all)-behind)].DeepCopyObject()
	reflect.ValueOf(list).Elem().Set(reflect.ValueOf(old).Elem())
	return nil
}

// careless removes all limits of the collector except the quarantine.
func careless(p *orphan.Policy) { p.MinMachines, p.Limit.Percent, p.PerHour = 0, 100, 1000 }

// reckless removes all limits of the collector.
func reckless(p *orphan.Policy) {
	careless(p)
	p.Grace = 0
}

// lostMachineSetting is a world that loses machines.
func lostMachineSetting(c *profile) { c.collects, c.trouble, c.sets = true, 10, 3 }

func orphanMutants() []Mutation {
	twin := cloudMutant("the twin goes with the double", []string{judge.WantedKept}, func(s *brokenSession, _ client.Client) {
		s.remove = func(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
			if ref.UID == "" && len(given) > 0 {
				ref.UID = given[0].UID
			}
			return s.Session.Delete(ctx, ref, given)
		}
	})
	twin.Setting = lostMachineSetting
	grabbing := cloudMutant("all that is listed was made by this control plane", []string{judge.OthersKept}, func(s *brokenSession, _ client.Client) {
		s.list = func(ctx context.Context) iter.Seq2[provider.Instance, error] {
			return func(yield func(provider.Instance, error) bool) {
				for i, err := range s.Session.List(ctx) {
					i.Owner = owner
					if !yield(i, err) {
						return
					}
				}
			}
		}
	})
	grabbing.Setting, grabbing.Strangers = lostMachineSetting, true
	return []Mutation{
		{
			Name: "pods with volumes leave all at once", Finds: []string{judge.VolumesInTurn, judge.VolumesFirst}, Dialects: []string{Gardener},
			Setting:  func(c *profile) { c.volumes, c.attach, c.sets, c.deployments = true, time.Minute, 1, 0 },
			Patience: func(p *lifecycle.Policy) { p.Drain.Policy.VolumesOneByOne = false },
		},
		{
			Name: "the time of an outage counts", Finds: []string{judge.SeenOnly}, Dialects: []string{Gardener}, Unprobed: true,
			Setting: func(c *profile) { c.outages, c.apart, c.trouble, c.sets = true, true, 20, 2 },
		},
		{
			Name: "an outage stops nobody", Finds: []string{judge.StillWhenBlind}, Unprobed: true,
			Setting: func(c *profile) { c.outages, c.apart, c.trouble, c.sets = true, true, 20, 2 },
		},
		{
			Name: "an API server that is out has no machines, and all instances are orphans", Finds: []string{judge.WantedKept}, Policy: reckless,
			Setting:   func(c *profile) { c.collects, c.percent[apiFails] = true, 50 },
			Collector: func(c, live client.Reader) (client.Reader, client.Reader) { return c, emptyReader{live} },
		},
		{
			// Three listings in a row must be stale. The policy has no quarantine:
			// otherwise each removal would be too early.
			Name: "orphans are judged by a cache that runs behind", Finds: []string{judge.WantedKept},
			Setting: func(c *profile) {
				c.collects, c.cloud.Lag, c.cloud.Boot = true, 0, time.Minute
				reckless(&c.orphans)
				c.orphans.Period = 5 * time.Second
			},
			Collector: func(c, _ client.Reader) (client.Reader, client.Reader) {
				behind := late{c, map[reflect.Type][]client.ObjectList{}}
				return behind, behind
			},
		},
		{
			Name: "an orphan is removed when it is first seen", Finds: []string{judge.OrphansWait}, Setting: lostMachineSetting,
			Policy: func(p *orphan.Policy) { p.Grace, p.Period = 0, 5*time.Second },
		},
		{
			Name: "orphans are removed all at once", Finds: []string{judge.OrphansFew, judge.OrphansCapped}, Setting: lostMachineSetting, Policy: careless,
		},
		grabbing,
		twin,
	}
}
