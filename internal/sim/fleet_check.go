package sim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/rollout"
	"github.com/millwright-dev/millwright/internal/sim/store"
)

// The statements about deployments. Each is judged by the truth at the moment
// of a write, and excuses only what the controller could not know: machines
// that its cache has not shown yet, and what others did that it has not seen.
const (
	// NotAbove: when a deployment lets a set grow, the machines that its sets
	// have or are to have are no more than replicas and surge, those on their
	// way out included that the deployment gave up.
	NotAbove = "a deployment never grows beyond replicas and surge"
	// NotBelow: when it lets one shrink, or has a node updated, as many as
	// replicas less unavailable stay available, if that many were.
	NotBelow = "a deployment never gives up machines that have to be available"
	// OldFirst is about the strategy that makes room before it makes anything.
	OldFirst = "Recreate makes no machine while an old one is there"
	// OneSet: a template has one set.
	OneSet = "no template gets a second set"
	// OwnOnly: foreign sets, and machines of foreign sets, stay as they are.
	OwnOnly = "a deployment changes nothing that is not its own"
	// NoNeed: machines of the present template stay.
	NoNeed = "no machine is given up without a change of template or size"
	// UpdatedStays: a set to which an updated machine was handed over gives up
	// no machine for it.
	UpdatedStays = "an update in place costs no machine"
	// FrozenRests: a set with far too many machines makes no more.
	FrozenRests = "a frozen set makes no machine"
)

// glimpse is what the controller of deployments could know when a pass began.
type glimpse struct {
	deployment client.Object
	machines   map[types.UID]glimpsed
	// reached is the version up to which it had seen the sets, version that of
	// the truth.
	reached, version int64
}

// glimpsed is a machine as its caches showed it.
type glimpsed struct {
	set                     types.UID
	leaving, working, asked bool
	// updating: its node was to be updated, and not done.
	updating bool
}

func (p *process) glimpse(key client.ObjectKey) glimpse {
	w, f := p.w, p.w.tells.fleet
	g := glimpse{
		deployment: p.view(f.deployment).Lookup(key), machines: map[types.UID]glimpsed{},
		reached: p.view(w.tells.set).Reached(), version: w.store.Version(),
	}
	if g.deployment == nil {
		return g
	}
	policy := f.policy(g.deployment)
	node := p.shows().node
	for _, m := range p.view(w.tells.machine).All() {
		ref := metav1.GetControllerOf(m)
		if ref == nil {
			continue
		}
		v := f.machine(m, node(f.machine(m, nil).Node))
		g.machines[m.GetUID()] = glimpsed{
			set: ref.UID, leaving: v.Leaving, asked: v.Asked,
			working: v.Available(w.now, policy), updating: updating(v),
		}
	}
	return g
}

// judgeRollout judges a write of the controller of deployments.
func (p *process) judgeRollout(c store.Call, old, now client.Object, before snapshot) {
	w := p.w
	g := before.glimpse
	switch c.Kind.Kind {
	case "MachineSet":
		w.checkOwn(g, old, now)
		if p.deposed != nil || w.belated {
			w.owners.outside[g.deployment.GetUID()] = w.store.Version()
		} else {
			p.judgeSet(g, old, now)
		}
		if old != nil && now != nil && w.tells.size(old) != w.tells.size(now) {
			delete(w.owners.arrived, now.GetUID())
			if w.owners.sized[now.GetUID()] && !w.tooEarly(g.deployment, now) {
				delete(w.owners.sized, now.GetUID())
				w.owners.righted[g.deployment.GetUID()] = w.store.Version()
			}
		}
	case "Machine":
		// Whose its set is was up to others, a moment ago.
		if s := w.setOf(old); s != nil && !metav1.IsControlledBy(s, g.deployment) && versionOf(s) <= g.reached {
			w.broken(OwnOnly, "machine %s of set %s was changed for deployment %s", old.GetName(), s.GetName(), g.deployment.GetName())
		}
		if to := w.setOf(now); to != nil && !metav1.IsControlledBy(old, to) {
			w.users.done++ // it changes the numbers of both sets
			w.owners.arrived[to.GetUID()]++
			w.owners.arrivedFor[to.GetUID()] = w.tells.fleet.view(g.deployment).Replicas
			w.owners.moved[now.GetUID()] = w.store.Version()
		}
	case "Node":
		if d := p.judged(g); d != nil && p.deposed == nil && !w.belated {
			p.judgeSelection(g, d, old.(*corev1.Node), now.(*corev1.Node))
		}
	}
}

// tooEarly reports whether the set of a deployment that makes room first has a
// size while others have machines. It got that from people, and is not put right
// until it has none or they are gone; a deployment only cuts it to what it wants,
// and shares out what it gets while it is paused.
func (w *World) tooEarly(d, s client.Object) bool {
	others := func(o client.Object) bool { return o.GetUID() != s.GetUID() && len(w.controlled(o)) > 0 }
	return w.tells.fleet.view(d).Strategy == rollout.Recreate && w.tells.size(s) > 0 && slices.ContainsFunc(w.setsOf(d), others)
}

// judged is the deployment that a write is judged by; nil where what others did
// to its sets excuses everything.
func (p *process) judged(g glimpse) client.Object {
	w := p.w
	d := w.store.Lookup(g.deployment, client.ObjectKeyFromObject(g.deployment))
	if d == nil || d.GetUID() != g.deployment.GetUID() || d.GetDeletionTimestamp() != nil || w.owners.outside[d.GetUID()] > g.reached {
		return nil
	}
	return d
}

func (w *World) checkOwn(g glimpse, old, now client.Object) {
	for _, s := range []client.Object{old, now} {
		if s == nil {
			continue
		}
		ref := metav1.GetControllerOf(s)
		if ref != nil && ref.UID != g.deployment.GetUID() || ref == nil && old == nil {
			w.broken(OwnOnly, "set %s was changed for deployment %s", s.GetName(), g.deployment.GetName())
		}
	}
	if old != nil && now != nil && metav1.GetControllerOf(old) == nil && metav1.GetControllerOf(now) == nil {
		w.broken(OwnOnly, "set %s, which is nobody's, was changed for deployment %s", old.GetName(), g.deployment.GetName())
	}
	if old != nil && now != nil && metav1.GetControllerOf(old) == nil && !w.tells.fleet.adopts(g.deployment, old) {
		w.broken(OwnOnly, "set %s was taken over by deployment %s", old.GetName(), g.deployment.GetName())
	}
}

func (p *process) judgeSet(g glimpse, old, now client.Object) {
	w := p.w
	d := p.judged(g)
	if d == nil {
		return
	}
	if old == nil {
		w.checkOneSet(d, now)
	}
	was, is := 0, 0
	if old != nil {
		was = w.tells.size(old)
	}
	if now != nil && now.GetDeletionTimestamp() == nil {
		is = w.tells.size(now)
	}
	switch {
	case is > was:
		p.judgeGrowth(g, d, now, was)
	case is < was && old.GetDeletionTimestamp() == nil:
		p.judgeShrinkage(g, d, old, is)
	}
}

func (w *World) checkOneSet(d, made client.Object) {
	for _, s := range w.setsOf(d) {
		if s.GetUID() != made.GetUID() && s.GetDeletionTimestamp() == nil && w.tells.fleet.alike(s, made) {
			w.broken(OneSet, "set %s has the template of %s", made.GetName(), s.GetName())
		}
	}
}

// allowance is what a deployment allows, as the pass saw it or as it is: what is
// allowed by either is allowed.
type allowance struct {
	most, least, wanted int
	// always tells which strategies it had by both.
	always map[rollout.Strategy]bool
}

func (w *World) allows(g glimpse, d client.Object) allowance {
	a := allowance{always: map[rollout.Strategy]bool{}}
	seen, is := w.tells.fleet.view(g.deployment), w.tells.fleet.view(d)
	for i, v := range []rollout.Deployment{seen, is} {
		surge, unavailable := rollout.Bounds(v)
		a.most = max(a.most, v.Replicas+surge)
		if i == 0 {
			a.least, a.wanted = v.Replicas-unavailable, v.Replicas
		}
		a.least, a.wanted = min(a.least, v.Replicas-unavailable), min(a.wanted, v.Replicas)
	}
	a.always[is.Strategy] = seen.Strategy == is.Strategy
	return a
}

func (p *process) judgeGrowth(g glimpse, d, grown client.Object, was int) {
	w := p.w
	allowed := w.allows(g, d)
	counts := w.tells.fleet.policy(d).LeavingTakesRoom && w.tells.fleet.policy(g.deployment).LeavingTakesRoom
	total, olds, own, alone := 0, 0, 0, true
	for _, s := range w.setsOf(d) {
		living, leaving, lost := w.shown(g, s)
		if !w.tells.fleet.set(d, s).Current {
			olds += living + leaving + lost
		}
		size := w.tells.size(s)
		switch {
		case s.GetDeletionTimestamp() != nil:
			continue // somebody deleted it
		case s.GetUID() == grown.GetUID() && size <= max(living+g.vanished(w, s), was+w.owners.arrived[s.GetUID()]):
			return // no machine is made on this account
		case allowed.always[rollout.OnDelete]:
			living = 0 // a machine that leaves is replaced at once
		case s.GetUID() == grown.GetUID() && counts:
			own = leaving
		case counts:
			total += leaving
		}
		alone = alone && (s.GetUID() == grown.GetUID() || size == 0)
		total += max(living, size)
	}
	if !alone {
		// Else it is a matter of size: a set does not wait for what itself gave up.
		total += own
	}
	if total > allowed.most {
		w.broken(NotAbove, "set %s of deployment %s grew from %d to %d: there would be %d machines, and may be %d", grown.GetName(), d.GetName(), was, w.tells.size(grown), total, allowed.most)
	}
	present := w.tells.fleet.set(d, grown).Current && w.tells.fleet.set(g.deployment, grown).Current
	if allowed.always[rollout.Recreate] && olds > 0 && !w.handSized(g, d) && present {
		w.broken(OldFirst, "set %s of deployment %s grew from %d to %d with %d old machines there", grown.GetName(), d.GetName(), was, w.tells.size(grown), olds)
	}
}

// shown counts the machines of s that the pass could see: those that stay, those
// on their way out because s was made smaller, and those that go for other
// reasons.
func (w *World) shown(g glimpse, s client.Object) (living, leaving, lost int) {
	for _, m := range w.controlled(s) {
		seen, ok := g.machines[m.GetUID()]
		if !ok {
			continue
		}
		switch {
		case !w.fact(m).Leaving, !seen.leaving: // the latter: it was deleted since
			living++
		case !w.owners.lost[m.GetUID()]:
			leaving++
		default:
			lost++
		}
	}
	return living, leaving, lost
}

// vanished is how many machines of s the pass saw at work, of which nothing is
// left by now.
func (g glimpse) vanished(w *World, s client.Object) (n int) {
	for uid, seen := range g.machines {
		if seen.set == s.GetUID() && !seen.leaving && w.machineOf(string(uid)) == nil {
			n++
		}
	}
	return n
}

func (p *process) judgeShrinkage(g glimpse, d, old client.Object, is int) {
	w := p.w
	allowed := w.allows(g, d)
	if w.handSized(g, d) {
		return
	}
	w.checkNeed(g, d, old, is)
	count := w.counting(g, d)
	count.resized = old.GetUID()
	switch {
	case is >= allowed.wanted:
		return // there are as many as wanted in this set alone
	case allowed.always[rollout.OnDelete]:
		count.by = anySeen
	case !allowed.always[rollout.Rolling] && !allowed.always[rollout.InPlace]:
		return
	}
	for _, count.by = range count.ways() {
		count.size = w.tells.size(old)
		before := count.standing(d)
		count.size = is
		after := count.standing(d)
		if after >= allowed.least || after >= before {
			return
		}
	}
	w.broken(NotBelow, "set %s of deployment %s shrank from %d to %d: fewer machines would stay available than the %d that have to", old.GetName(), d.GetName(), w.tells.size(old), is, allowed.least)
}

// handSized reports whether people gave a set of d its size. What comes of that
// is on their account until a pass after the one that put it right.
func (w *World) handSized(g glimpse, d client.Object) bool {
	return w.owners.righted[d.GetUID()] > g.version || slices.ContainsFunc(w.setsOf(d), func(s client.Object) bool { return w.owners.sized[s.GetUID()] })
}

// shows reports whether the set had machines, as its caches showed it.
func (g glimpse) shows(set client.Object) bool {
	for _, seen := range g.machines {
		if seen.set == set.GetUID() {
			return true
		}
	}
	return false
}

// checkNeed is about a deployment whose machines are all of its template.
func (w *World) checkNeed(g glimpse, d, old client.Object, is int) {
	f := w.tells.fleet
	replicas := min(f.view(g.deployment).Replicas, f.view(d).Replicas)
	if is >= replicas || !f.set(d, old).Current || !f.set(g.deployment, old).Current {
		return
	}
	for _, s := range w.setsOf(d) {
		if s.GetUID() != old.GetUID() && (w.tells.size(s) > 0 || len(w.controlled(s)) > 0 || g.shows(s)) {
			return
		}
	}
	w.broken(NoNeed, "set %s of deployment %s, which wants %d, shrank from %d to %d", old.GetName(), d.GetName(), replicas, w.tells.size(old), is)
}

// judgeSelection is about a node that is to be updated: it will not be
// available meanwhile.
func (p *process) judgeSelection(g glimpse, d client.Object, old, now *corev1.Node) {
	w, f := p.w, p.w.tells.fleet
	m := w.store.Lookup(w.tells.machine, client.ObjectKey{Namespace: namespace, Name: now.Name})
	if m == nil || !f.machine(m, now).Marks.Selected || f.machine(m, old).Marks.Selected {
		return
	}
	count := w.counting(g, d)
	count.selected = m.GetUID()
	least := w.allows(g, d).least
	for _, count.by = range count.ways() {
		if count.standing(d) >= least {
			return
		}
	}
	w.broken(NotBelow, "node %s of deployment %s is to be updated: fewer machines would stay available than the %d that have to", now.Name, d.GetName(), least)
}

// frozen reports whether the set makes no machines because it has far too many.
func (w *World) frozen(s client.Object) bool { return w.tells.frozen != nil && w.tells.frozen(s) }

// checkGivenUp notes why a set gives a machine up, and whether it may: one that was
// handed over since the pass began goes on another set's account, one that people
// made on theirs.
func (p *process) checkGivenUp(m client.Object, before snapshot) {
	w := p.w
	s := w.setOf(m)
	if s == nil {
		return
	}
	member := w.tells.member(s, m)
	if s.GetDeletionTimestamp() != nil || member.Failed || !member.Marked.IsZero() || p.deposed != nil || w.owners.sized[s.GetUID()] || w.owners.moved[m.GetUID()] > before.version {
		w.owners.lost[m.GetUID()] = true
		return
	}
	d, arrived := w.deploymentOf(s), w.owners.arrived[s.GetUID()]
	if d == nil || arrived == 0 || w.owners.adopted[m.GetUID()] > 0 || w.outdated(d, s) {
		return
	}
	wanted := min(w.tells.fleet.view(d).Replicas, w.owners.arrivedFor[s.GetUID()])
	if n, size := len(w.members(s)), w.tells.size(s); size < wanted && n < size+arrived {
		w.broken(UpdatedStays, "set %s of %d, to which %d machines were handed over, gave up %s and has %d", s.GetName(), size, arrived, m.GetName(), n)
	}
}

// outdated reports whether s is an old set of d all of whose machines go, whatever
// came to it: the current set has as many as d wants, or d updates nothing in place
// any more.
func (w *World) outdated(d, s client.Object) bool {
	f := w.tells.fleet
	if f.set(d, s).Current {
		return false
	}
	full := func(o client.Object) bool {
		return f.set(d, o).Current && len(w.members(o)) >= f.view(d).Replicas
	}
	return f.view(d).Strategy != rollout.InPlace || slices.ContainsFunc(w.setsOf(d), full)
}
