package sim

import (
	"math/rand/v2"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
)

// fault is one kind of misbehaviour of the world.
type fault int

// The faults. A fault of the API server or of the infrastructure comes before the
// effect, after the effect (the reply is lost), or long before the effect (the reply is
// lost and the effect comes late).
const (
	apiFails fault = iota
	apiBusy
	apiLost
	apiLate
	cloudFails
	cloudThrottled
	cloudDenied
	cloudExhausted
	cloudHalf
	cloudLost
	cloudLate
	instanceDies
	nodeStalls
	neverJoins
	processCrashes
	leaderChanges
	listsStale
	updateFails
	nodeRestarts
	faults
)

// The faults that were added later.
const (
	// cloudCut: a listing ends early.
	cloudCut fault = faults + iota
	allFaults
)

// profile describes the world of a seed. Each seed has only some of the faults, so that no fault hides
// another.
type profile struct {
	// percent is the probability of each fault where it may occur.
	percent [allFaults]int
	cloud   cloud.Traits
	// viewLag bounds the delay of informers.
	viewLag time.Duration
	// pausePercent is the probability that the rest of the world continues during a controller's call.
	pausePercent int
	// sets and singles are the numbers of sets and of machines without a set at the beginning.
	sets, singles int
	// tokens: nodes join with bootstrap tokens. ccm: a node gets its provider ID only after it has joined. groups: the machines of
	// a set belong to a group.
	tokens, ccm, groups bool
	// apps is the number of workloads, budgets says whether they have PodDisruptionBudgets.
	apps    int
	budgets bool
	// deployments is their number at the beginning; a world that begins without deployments never has any. strategy is the strategy
	// of all deployments, guarded says that they have precautions; empty and false: drawn at random. busy is the percentage of
	// additional steps that change a deployment. grown: when the faults begin, the world is at rest and about to roll
	// out.
	deployments int
	strategy    rollout.Strategy
	guarded     bool
	busy        int
	grown       bool

	wider
}

// wider has the parts of a profile that were added later. They are drawn from a random source of their own, so that the world
// of a seed does not change.
type wider struct {
	// apart: the machines join another cluster than the cluster of their objects.
	apart bool
	// collects: a collector looks for instances without a machine, with the policy `orphans`, and machines that have an instance
	// are lost. trouble is the percentage of steps that cause a trouble.
	collects bool
	orphans  orphan.Policy
	trouble  int
	// outages: API servers are unreachable for some time, and processes probe them.
	outages bool
	// denials: during an outage the API servers answer and deny every request. Only settings have it, not seeds.
	denials bool
	// volumes: pods have volumes, which take the time `attach` to attach or detach.
	volumes bool
	attach  time.Duration

	healthProfile
	impatience
	misdirectionProfile
	clockwork
	backupProfile
	troubles
	compromisedProfile
	certificateProfile
	helperProfile
	externalRemediationProfile
	oldCheckProfile
	remediationProfile
	rebooting
	disruptionProfile
	breadth
}

// impatience says how long drains and hooks may take.
type impatience struct {
	// drains is the drain timeout of all machines, if their API has one. tight: no budget ever allows an eviction. hooks is how
	// long a hook may stop a step before the machine reports it. Zero: the default.
	drains, hooks time.Duration
	tight         bool
}

func (i *impatience) draw(r *rand.Rand) {
	i.drains = []time.Duration{0, 0, 3 * time.Minute, 20 * time.Minute}[r.IntN(4)]
	i.hooks = []time.Duration{0, time.Minute, 10 * time.Minute}[r.IntN(3)]
	i.tight = r.IntN(6) == 0
}

// widen draws the parts that were added later.
func (c *profile) widen(r *rand.Rand) {
	for f := faults; f < allFaults; f++ {
		if r.IntN(2) == 0 {
			c.percent[f] = usual[f]
		}
	}
	c.apart = r.IntN(2) == 0
	c.collects, c.orphans = r.IntN(2) == 0, carefulPolicy()
	c.outages = r.IntN(2) == 0
	c.volumes, c.attach = r.IntN(2) == 0, []time.Duration{0, 3 * time.Second, time.Minute, 4 * time.Minute}[r.IntN(4)]
	if c.collects || c.outages {
		c.trouble = []int{1, 2, 5}[r.IntN(3)]
	}
	c.healthProfile.draw(r)
	if c.frail {
		c.trouble = max(c.trouble, 2)
	}
	c.impatience.draw(r)
	if c.clockwork.draw(r); c.clockwork.set {
		// A process whose clock is an hour behind creates tokens that have expired, and cannot notice that.
		c.trouble, c.tokens = max(c.trouble, 2), false
	}
}

// usual is the probability of each fault, in percent, in the worlds of seeds that have the fault.
var usual = [allFaults]int{
	apiFails: 8, apiBusy: 5, apiLost: 10, apiLate: 6,
	cloudFails: 10, cloudThrottled: 8, cloudDenied: 8, cloudExhausted: 20, cloudHalf: 20, cloudLost: 25, cloudLate: 15,
	instanceDies: 100, nodeStalls: 15, neverJoins: 10, processCrashes: 100, leaderChanges: 100, listsStale: 30,
	updateFails: 30, nodeRestarts: 40, cloudCut: 3,
}

func baseProfile(r *rand.Rand) profile {
	var c profile
	for f := range faults {
		if r.IntN(2) == 0 {
			c.percent[f] = usual[f]
		}
	}
	lags := []time.Duration{0, 0, 2 * time.Second, 10 * time.Second}
	c.cloud = cloud.Traits{
		Lag: lags[r.IntN(len(lags))], LagByID: r.IntN(2) == 0,
		Boot: []time.Duration{0, 2 * time.Second, time.Minute}[r.IntN(3)],
		Stop: []time.Duration{0, 2 * time.Second, time.Minute}[r.IntN(3)], Lingers: r.IntN(3) == 0,
	}
	c.viewLag = []time.Duration{0, 500 * time.Millisecond, 5 * time.Second, 30 * time.Second}[r.IntN(4)]
	c.pausePercent = []int{0, 5, 15, 40}[r.IntN(4)]
	c.sets, c.singles = r.IntN(3), r.IntN(3)
	if c.sets+c.singles == 0 {
		c.sets = 1
	}
	c.tokens, c.ccm, c.groups = r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(3) == 0
	c.apps, c.budgets = r.IntN(3), r.IntN(2) == 0
	if r.IntN(2) == 0 {
		c.deployments = 1 + r.IntN(3)/2
		c.sets, c.singles = r.IntN(2), r.IntN(2)
		c.guarded, c.grown = r.IntN(4) == 0, r.IntN(3) > 0
	}
	return c
}
