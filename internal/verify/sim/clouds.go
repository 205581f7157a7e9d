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

// cloudLikeness describes a real cloud that the clouds of some worlds resemble.
type cloudLikeness struct {
	// lag and byID are the properties of listings in [cloud.Traits]. keeps says whether terminated instances stay
	// listed.
	lag         time.Duration
	byID, keeps bool
	habits      cloud.Habits
	// removalFailures is the percentage of accepted removals that fail. vanishes: only the record of a failed instance stays;
	// otherwise the whole instance stays.
	removalFailures int
	vanishes        bool
	// never are the faults that the cloud does not have; other faults are as drawn.
	never []fault
}

// cloudLikenesses are the likenesses of the clouds, by name. Their sources are the pages of docs/providers, the providers'
// declarations and the originals. Times are as in the sources, except times longer than a world. Rates of failure and limits
// are our own.
var cloudLikenesses = map[string]cloudLikeness{
	// Reads lag as the provider declares, also by ID (find.go). A token is valid in one zone
	// and for a day (write-a-provider.md), here for a quarter of an hour. Terminated
	// instances are listed for an hour, failed ones among them (state reasons, aws.md). Tags
	// that a call of their own writes are read late, as instances are. Node names come from
	// private addresses, which subnets reuse (PrivateDnsName, with
	// Gardener's provider). Disks and interfaces are created with the instance.
	"aws": {
		lag: 20 * time.Second, byID: true, keeps: true, vanishes: true,
		habits: cloud.Habits{
			Recalls: 15 * time.Minute, Keeps: time.Hour, Marks: 20 * time.Second, Addressed: true, Makes: cloud.InZones,
		},
		never: []fault{cloudHalf},
	},
	// A name is an identity, and a creation requires that it is free (azure.md):
	// the cloud keeps no other token. The interface is created first, and may be left behind.
	// Operations take long, and fail after they were accepted: the new resource exists,
	// and is Failed; a resource to delete still exists. Meanwhile other operations are refused
	// (AnotherOperationInProgress). 429 has Retry-After.
	"azure": {
		lag: 10 * time.Second, removalFailures: 15,
		habits: cloud.Habits{
			Recalls: cloud.WhileThere, Makes: cloud.InSteps, Unique: true, Busy: true,
			Limit: cloud.Limit{AtOnce: 40, PerMinute: 60, After: 3 * time.Minute},
		},
	},
	// Operations are objects: only they report a shortage and a quota, and
	// only the operation is left (gcp.md). Removals are operations, too. A request
	// with a used ID returns the former operation; the documents do not say for how long. IDs
	// and names are those of a zone. A name is free as soon as its instance is deleted. Two operations do not change one resource
	// (resourceNotReady).
	"gcp": {
		lag: 10 * time.Second, keeps: true, vanishes: true, removalFailures: 10,
		habits: cloud.Habits{
			Recalls: 15 * time.Minute, Keeps: 2 * time.Hour, Operations: true, Busy: true, Makes: cloud.InZones,
		},
		never: []fault{cloudHalf},
	},
	// There are no tokens: the creator of the port may create the server, and a port without
	// one is left alone for a minute (openstack.md, lock.go). A server that failed exists,
	// in ERROR; so is one whose removal failed. Ports and volumes outlive servers.
	"openstack": {
		lag: 5 * time.Second, removalFailures: 10,
		habits: cloud.Habits{Recalls: cloud.WhileThere, Makes: cloud.ByInterface},
	},
	// A clone exists before it is on. A task of its own powers it on, when there may
	// be no host for it (vsphere.md). Names are unique in a folder, and an object with a task under
	// way accepts no other (TaskInProgress). A call of its own attaches tags, as in the
	// originals. No read lags, and nothing outlives a virtual machine.
	"vsphere": {
		removalFailures: 10,
		habits:          cloud.Habits{Recalls: cloud.WhileThere, Makes: cloud.SwitchedOff, Unique: true, Busy: true, Marks: time.Minute},
		never:           []fault{cloudHalf, cloudLate},
	},
}

// Clouds are the names of these clouds.
func Clouds() []string { return slices.Sorted(maps.Keys(cloudLikenesses)) }

// NoCloud is a cloud that resembles none of them.
const NoCloud = "none"

// cloudSource is the source of random numbers of this profile alone.
const cloudSource = widerSource + 0x5e4e

// drawCloudLikeness makes the cloud of a third of the worlds resemble a real one.
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

// useCloudLikeness makes the cloud resemble the named one, where worlds have a cloud of their own.
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

// cloudModel is the world's cloud with its likeness.
type cloudModel struct{ w *World }

// like is the likeness of the world's cloud; the zero value: none.
func (s cloudModel) like() cloudLikeness { return cloudLikenesses[s.w.profile.cloud.Like] }

// open sets the cloud's callbacks.
func (s cloudModel) open() {
	s.w.cloud.RemovalFails = func(i *cloud.Machine) bool {
		if s.w.calm || !s.w.chance(s.like().removalFailures) {
			return false
		}
		s.w.tracef("cloud", "will FAIL to remove instance %s of %s", i.ID, i.Name)
		return true
	}
}

// around makes a call. The rest of the world may continue in the middle of it.
func (s cloudModel) around(p *process, before *judge.Pass, effect func() error) error {
	s.w.cloud.Between = func() { s.overtake(p, before) }
	defer func() { s.w.cloud.Between = nil }()
	return effect()
}

// overtake lets the rest of the world continue while the running task stops, as [process.pause] does. The task's request is
// on the wire, so a change of the leader makes no difference.
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

// account is the state of the account's rate limit.
type account struct {
	// full is when the full burst is available again, shut until when every call is refused.
	full, soldOut time.Time
}

var errTooMany = errors.New("too many requests")

// over is the error of a call beyond the limit; nil: the call is within the limit. A process that always crashes restarts at once here, and
// would exceed any limit with the first lookups of each start; a kubelet delays such restarts.
func (s cloudModel) over() error {
	l, a, now := s.w.profile.cloud.Limit, &s.w.refusals.account, s.w.now
	if l == (cloud.Limit{}) || s.w.profile.permanent == crashing {
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

// freeNames lets users terminate an instance whose machine does not exist and whose name another machine needs: as long as a
// machine has the name, no controller may delete that instance.
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
			w.does("deletes instance %s, whose name %s another machine has", i.ID, i.Name)
			w.cloud.Kill(i)
		}
	}
}
