package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// epoch is the time at which every world begins.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// widerSource is the first of the sources of random numbers that no step uses.
const widerSource = 1 << 63

// World is the whole simulation.
type World struct {
	o    Options
	seed uint64
	now  time.Time
	// rng is the random source of the present step; step is its number, -1 after the faults have stopped.
	rng  *rand.Rand
	step int
	calm bool

	profile profile
	// apis are the APIs of the machines in this world. adapter is the API of the users' next actions.
	apis    []*adapter
	adapter *adapter
	// named counts the names that sets have chosen. It makes each name unique.
	named int
	// store is the API server of the machines, target that of the cluster that they join: the same server or another one.
	store, target *store.Store
	cloud         *cloud.Cloud
	procs         []*process
	// serials counts all processes.
	serials int
	// spare are routines whose pass has ended, for later passes.
	spare []*routine
	late  []lateEffect

	kubelets     map[string]*kubelet
	owners       owners
	losses       losses
	falseAnswers falseAnswers
	backups      backups
	recreated    recreated
	// budgetsMade is the number of disruption budgets that users have created.
	budgetsMade int
	outages     []outage
	// earlier are the leases that the earlier version holds.
	earlier map[lease]bool
	// hollow is kubemark's cloud in worlds that use it.
	hollow           *hollow
	volumes          volumes
	healthState      healthState
	remediationState remediationState
	refusals         refusals
	bad              badImage
	// told is the time of the last warning event, by the name of its object.
	told map[string]time.Time

	// judge checks every write. writing is the pass that now writes to an API server, nil for the world's own writes. acting is
	// the pass that calls the cloud.
	judge           *judge.Judge
	writing, acting *judge.Pass

	counts    counts
	violation *Violation
	trace     []string
}

// counts are the numbers of a run.
type counts struct{ reconciles, writes, cloudCalls int }

// newProfile draws the profile of a seed, whose first source is r; like is [Options.Cloud].
func newProfile(seed uint64, r *rand.Rand, like string) profile {
	c := baseProfile(r)
	c.widen(rand.New(rand.NewPCG(seed, widerSource)))
	c.drawMisdirection(rand.New(rand.NewPCG(seed, misdirectionSource)))
	c.restore(rand.New(rand.NewPCG(seed, backupSource)))
	c.drawTroubles(seed)
	c.compromisedProfile.draw(rand.New(rand.NewPCG(seed, compromisedSource)))
	c.certificateProfile.draw(rand.New(rand.NewPCG(seed, certificateSource)))
	c.externalRemediationProfile.draw(rand.New(rand.NewPCG(seed, externalRemediationSource)))
	c.rebooting.draw(rand.New(rand.NewPCG(seed, rebootSource)))
	c.remediationProfile.draw(rand.New(rand.NewPCG(seed, remediationSource)))
	c.oldCheckProfile.draw(rand.New(rand.NewPCG(seed, oldCheckSource)))
	c.helperProfile.draw(rand.New(rand.NewPCG(seed, helperSource)))
	c.broaden(rand.New(rand.NewPCG(seed, breadthSource)))
	c.drawCloudLikeness(seed, like)
	c.disruptionProfile.draw(rand.New(rand.NewPCG(seed, disruptionSource)))
	c.settleDisruptions()
	return c
}

func newWorld(seed uint64, o Options) *World {
	w := &World{o: o, seed: seed, now: epoch, kubelets: map[string]*kubelet{}, told: map[string]time.Time{}, bad: badImage{template: 1, many: stormSize}}
	w.rng = rand.New(rand.NewPCG(seed, 0))
	w.profile = newProfile(seed, w.rng, o.Cloud)
	if m := o.Mutation; m != nil && m.Setting != nil {
		m.Setting(&w.profile)
		w.profile.settle()
	}
	w.openAPIs()
	w.openStores()
	w.cloud = &cloud.Cloud{
		Traits: w.profile.cloud, Now: w.Now, Roll: w.roll, Half: func() bool { return w.faulty(cloudHalf) },
		Cut:          func() bool { return w.faulty(cloudCut) },
		StartFailure: w.startFailure,
		OnCreate: func(i *cloud.Machine) {
			hazardEffects{w}.rename(i)
			w.judge.Created(w.instance(i), w.acting, w.cloud.Late != 0)
		},
		OnStop: func(i *cloud.Machine) { w.judge.Stopped(w.instance(i), w.acting) },
	}
	w.cloud.Choices, w.cloud.Full = choiceStock{w}.choices(), choiceStock{w}.full
	w.openPower()
	cloudModel{w}.open()
	w.openHollow()
	w.openJudge()
	w.begin()
	w.startEarlierVersions()
	for _, of := range w.apis {
		for _, role := range w.roles(of) {
			w.start(role, of, 0)
			if o.Mutation != nil && o.Mutation.TwoLeaders {
				w.start(role, of, 0)
			}
		}
	}
	return w
}

// roles are the controllers that run for an API. In worlds without deployments or without a collector, their controllers
// do not run.
func (w *World) roles(of *adapter) []role {
	all := []role{machineRole, setRole}
	if w.profile.deployments > 0 {
		all = append(all, fleetRole)
	}
	if w.profile.collects {
		if of.number == 0 || !w.profile.together {
			all = append(all, orphanRole)
		}
	}
	// A machine of the other API may take a node that has its name and no
	// provider ID, and releases it later.
	if of.runNodes != nil && (w.profile.collects || len(w.apis) > 1) {
		all = append(all, nodeRole)
	}
	if w.profile.checks && of.number == 0 {
		all = append(all, healthRole)
		if w.hasOldChecks() {
			all = append(all, oldHealthRole)
		}
	}
	if w.profile.helpers {
		all = append(all, helperRole)
	}
	return all
}

// Now implements clock.PassiveClock.
func (w *World) Now() time.Time { return w.now }

// Since implements clock.PassiveClock.
func (w *World) Since(t time.Time) time.Duration { return w.now.Sub(t) }

func (w *World) roll(n int) int          { return w.rng.IntN(n) }
func (w *World) chance(percent int) bool { return percent > 0 && w.rng.IntN(100) < percent }
func (w *World) between(a, b int) int    { return a + w.rng.IntN(b-a+1) }

// faulty reports whether the fault occurs now. It draws in calm steps too, so that a calm step changes nothing
// else.
func (w *World) faulty(f fault) bool { return w.chance(w.profile.percent[f]) && !w.calm }

// pick chooses one element of all; false: all is empty.
func pick[T any](w *World, all []T) (one T, ok bool) {
	if len(all) == 0 {
		return one, false
	}
	return all[w.roll(len(all))], true
}

func (w *World) tracef(who, format string, args ...any) {
	if w.o.Trace {
		w.trace = append(w.trace, fmt.Sprintf("%10.3fs %4d  %-22s %s", w.now.Sub(epoch).Seconds(), w.step, who, fmt.Sprintf(format, args...)))
	}
}

// broken records the first broken promise. The run ends with the step.
func (w *World) broken(statement, format string, args ...any) {
	if w.violation == nil {
		w.violation = &Violation{Statement: statement, Detail: fmt.Sprintf(format, args...), Step: w.step}
		w.tracef("VIOLATION", "%s", w.violation)
	}
}

// live runs the whole world.
func (w *World) live() {
	defer w.shutdown()
	if w.profile.grown && !w.grow() {
		return
	}
	only := w.o.only
	if only == nil {
		for i := range w.steps() {
			only = append(only, i)
		}
	}
	for _, step := range only {
		w.step, w.calm = step, w.o.calm[step]
		w.rng = rand.New(rand.NewPCG(w.seed, uint64(step)+1))
		w.act()
		if w.violation != nil {
			return
		}
	}
	w.step, w.calm = -1, true
	w.rng = rand.New(rand.NewPCG(w.seed, uint64(w.o.Steps)+1))
	w.quiesce()
}

// grow lets the world come to rest and begins a rollout, so that the faults begin in the middle of it. It reports whether
// the world came to rest.
func (w *World) grow() bool {
	w.step, w.calm = -1, true
	if !w.converge(judge.Converges, w.unsettled, w.intervene) {
		return false
	}
	w.each(func() {
		for i, d := range w.deployments() {
			w.edit(d, "", func(o client.Object) { w.adapter.fleet.roll(o, 1+i%2) })
		}
	})
	w.waitForBadRollout()
	return w.violation == nil
}

// act is one step: the seed chooses the actor.
func (w *World) act() {
	w.chooseAPI()
	w.stepNamespaceDeletion()
	if w.chance(w.profile.trouble) {
		w.stepTrouble()
		return
	}
	if w.chance(w.profile.busy) && !w.ended() {
		w.stepOwner()
		return
	}
	total := 0
	for _, a := range actors {
		total += a.weight
	}
	n := w.roll(total)
	for _, a := range actors {
		if n -= a.weight; n < 0 {
			a.act(w)
			break
		}
	}
	if w.profile.grown {
		w.getOn()
	}
}

// getOn lets a controller make additional progress: a rollout takes many passes of all controllers in turn.
func (w *World) getOn() {
	p, ok := pick(w, w.leading())
	if !ok {
		return
	}
	w.catchUp(p)
	if key, ok := pick(w, p.startable()); ok {
		p.begin(key)
	} else if len(p.tasks) > 0 {
		p.run(p.tasks[w.roll(len(p.tasks))])
	}
	w.stepNode()
}

var actors = []struct {
	weight int
	act    func(*World)
}{
	{30, (*World).stepInformer},
	{28, (*World).stepWork},
	{12, (*World).stepResume},
	{14, (*World).stepTime},
	{12, (*World).stepNode},
	{6, (*World).stepPod},
	{5, (*World).stepUser},
	{3, (*World).stepCollector},
	{3, (*World).stepLate},
	{1, (*World).stepCrash},
	{1, (*World).stepLeader},
	{1, (*World).stepDeath},
}

// objects returns the objects of the kind of example as they are stored.
func objects[T client.Object](w *World, example T) []T {
	all := w.home(example).All(example)
	out := make([]T, len(all))
	for i, o := range all {
		out[i] = o.(T)
	}
	return out
}

// ofNodes is an example of a Node, created once: a new one for each call took a fifth of all memory.
var ofNodes = &corev1.Node{}

func (w *World) node(name string) *corev1.Node {
	n, _ := w.target.Lookup(ofNodes, client.ObjectKey{Name: name}).(*corev1.Node)
	return n
}

// must ends the run if a write of the world itself fails.
func (w *World) must(what string, err error) {
	if err != nil {
		panic(fmt.Sprintf("seed %d: the world cannot %s: %v", w.seed, what, err))
	}
}

// edit changes an object in place, as a client does that reads it live.
func (w *World) edit(o client.Object, part string, change func(client.Object)) {
	c := o.DeepCopyObject().(client.Object)
	change(c)
	_, err := w.home(c).Update(c, part)
	w.must("edit "+c.GetName(), err)
}
