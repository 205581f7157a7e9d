package judge

import (
	"slices"
	"strconv"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

const (
	// cooldown is the time after the end of a storm during which the storm still raises an alarm.
	cooldownKey  = "millwright.dev/remediation-cooldown"
	cooldown     = 10 * time.Minute
	templateKind = "template"
	desiredSize  = "deployment.kubernetes.io/desired-replicas"
)

// judgeStopped judges a new size of a set of d while a check reports a storm of the machines of the present template:
// the present set must not grow, and an old set must not shrink. A change of the desired size is exempt. Updates in
// place, which move machines from an old set to the present one, are exempt, too.
func (j *Judge) judgeStopped(p *Pass, d deployment, s set, was, is int) {
	all := j.rules(p, d)
	if alike(d.Object, s.Object) != (is > was) || !every(all, func(d deployment) bool { return d.strategy == rolling || d.strategy == recreate }) {
		return
	}
	if c := j.alarm(p, d, all); c != "" {
		j.Broken(AlarmStops, "set %s of deployment %s is resized from %d to %d although check %s reports a storm", s.GetName(), d.GetName(), was, is, c)
	}
}

// alarm names the check that stops the rollout of d in all states since the pass looked; empty if no check does.
// Deployments without checks see no alarm: if no health check controller runs, a check would raise its last alarm for
// ever.
func (j *Judge) alarm(p *Pass, d deployment, all []deployment) string {
	if !j.Alarmed {
		return ""
	}
	goesOn := func(o deployment) bool {
		return o.paused || o.size != d.size || o.rollbackTo != nil || !alike(o.Object, d.Object)
	}
	if slices.ContainsFunc(all, goesOn) {
		return ""
	}
	var present []set
	old, olds := false, map[string]bool{}
	for _, s := range j.setsOf(d) {
		if j.resized(p, d, s) {
			return ""
		}
		if alike(d.Object, s.Object) {
			present = append(present, s)
			continue
		}
		always, ever := j.inUse(p, s)
		old, olds[madeFrom(s)] = old || always, olds[madeFrom(s)] || ever
	}
	// A class that an old set also uses is not the cause.
	if !old || len(present) != 1 || olds[madeFrom(present[0])] {
		return ""
	}
	for _, c := range j.checks() {
		states, there := states(j, c.UID, p, bySight, j.asCheck)
		if there && len(states) > 0 && !slices.ContainsFunc(states, func(c *check) bool { return !alarms(c, present[0], p) }) {
			return c.Name
		}
	}
	return ""
}

// resized reports whether the size of s does not yet follow a change of the desired size.
func (j *Judge) resized(p *Pass, d deployment, s set) bool {
	for _, o := range j.since(s.GetUID(), p, bySight) {
		if o == nil {
			return true
		}
		if text := o.GetAnnotations()[desiredSize]; text != "" && text != strconv.Itoa(d.size) && readSet(o).size > 0 {
			return true
		}
	}
	return false
}

// inUse reports whether s had a size above zero in all states since the pass looked (always), and whether it had a size
// above zero or machines in any of them (ever).
func (j *Judge) inUse(p *Pass, s set) (always, ever bool) {
	sizes, there := states(j, s.GetUID(), p, bySight, readSet)
	least, most := spread(sizes, func(s set) int { return s.size })
	has := slices.ContainsFunc(j.known, func(uid types.UID) bool {
		return j.ever(uid, p, bySight, func(m machine) bool { return m.owner == s.GetUID() })
	})
	return there && least > 0, most > 0 || has
}

// alarms reports whether c selects the machines of s and reports a storm of their template.
func alarms(c *check, s set, p *Pass) bool {
	selector, err := metav1.LabelSelectorAsSelector(&c.Spec.Selector)
	template, machine := templateLabels(s)
	if err != nil || !enforces(c) || paused(c) || !sameKind(selectable(c), machine) || !selector.Matches(template) {
		return false
	}
	rest := cooldown
	if d := positive(c.Annotations[cooldownKey]); d != nil {
		rest = *d
	}
	for _, storm := range remembered(c).Storms {
		// The process's clock may be wrong by Skew.
		stands := storm.Over == nil || p.At.Add(max(p.Skew, -p.Skew)+time.Second).Before(storm.Over.Add(rest))
		if storm.Kind == templateKind && stands && names(storm.Name, s) {
			return true
		}
	}
	return false
}

// names reports whether the storm is one of s's template.
func names(storm string, s set) bool {
	_, of, owned := strings.Cut(storm, " of ")
	return storm == madeFrom(s) || owned && of == madeFrom(s)
}

// madeFrom names the template of s: a class, or the set's own specification.
func madeFrom(s set) string {
	if g, ok := s.Object.(*v1alpha1.MachineSet); ok {
		return g.Spec.Template.Spec.Class.Name
	}
	return s.GetName()
}

// templateLabels are the labels of the machines of s, with an empty machine of its API.
func templateLabels(s set) (labels.Set, client.Object) {
	switch o := s.Object.(type) {
	case *v1alpha1.MachineSet:
		return o.Spec.Template.Labels, &v1alpha1.Machine{}
	case *machinev1.MachineSet:
		return o.Spec.Template.Labels, &machinev1.Machine{}
	}
	return nil, nil
}
