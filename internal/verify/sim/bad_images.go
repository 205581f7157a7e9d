package sim

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/machinedeployment"
	"github.com/millwright-dev/millwright/internal/controller/machinehealthcheck"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/provider"
)

// badImageProfile says whether machine images are defective.
type badImageProfile struct {
	// badImages: machines of one template at a time become unhealthy together.
	badImages bool
}

// badImageSource is the source of random numbers of this profile alone.
const badImageSource = widerSource + 0x5b011

// drawBadImages draws the profile for a few worlds, because such worlds take three times as long. A permanent fault excludes
// it, because no controller handles the machines that such a fault affects.
func (c *profile) drawBadImages(r *rand.Rand) {
	if c.badImages = r.IntN(6) == 0 && r.IntN(5) == 0 && c.permanent == ""; c.badImages {
		c.deployments, c.sets, c.grown = max(1, c.deployments), min(1, c.sets), true
		c.checks, c.trouble = true, max(c.trouble, 3)
	}
}

// badImage is the defective image. Machines of its template become unhealthy together after `many` of them exist, as when a
// certificate expires. Later machines of the template become unhealthy soon after they join.
type badImage struct {
	template, many int
	on             []*kubelet
	nodeFailure    nodeFailure
}

// stormSize is how many machines must become unhealthy together to be a storm.
const stormSize = 3

// noBadImage says that no template is defective.
const noBadImage = -1

// badImageActions are the actions on images.
func (w *World) badImageActions() []func() {
	if !w.profile.badImages {
		return nil
	}
	return []func(){w.breakImage, w.repairImage, w.rollToBad, w.rollToBad}
}

func (w *World) breakImage() {
	w.bad = badImage{template: w.between(0, templates-1), many: []int{1, stormSize, stormSize}[w.roll(3)]}
	w.tracef("image", "that of template %d IS BAD from now on", w.bad.template)
}

// repairImage repairs the image for machines that are created after that.
func (w *World) repairImage() {
	w.bad.template = noBadImage
	w.tracef("image", "all are GOOD from now on")
}

// endBadImages repairs all images after the faults. A machine that would become unhealthy later does so now, because the world
// would seem to be at rest before.
func (w *World) endBadImages() {
	w.bad.template = noBadImage
	if !w.profile.badImages {
		return
	}
	for _, i := range w.cloud.Existing("") {
		if k := w.kubelet(i); k.failure.forGood && k.failure.from.After(w.now) {
			k.failure.from = w.now
		}
	}
}

func (w *World) rollToBad() {
	if d := w.anyDeployment(); d != nil && w.bad.template != noBadImage {
		w.edit(d, "", func(o client.Object) { w.adapter.fleet.roll(o, w.bad.template) })
		w.does("gives deployment %s template %d, which is bad", d.GetName(), w.bad.template)
	}
}

// newDeploymentSize is the number of machines of a new deployment: enough for a storm in worlds with defective
// images.
func (w *World) newDeploymentSize() int {
	if w.profile.badImages {
		return w.between(5, 7)
	}
	return w.between(1, 4)
}

// setBreaker gives most checks a breaker whose alarm stops rollouts.
func (w *World) setBreaker(c *check) {
	if w.profile.badImages && w.chance(80) {
		dialect.SetAnnotation(c, dialect.BreakerAnnotation, string(health.Enforce))
	}
}

// affectByImage makes kubelets on a defective image fail: for good, or repeatedly, so that each storm seems to end
// soon.
func (w *World) affectByImage(k *kubelet) {
	if !w.profile.badImages || w.bad.template == noBadImage {
		return
	}
	if m := w.machineOf(k.on.UID); m == nil || w.of(m).templateOf(m) != w.bad.template {
		return
	}
	if w.bad.on = append(w.bad.on, k); len(w.bad.on) < w.bad.many {
		return
	}
	if w.bad.nodeFailure.from.IsZero() {
		w.bad.nodeFailure = w.imageFailure()
	}
	for _, k := range w.bad.on {
		k.failure = w.bad.nodeFailure
	}
	w.bad.on, w.bad.many = nil, 1
	w.tracef("image", "%s, of template %d, FAILS: %+v", k.on.Name, w.bad.template, w.bad.nodeFailure)
}

// imageFailure is the failure of a defective image: for good, or every few minutes.
func (w *World) imageFailure() nodeFailure {
	a := nodeFailure{from: w.now.Add(time.Duration(w.between(0, 5)) * time.Second), mute: w.chance(30), forGood: true}
	if w.chance(50) {
		a.forGood, a.to, a.period = false, a.from.Add(4*time.Hour), time.Duration(w.between(120, 400))*time.Second
		a.sick = a.period / 2
	}
	return a
}

// replaceBadImages lets users give deployments another template in the dialect whose sets do not replace unhealthy machines.
// In-place updates create no machines, so users delete unhealthy machines. Users also delete unhealthy machines without a
// controller: no set replaces them, and the storm of their template lasts as long as they exist.
func (w *World) replaceBadImages() {
	if !w.profile.badImages {
		return
	}
	for _, m := range w.store.All(w.adapter.machine) {
		if metav1.GetControllerOf(m) == nil && m.GetDeletionTimestamp() == nil && w.failsForGood(m) {
			w.deleteObject(m)
			w.does("deletes machine %s, which has no controller, and whose image was bad", m.GetName())
		}
	}
	if w.adapter.heals {
		return
	}
	for _, d := range w.deployments() {
		bad := slices.DeleteFunc(w.living(d), func(m client.Object) bool { return !w.adapter.fleet.set(d, w.setOf(m)).Current || !w.failsForGood(m) })
		switch {
		case len(bad) == 0:
		case w.adapter.fleet.view(d).Strategy == rollout.InPlace:
			w.deleteObject(bad[0])
			w.does("deletes machine %s, whose image was bad", bad[0].GetName())
		default:
			n := (w.adapter.templateOf(bad[0]) + 1) % templates
			w.edit(d, "", func(o client.Object) { w.adapter.fleet.roll(o, n) })
			w.does("gives deployment %s template %d, which is good", d.GetName(), n)
		}
	}
}

// failsForGood reports whether m has failed permanently.
func (w *World) failsForGood(m client.Object) bool {
	return slices.ContainsFunc(w.cloud.Existing(""), func(i *cloud.Machine) bool { return i.UID == string(m.GetUID()) && w.kubelet(i).failure.forGood })
}

// waitForBadRollout lets time pass until a rollout to a defective image shows its effect.
func (w *World) waitForBadRollout() {
	if w.profile.badImages {
		w.until(w.now.Add(time.Duration(w.between(2, 20)) * time.Minute))
	}
}

// templateNumber finds the number of a template in the text that follows `before`.
func templateNumber(text, before string) int {
	if _, rest, ok := strings.Cut(text, before); ok && rest != "" {
		return int(rest[0] - '0')
	}
	return 0
}

// alarmsOf are the alarms of health checks for the deployments of an API; nil without checks, or if a mutation
// makes deployments ignore them.
func alarmsOf[S client.Object](p *process, sets dialect.Sets[S]) machinedeployment.Alarms {
	m := p.w.o.Mutation
	if !p.w.profile.checks || m != nil && m.Defects.Unalarmed {
		return nil
	}
	var from client.Reader = p.client
	if m != nil && m.Defects.Alarming != nil {
		from = m.Defects.Alarming(p.client)
	}
	checks := []machinehealthcheck.Kind{machinehealthcheck.KindOf(openshift.HealthChecks{})}
	if p.w.hasOldChecks() {
		checks = append(checks, machinehealthcheck.KindOf(openshift.OldHealthChecks{}))
	}
	return &machinehealthcheck.Alarms{
		Client: from, Checks: checks,
		Patients: p.adapter.patients, Default: p.adapter.api == provider.OpenShift,
		Sample: func(s client.Object) client.Object { return sets.NewMachine(s.(S), "sample") },
	}
}
