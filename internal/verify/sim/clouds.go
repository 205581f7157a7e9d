package sim

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/provider"
)

// cloudLikeness is what the clouds of some worlds are like, where the others are as it comes.
type cloudLikeness struct {
	// lag and byID are what [cloud.Traits] has of listings, keeps whether what is gone
	// stays in them.
	lag         time.Duration
	byID, keeps bool
	habits      cloud.Habits
	// undoes is how many percent of the removals fail that were accepted. vanishes: of
	// what is given up nothing stays but its record, or else all of it.
	undoes   int
	vanishes bool
	// never are faults that it does not have; the others are as it comes.
	never []fault
}

// cloudLikenesses are those of the clouds, by name. They are taken from the pages of
// docs/providers, from what providers declare, and from what the originals do. Times are as
// there, but for those that no world lasts; how often something fails, and limits, are ours.
var cloudLikenesses = map[string]cloudLikeness{
	// Reads are behind for as long as the provider declares, also by ID (find.go). Tokens are
	// those of a zone, and forgotten after a day (write-a-provider.md), for which a quarter of an hour stands here. What has
	// ended is listed for an hour, what was given up among it (state reasons, aws.md). Tags
	// that are written by a call of their own are read late, as instances are. Nodes are
	// called by private addresses, which subnets give out again (PrivateDnsName, with
	// Gardener's provider). Disks and interfaces are made with the instance.
	"aws": {
		lag: 20 * time.Second, byID: true, keeps: true, vanishes: true,
		habits: cloud.Habits{
			Recalls: 15 * time.Minute, Keeps: time.Hour, Marks: 20 * time.Second, Addressed: true, Makes: cloud.InZones,
		},
		never: []fault{cloudHalf},
	},
	// A name is an identity, and asked for on the condition that it is free (azure.md):
	// nothing else is remembered. The interface is made first, and may be left behind.
	// Operations take long, and fail after they were accepted: what was to be made is there,
	// and Failed; what was to be removed is there still. Meanwhile others are refused
	// (AnotherOperationInProgress). 429 has Retry-After.
	"azure": {
		lag: 10 * time.Second, undoes: 15,
		habits: cloud.Habits{
			Recalls: cloud.WhileThere, Makes: cloud.InSteps, Unique: true, Busy: true,
			Limit: cloud.Limit{AtOnce: 40, PerMinute: 60, After: 3 * time.Minute},
		},
	},
	// Operations are objects: a shortage and a quota arrive there and nowhere else, and
	// nothing is left but the operation (gcp.md). Removals are operations, too. A request
	// under an ID that was used is the operation that it was; for how long, is not said. IDs
	// and names are those of a zone. A name is free as soon as its instance is gone. No resource is changed by two operations
	// (resourceNotReady).
	"gcp": {
		lag: 10 * time.Second, keeps: true, vanishes: true, undoes: 10,
		habits: cloud.Habits{
			Recalls: 15 * time.Minute, Keeps: 2 * time.Hour, Operations: true, Busy: true, Makes: cloud.InZones,
		},
		never: []fault{cloudHalf},
	},
	// There are no tokens: whoever makes the port may ask for the server, and a port without
	// one is left alone for a minute (openstack.md, lock.go). A server that failed is there,
	// in ERROR; so is one whose removal failed. Ports and volumes outlive servers.
	"openstack": {
		lag: 5 * time.Second, undoes: 10,
		habits: cloud.Habits{Recalls: cloud.WhileThere, Makes: cloud.ByInterface},
	},
	// A clone is there before it is on, and is powered on by a task of its own, when there may
	// be no host for it (vsphere.md). A folder has one of a name, and what has a task under
	// way takes no other (TaskInProgress). Tags are attached by a call of their own, as the
	// originals do. No read is behind, and nothing outlives a virtual machine.
	"vsphere": {
		undoes: 10,
		habits: cloud.Habits{Recalls: cloud.WhileThere, Makes: cloud.SwitchedOff, Unique: true, Busy: true, Marks: time.Minute},
		never:  []fault{cloudHalf, cloudLate},
	},
}

// Clouds are the names of what worlds' clouds may be like.
func Clouds() []string { return slices.Sorted(maps.Keys(cloudLikenesses)) }

// NoCloud is what a cloud is like that is like none in particular.
const NoCloud = "none"

// cloudSource is a stream of random numbers that nothing else has.
const cloudSource = widerSource + 0x5e4e

// drawCloudLikeness makes the cloud of a third of the worlds like one of those that there are.
func (c *profile) drawCloudLikeness(seed uint64, like string) {
	r := rand.New(rand.NewPCG(seed, cloudSource))
	some, drawn := r.IntN(3) == 0, Clouds()[r.IntN(len(cloudLikenesses))]
	switch {
	case like == NoCloud:
	case like != "":
		c.useCloudLikeness(like)
	case some:
		c.useCloudLikeness(drawn)
	}
}

// useCloudLikeness makes the cloud like that of the name, where worlds have a cloud of their own.
func (c *profile) useCloudLikeness(name string) {
	if c.hollow {
		return
	}
	l := cloudLikenesses[name]
	c.cloud.Lag, c.cloud.LagByID, c.cloud.Lingers, c.cloud.Scarce = l.lag, l.byID, l.keeps, true
	c.cloud.Habits = l.habits
	c.cloud.Like = name
	for _, f := range l.never {
		c.percent[f] = 0
	}
	if l.habits.Limit != (cloud.Limit{}) {
		c.percent[cloudThrottled] = 0
	}
	c.settle()
}

// cloudModel is the world's cloud as one that may be like another.
type cloudModel struct{ w *World }

// like is what it is like; the zero value: none in particular.
func (s cloudModel) like() cloudLikeness { return cloudLikenesses[s.w.profile.cloud.Like] }

// open lets the cloud do what it is used to.
func (s cloudModel) open() {
	s.w.cloud.Undoes = func(i *cloud.Machine) bool {
		if s.w.calm || !s.w.chance(s.like().undoes) {
			return false
		}
		s.w.tracef("cloud", "will FAIL to remove instance %s of %s", i.ID, i.Name)
		return true
	}
}

// around makes a call in the middle of which the rest of the world may overtake it.
func (s cloudModel) around(p *process, before *judge.Pass, effect func() error) error {
	s.w.cloud.Between = func() { s.overtake(p, before) }
	defer func() { s.w.cloud.Between = nil }()
	return effect()
}

// overtake lets the rest of the world overtake the running task, as [process.pause] does.
// What it has asked for is on the wire: who leads meanwhile makes no difference.
func (s cloudModel) overtake(p *process, before *judge.Pass) {
	t, w := p.running, s.w
	if !w.chance(2*w.profile.pausePercent) || w.step < 0 {
		return
	}
	w.tracef(p.name(), "is between two steps of a creation")
	if !t.on.pause() {
		panic(killed{})
	}
	if t.saw != nil {
		t.saw.overtaken = true
	}
	w.acting = w.judge.Writes(before, p.deposed != nil, 0)
}

// account is what its calls have come to.
type account struct {
	// full is when there is room again for all that may come at once, shut until when
	// nothing is let through.
	full, soldOut time.Time
}

var errTooMany = errors.New("too many requests")

// over is what a call comes to that is beyond the limit; nil: it is not.
func (s cloudModel) over() error {
	l, a, now := s.w.profile.cloud.Limit, &s.w.refusals.account, s.w.now
	if l == (cloud.Limit{}) {
		return nil
	}
	if now.Before(a.soldOut) {
		return provider.ThrottledFor(a.soldOut.Sub(now), errTooMany)
	}
	each := time.Minute / time.Duration(l.PerMinute)
	if a.full.Before(now) {
		a.full = now
	}
	if a.full.Sub(now) > time.Duration(l.AtOnce-1)*each {
		a.soldOut = now.Add(l.After)
		return provider.ThrottledFor(l.After, errTooMany)
	}
	a.full = a.full.Add(each)
	return nil
}

// freeNames has people take away what keeps a machine from having its name: an instance of
// a machine that is gone, and that nobody else may touch as long as there is one of the name.
func (s cloudModel) freeNames() {
	w := s.w
	if !w.profile.cloud.Unique {
		return
	}
	for _, i := range w.cloud.Existing("") {
		named := func(m client.Object) bool {
			return m.GetName() == i.Name && m.GetDeletionTimestamp() == nil && len(w.cloud.Existing(string(m.GetUID()))) == 0
		}
		if w.machineOf(w.uidOf(i)) == nil && slices.ContainsFunc(w.machines(), named) {
			w.does("takes away instance %s, whose name %s another machine has", i.ID, i.Name)
			w.cloud.Kill(i)
		}
	}
}
