package checker

import (
	"cmp"
	"slices"
	"time"
)

// noRoll looks for work that no user requested: templates that controllers changed, sets for templates that no user wrote, and
// machines that were created or removed while binaries were exchanged in a quiet fleet.
func noRoll(h *history, v *Verdict) {
	asked := map[string]map[string]bool{} // recipes that users wrote, by deployment
	for _, e := range h.eras {
		for _, t := range e.order {
			h.sameRecipe(t, v)
			if t.resource == "machinedeployments" {
				h.noteAsked(t, asked)
			}
		}
	}
	for _, e := range h.eras {
		for _, t := range e.of("machinesets") {
			first := t.versions[0]
			_, owner := first.owner()
			if first.Verb != "create" || first.User != h.Sets || asked[owner] == nil {
				continue
			}
			v.Judged++
			if !asked[owner][first.recipe()] {
				v.breaks(first.Begun, []string{first.Where()}, "set %s has a template that no user wrote", t.name())
			}
		}
	}
	for _, x := range h.Events {
		if x.What == Mark && x.Mark == Exchanged {
			h.untouched(x, v)
		}
	}
}

// sameRecipe reports controllers that change the template of an existing machine, set or deployment. The controllers create sets
// and machines, and never change their templates afterwards.
func (h *history) sameRecipe(t *thing, v *Verdict) {
	for i, now := range t.versions {
		if i == 0 || !h.controller(now.User) || !slices.Contains([]string{"machines", "machinesets", "machinedeployments"}, t.resource) {
			continue
		}
		v.Judged++
		if before := t.versions[i-1]; before.recipe() != now.recipe() && before.Spec.RollbackTo == nil {
			v.breaks(now.Begun, []string{before.Where(), now.Where()}, "the template of %s %s was changed by %s", t.resource, t.name(), now.User)
		}
	}
}

// noteAsked collects all recipes that users wrote for the machines of a deployment. A template that existed before the logs
// began, or before a restore, is one of them. The target of a rollback is always one of these.
func (h *history) noteAsked(t *thing, asked map[string]map[string]bool) {
	uid := t.last().Metadata.UID
	if asked[uid] == nil {
		asked[uid] = map[string]bool{}
	}
	for _, d := range t.versions {
		if !h.controller(d.User) {
			asked[uid][d.recipe()] = true
		}
	}
}

// untouched looks for machines that the controllers changed while only their binaries were exchanged.
func (h *history) untouched(x Event, v *Verdict) {
	v.Judged++
	e := h.eras[h.eraOf(x.From)]
	for _, w := range e.writes {
		if !h.controller(w.User) || !w.OK() || w.Begun.Before(x.From) || w.Done.After(x.Until) {
			continue
		}
		set := w.Resource == "machinesets" || w.Resource == "machinedeployments"
		if w.Resource != "machines" && !set || w.Verb != "create" && w.Verb != "delete" {
			continue
		}
		v.breaks(w.Begun, []string{x.Where(), w.Where()}, "%s %s/%s: %s by %s although only binaries were exchanged", w.Resource, w.Namespace, w.Name, w.Verb, w.User)
	}
	for _, c := range slices.Concat(h.calls("create"), h.calls("delete")) {
		if c.At.After(x.From) && c.At.Before(x.Until) {
			v.breaks(c.At, []string{x.Where(), c.Where()}, "%s for machine %s although only binaries were exchanged", c.Verb, c.Machine)
		}
	}
}

// noLeak looks for instances and objects that are left at the end.
func noLeak(h *history, v *Verdict) {
	for _, x := range h.Events {
		if x.What != Mark || x.Mark != End {
			continue
		}
		v.Judged++
		for _, i := range slices.Concat(h.instances, h.parts) {
			if i.Gone.At.IsZero() || i.Gone.At.After(x.At) {
				v.breaks(x.At, []string{i.Made.Where(), x.Where()}, "%s %s of machine %s is left", cmp.Or(i.Part, "instance"), i.ID, i.Machine)
			}
		}
		if x.Message != "" {
			v.breaks(x.At, []string{x.Where()}, "the infrastructure still has %s", x.Message)
		}
		last := h.eras[len(h.eras)-1]
		for _, t := range last.order {
			if t.resource == "pods" || !t.surely(x.At, x.At, func(Object) bool { return true }) {
				continue
			}
			v.breaks(x.At, []string{t.last().Where(), x.Where()}, "%s %s is left, with the finalizers %v", t.resource, t.name(), t.last().Metadata.Finalizers)
		}
	}
}

// settles judges the marks Unsettled and Crashed.
func settles(h *history, v *Verdict) {
	for _, x := range h.Events {
		if x.What != Mark {
			continue
		}
		v.Judged++
		switch x.Mark {
		case Unsettled:
			v.breaks(x.At, []string{x.Where()}, "not within %s: %s", x.At.Sub(x.From).Round(time.Second), x.Message)
		case Crashed:
			v.breaks(x.At, []string{x.Where()}, "%s", x.Message)
		}
	}
}
