package sim

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/health"
)

// prescription is a check in the engine's words.
func prescription(c *check) health.Check {
	return openshift.HealthChecks{}.View(c, dialect.CommonConditions{})
}

// patientsOf are the machines that c selects among; nil: none here.
func (w *World) patientsOf(c *check) dialect.Patients {
	api := c.Annotations[dialect.MachineAPIAnnotation]
	for _, p := range w.tells.patients {
		if api == "" || api == p.API() {
			return p
		}
	}
	return nil
}

// lookup shows objects: as they are, or as somebody has seen them.
type lookup struct {
	all  func(example client.Object) []client.Object
	node func(name string) *corev1.Node
}

// truth is what there is.
func (w *World) truth() lookup {
	return lookup{all: func(o client.Object) []client.Object { return w.home(o).All(o) }, node: w.node}
}

// shows is what the process has seen.
func (p *process) shows() lookup {
	nodes := p.view(&corev1.Node{})
	return lookup{
		all: func(o client.Object) []client.Object { return p.view(o).All() },
		node: func(name string) *corev1.Node {
			n, _ := nodes.Lookup(client.ObjectKey{Name: name}).(*corev1.Node)
			return n
		},
	}
}

// under are the machines that c selects.
func (w *World) under(c *check, in lookup) map[types.UID]health.Target {
	out := map[types.UID]health.Target{}
	patients := w.patientsOf(c)
	if patients == nil {
		return out
	}
	selector, err := metav1.LabelSelectorAsSelector(&c.Spec.Selector)
	if err != nil {
		return out
	}
	for _, m := range in.all(patients.Machine()) {
		if selector.Matches(labels.Set(m.GetLabels())) {
			out[m.GetUID()] = patients.Patient(m, health.NodeOf(in.node(patients.NodeName(m)), dialect.RackLabel(c)))
		}
	}
	return out
}

// selected are the machines of c that the process has seen.
func (p *process) selected(c *check) map[types.UID]health.Target { return p.w.under(c, p.shows()) }

// symptom is a reason to remedy a machine: it counts when it has lasted for
// longer than the timeout.
type symptom struct {
	what string
	// from is when it began; zero: nobody wrote that down. ours says that a
	// process did, by its own clock.
	from    time.Time
	ours    bool
	timeout time.Duration
}

// nodeGone is a symptom that only what is true now decides about.
const nodeGone = "its node is gone"

// symptoms are those of t by section 4.3 of the specification.
func symptoms(v health.Check, t health.Target) (out []symptom) {
	switch {
	case t.Failed:
		return []symptom{{what: "it failed", from: t.Updated, ours: true}}
	case t.NodeName == "" && t.Own.Startup != nil:
		return []symptom{{what: "it has no node", from: t.Created, timeout: *t.Own.Startup}}
	case t.NodeName == "" && (v.StartupTimeout <= 0 || t.Updated.IsZero()):
		return nil
	case t.NodeName == "":
		// Each change of the status gives it as much time again, but not for ever.
		return []symptom{
			{what: "it has no node", from: t.Updated, ours: true, timeout: v.StartupTimeout},
			{what: "it has no node", from: t.Created, timeout: 3 * v.StartupTimeout},
		}
	case t.Node == nil:
		return []symptom{{what: nodeGone}}
	}
	for _, have := range t.Node.Conditions {
		for _, want := range v.Conditions {
			if have.Type == want.Type && have.Status == want.Status {
				timeout := ptr.Deref(t.Own.Health, want.Timeout)
				out = append(out, symptom{what: have.Type + "=" + have.Status, from: have.Since, timeout: timeout})
			}
		}
	}
	return out
}

// ill reports whether t counts against the budget of its check.
func ill(v health.Check, t health.Target) bool {
	return t.Deleting || t.Marked || t.NodeName == "" || len(symptoms(v, t)) > 0
}

// budget is how many of total may be unhealthy, -1 where that cannot be read: a
// share of 40 % of 5 is 2, and of 3 it is 1.
func budget(c *check, total int) int {
	if c.Spec.MaxUnhealthy == nil {
		return total
	}
	n, percent, err := amount(c.Spec.MaxUnhealthy.Text())
	switch {
	case err != nil:
		return -1
	case percent:
		return n * total / 100
	}
	return n
}

// amount reads "3", and "40%".
func amount(text string) (n int, percent bool, err error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err = strconv.Atoi(digits)
	return n, percent, err
}

// hourly is how many remedies may begin within an hour, by the annotations that
// people write here.
func hourly(c *check, total int) int {
	text := c.Annotations[dialect.RateAnnotation]
	if text == "" {
		text = "20%"
	}
	n, percent, err := amount(text)
	switch {
	case err != nil:
		return 0
	case percent:
		return max(3, n*total/100)
	}
	return n
}

// note takes down that a machine has a controller.
func (d *ward) note(m client.Object) {
	if m == nil {
		return
	}
	ref := metav1.GetControllerOf(m)
	if ref == nil {
		return
	}
	if d.births[ref.UID] == nil {
		d.births[ref.UID] = map[types.UID]time.Time{}
	}
	d.births[ref.UID][m.GetUID()] = m.GetCreationTimestamp().Time
}

// unreplaced are those of the machines given up within the hour that are gone, and
// that no machine of the same owner among those given was made in the place of.
func (w *World) unreplaced(remedies []remedy, among func(types.UID) bool) (out []remedy) {
	used := map[types.UID]bool{}
	for _, r := range remedies {
		if w.machineOf(string(r.machine)) != nil || w.now.Sub(r.at) >= time.Hour {
			continue
		}
		var by types.UID
		for uid, born := range w.ward.births[r.owner] {
			first := by == "" || born.Before(w.ward.births[r.owner][by]) || born.Equal(w.ward.births[r.owner][by]) && uid < by
			if !used[uid] && among(uid) && first && !born.Before(r.at.Truncate(time.Second)) {
				by = uid
			}
		}
		if by == "" {
			out = append(out, r)
		}
		used[by] = by != ""
	}
	return out
}

// asked reports whether c gave the machine up before.
func (w *World) asked(c *check, machine types.UID) bool {
	return slices.ContainsFunc(w.ward.remedies[c.UID], func(r remedy) bool { return r.machine == machine })
}

// remedied notes what came of a remedy: whoever counts machines may be crossed
// by it as by what people do.
func (w *World) remedied(old, now client.Object) {
	if old == nil || old.GetDeletionTimestamp() != nil || now != nil && now.GetDeletionTimestamp() == nil {
		return
	}
	w.owners.lost[old.GetUID()] = true
	w.users.done++
}
