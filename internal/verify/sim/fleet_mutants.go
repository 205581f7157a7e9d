package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
)

// View implements [dialect.Deployments].
func (l deploymentLens[D, S]) View(d D, now time.Time) dialect.DeploymentView {
	v := l.Deployments.View(d, now)
	if l.m.OfDeployment != nil {
		l.m.OfDeployment(&v.Deployment)
	}
	if l.m.OfPolicy != nil {
		l.m.OfPolicy(&v.Policy)
	}
	if l.m.Grabs {
		v.Selector = labels.Everything()
	}
	return v
}

// Sets implements [dialect.Deployments].
func (l deploymentLens[D, S]) Sets() dialect.DeployedSets[D, S] {
	return deployedSetLens[D, S]{l.Deployments.Sets(), l.m}
}

// Machines implements [dialect.Deployments]. It keeps the other interfaces of the lens of machines.
func (l deploymentLens[D, S]) Machines() dialect.DeployedMachines {
	machines := deployedMachineLens{l.Deployments.Machines(), l.m}
	mover, moves := dialect.As[dialect.Mover[S]](machines.DeployedMachines)
	marker, marks := dialect.As[dialect.VictimMarker](machines.DeployedMachines)
	if moves && marks {
		return movingLens[S]{machines, mover, marker}
	}
	return machines
}

// deployedSetLens is a lens of the sets of deployments with a defect.
type deployedSetLens[D, S client.Object] struct {
	dialect.DeployedSets[D, S]
	m *Defects
}

// Adopts implements [dialect.DeployedSets].
func (l deployedSetLens[D, S]) Adopts(d D, s S) bool { return l.m.Grabs || l.DeployedSets.Adopts(d, s) }

// View implements [dialect.DeployedSets].
func (l deployedSetLens[D, S]) View(d D, s S) rollout.Set {
	v := l.DeployedSets.View(d, s)
	if l.m.OfSet != nil {
		l.m.OfSet(&v)
	}
	return v
}

// deployedMachineLens is a lens of the machines of deployments with a defect.
type deployedMachineLens struct {
	dialect.DeployedMachines
	m *Defects
}

// View implements [dialect.DeployedMachines].
func (l deployedMachineLens) View(m client.Object, nodes dialect.Nodes) rollout.Machine {
	v := l.DeployedMachines.View(m, nodes)
	if l.m.OfMachine != nil {
		l.m.OfMachine(&v)
	}
	return v
}

// movingLens is a lens of machines that their deployments move and mark.
type movingLens[S client.Object] struct {
	deployedMachineLens
	mover  dialect.Mover[S]
	marker dialect.VictimMarker
}

// Move implements [dialect.Mover].
func (l movingLens[S]) Move(m client.Object, from, to S) {
	l.mover.Move(m, from, to)
	if l.m.Careless {
		l.mover.Unprotect(m)
	}
}

// Unprotect implements [dialect.Mover].
func (l movingLens[S]) Unprotect(m client.Object) {
	if !l.m.Clings {
		l.mover.Unprotect(m)
	}
}

// misread adds the defect to a lens.
func misread[D, S client.Object](lens dialect.Deployments[D, S], m *Defects) dialect.Deployments[D, S] {
	return deploymentLens[D, S]{lens, m}
}

// MarkForDeletion implements [dialect.VictimMarker].
func (l movingLens[S]) MarkForDeletion(m client.Object, at time.Time) {
	if !l.m.Deaf {
		l.marker.MarkForDeletion(m, at)
	}
}

// MarkNode implements [dialect.DeployedMachines].
func (l deployedMachineLens) MarkNode(n *corev1.Node, w rollout.NodeWant) {
	if l.m.OfNode != nil {
		l.m.OfNode(&w)
	}
	l.DeployedMachines.MarkNode(n, w)
}

// Apply implements [dialect.DeployedSets].
func (l deployedSetLens[D, S]) Apply(d D, s S, w rollout.SetWant) {
	if l.m.OfWant != nil {
		l.m.OfWant(&w)
	}
	l.DeployedSets.Apply(d, s, w)
}

// ApplyMetadata implements [dialect.Deployments].
func (l deploymentLens[D, S]) ApplyMetadata(d D, sets []S, a rollout.Amend) {
	if l.m.Deaf {
		a.Wishes, a.Rewish = nil, true
	}
	l.Deployments.ApplyMetadata(d, sets, a)
}

// rollsOnly makes worlds of one deployment with one strategy, in which little
// else happens to machines.
func rollsOnly(s rollout.Strategy) func(*profile) {
	return func(c *profile) {
		c.deployments, c.sets, c.singles, c.strategy, c.guarded, c.grown = 1, 0, 0, s, false, true
		c.wider = wider{}
	}
}

// hasty makes the caches of such worlds lag while users edit often.
func hasty(s rollout.Strategy) func(*profile) {
	return func(c *profile) {
		rollsOnly(s)(c)
		c.viewLag, c.pausePercent, c.busy = 30*time.Second, 40, 30
	}
}

// handOverSetting makes worlds in which updates in place succeed, and sets see handed-over machines late.
func handOverSetting(c *profile) {
	rollsOnly(rollout.InPlace)(c)
	c.viewLag, c.pausePercent, c.busy = 30*time.Second, 40, 10
	c.percent[instanceDies], c.percent[processCrashes], c.percent[updateFails] = 0, 0, 0
}

// lostReplySetting makes worlds of one deployment in which many writes get no reply.
func lostReplySetting(c *profile) {
	hasty(rollout.Rolling)(c)
	c.percent[apiLost], c.percent[apiLate] = 30, 20
}

func fleetMutants() []Mutation {
	return slices.Concat(boundMutants(), setMutants(), updateMutants(), wishMutants())
}

func boundMutants() []Mutation {
	return []Mutation{
		{
			Name: "machines on their way out take no room", Finds: []string{judge.NotAbove}, Setting: rollsOnly(rollout.Rolling),
			Defects: Defects{OfPolicy: func(p *rollout.Policy) { p.LeavingTakesRoom = false }},
		},
		{
			Name: "what was available once counts for ever", Finds: []string{judge.NotBelow}, Setting: rollsOnly(rollout.Rolling),
			Defects: Defects{OfMachine: func(m *rollout.Machine) {
				m.Usable = m.Usable || m.Joined
				if m.Usable {
					m.ReadySince = m.Created
				}
			}},
		},
		{
			Name: "old machines go before new ones are available", Finds: []string{judge.NotBelow}, Setting: rollsOnly(rollout.Rolling),
			Defects: Defects{OfDeployment: func(d *rollout.Deployment) { d.Unavailable = ptr.To(intstr.FromString("100%")) }},
		},
		{
			Name: "a deployment acts on sets older than its own writes", Finds: []string{AsDecided, judge.NotAbove, judge.NotBelow, judge.OneSet, judge.Converges}, Setting: hasty(rollout.Rolling),
			Defects: Defects{Forgetful: true, Client: cachedForLive},
		},
		{
			Name: "new machines come before the old ones have gone", Finds: []string{judge.OldFirst}, Setting: rollsOnly(rollout.Recreate),
			Defects: Defects{OfDeployment: func(d *rollout.Deployment) {
				if d.Strategy == rollout.Recreate {
					d.Strategy, d.Surge, d.Unavailable = rollout.Rolling, ptr.To(intstr.FromInt32(0)), ptr.To(intstr.FromInt32(1))
				}
			}},
		},
		{
			Name: "a frozen set makes machines", Finds: []string{judge.FrozenRests}, Dialects: []string{Gardener},
			Setting: func(c *profile) { c.wider, c.deployments, c.busy = wider{}, 1, 10 },
			Set:     func(s *replicas.Set) { s.NoGrowth = "" },
		},
	}
}

func setMutants() []Mutation {
	return []Mutation{
		{
			Name: "a set that grows gets fewer machines than was decided", Finds: []string{AsDecided}, Setting: rollsOnly(rollout.Rolling),
			Defects: Defects{OfWant: func(w *rollout.SetWant) {
				if w.Replicas > w.Was+1 {
					w.Replicas--
				}
			}},
		},
		{
			Name: "a set of the same name is a reason to take another name", Finds: []string{judge.OneSet}, Setting: rollsOnly(""),
			Defects: Defects{Client: anotherName, Forgetful: true},
		},
		{
			Name: "a deployment takes a lost reply for a failure", Finds: []string{judge.OneSet}, Setting: lostReplySetting,
			Defects: Defects{Forgetful: true, Client: namedAnew},
		},
		{
			Name: "sets are taken over from whoever has them", Finds: []string{judge.OwnOnly},
			Setting: func(c *profile) { rollsOnly("")(c); c.sets = 2 },
			Defects: Defects{Grabs: true},
		},
		{
			Name: "going back is asked for again and again", Finds: []string{judge.Converges}, Setting: rollsOnly(rollout.Rolling),
			Defects: Defects{OfDeployment: func(d *rollout.Deployment) {
				if d.Revision > 1 && d.RollbackTo == nil {
					d.RollbackTo = ptr.To(int64(0))
				}
			}},
		},
		{
			Name: "a size that was shrunk is shrunk again", Finds: []string{judge.NoNeed, judge.Converges}, Setting: rollsOnly(rollout.Rolling),
			Defects: Defects{OfDeployment: func(d *rollout.Deployment) { d.Replicas = max(0, d.Replicas-1) }},
		},
	}
}

func updateMutants() []Mutation {
	return []Mutation{
		{
			Name: "a machine that is handed over has no shield", Finds: []string{judge.UpdatedStays}, Dialects: []string{Gardener}, Setting: handOverSetting,
			Defects: Defects{Careless: true},
		},
		{
			Name: "a machine that was handed over keeps its shield", Finds: []string{judge.Converges}, Dialects: []string{Gardener}, Setting: rollsOnly(rollout.InPlace),
			Defects: Defects{Clings: true},
		},
		{
			Name: "all nodes are updated at once", Finds: []string{judge.NotBelow}, Dialects: []string{Gardener}, Setting: rollsOnly(rollout.InPlace),
			Defects: Defects{OfDeployment: func(d *rollout.Deployment) { d.Unavailable = ptr.To(intstr.FromString("100%")) }},
		},
		{
			Name: "marks are left on nodes", Finds: []string{judge.Converges}, Setting: rollsOnly(rollout.Rolling),
			Defects: Defects{OfNode: func(w *rollout.NodeWant) { w.Avoid = true }},
		},
	}
}

func wishMutants() []Mutation {
	return []Mutation{{
		Name: "what an autoscaler chose is forgotten before it is marked", Finds: []string{judge.Converges}, Dialects: []string{Gardener}, Setting: rollsOnly(rollout.Rolling),
		Defects: Defects{Deaf: true},
	}}
}

// anotherName creates an existing set again under a new name.
func anotherName(c client.Client, _ client.Reader) (client.Client, client.Reader) {
	n := 0
	create := func(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
		err := c.Create(ctx, o, opts...)
		if apierrors.IsAlreadyExists(err) {
			n++
			o.SetName(fmt.Sprintf("%s-%d", o.GetName(), n))
			return c.Create(ctx, o, opts...)
		}
		return err
	}
	return brokenClient{c, create}, c
}

// namedAnew uses a new name with every attempt.
func namedAnew(c client.Client, _ client.Reader) (client.Client, client.Reader) {
	n := 0
	return brokenClient{c, func(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
		n++
		o.SetName(fmt.Sprintf("%s-%d", o.GetName(), n))
		return c.Create(ctx, o, opts...)
	}}, c
}
