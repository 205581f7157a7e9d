// Package pages has what the page of `kubectl machine ui` shows about one object: views of the facts that package collect reads, as
// JSON for the page.
package pages

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/internal/plugin/act"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/live"
	"github.com/millwright-dev/millwright/internal/plugin/steer"
	"github.com/millwright-dev/millwright/internal/plugin/survey"
)

// Rollout is what the page about a deployment shows of its rollout.
type Rollout struct {
	Strategy string `json:"strategy"`
	Paused   bool   `json:"paused,omitempty"`
	Wanted   int    `json:"wanted"`
	// Bounds are nil if the strategy has none.
	Bounds *Bounds `json:"bounds,omitempty"`
	// Status is the progress in the words of `rollout status`. Problem says that the rollout does not complete by itself.
	Status  string `json:"status"`
	Problem bool   `json:"problem,omitempty"`
	Done    bool   `json:"done,omitempty"`
	// Sets are ordered from the oldest; Samples are their machines over time.
	Sets    []RolledSet   `json:"sets"`
	Samples []live.Sample `json:"samples"`
	// Holders are the answers about the first machines that are not in order, while the rollout is not complete.
	Holders   []explain.Answer `json:"holders,omitempty"`
	Revisions []Revision       `json:"revisions"`
}

// Bounds has the bounds of a rollout, as declared and in machines.
type Bounds struct {
	Surge       string `json:"surge"`
	Unavailable string `json:"unavailable"`
	// Most machines may exist, and Least have to be available.
	Most  int `json:"most"`
	Least int `json:"least"`
	// Deleting says that machines in deletion count towards Most.
	Deleting bool `json:"deleting,omitempty"`
}

// RolledSet is a set of a deployment.
type RolledSet struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Created  time.Time `json:"created"`
	Revision int64     `json:"revision,omitempty"`
	Current  bool      `json:"current,omitempty"`
	Wanted   int       `json:"wanted"`
}

// Revision is a revision with the command that returns to it. If that is not possible, Refused says why.
type Revision struct {
	steer.Revision
	Undo    string `json:"undo,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// mostHolders is how many machines that hold up a rollout the page shows; the tree of created objects has all.
const mostHolders = 3

// RolloutOf is the rollout of a deployment, with the samples that were recorded; nil for other objects.
func RolloutOf(now time.Time, d collect.Detail, recorded []live.Sample) *Rollout {
	if d.Deployed == nil {
		return nil
	}
	stored := survey.Deployed{Object: d.Object, Sets: d.Deployed.Sets}
	v := stored.Steered(now)
	p := &Rollout{Strategy: string(v.Strategy), Paused: v.Paused, Wanted: v.Replicas, Bounds: boundsPage(v), Sets: rolledSets(v), Samples: samplesOf(now, d, recorded)}
	switch progress, err := steer.Status(v, 0); {
	case err != nil:
		p.Status, p.Problem = err.Error(), true
	default:
		p.Status, p.Done = progress.Text, progress.Done
	}
	if !p.Done {
		p.Holders = d.Deployed.Members[:min(len(d.Deployed.Members), mostHolders)]
	}
	for _, r := range slices.Backward(steer.History(v, stored.CauseOf)) {
		p.Revisions = append(p.Revisions, revisionPage(now, d.Subject, v, r))
	}
	return p
}

func boundsPage(d steer.Deployment) *Bounds {
	if d.Strategy != rollout.Rolling && d.Strategy != rollout.InPlace {
		return nil
	}
	surge, unavailable := rollout.Bounds(d.Deployment)
	return &Bounds{
		Surge: declared(d.Surge), Unavailable: declared(d.Unavailable),
		Most: d.Replicas + surge, Least: max(0, d.Replicas-unavailable), Deleting: d.Policy.LeavingTakesRoom,
	}
}

func declared(v *intstr.IntOrString) string {
	if v == nil {
		return "0"
	}
	return v.String()
}

func rolledSets(d steer.Deployment) (out []RolledSet) {
	for _, s := range d.Sets {
		out = append(out, RolledSet{ID: string(s.UID), Name: s.Name, Created: s.Created, Revision: s.Revision, Current: s.Current, Wanted: s.Replicas})
	}
	slices.SortFunc(out, func(a, b RolledSet) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// samplesOf are the machines of the sets over time: before the first recorded sample from their creation times, and
// now from the objects of this page.
func samplesOf(now time.Time, d collect.Detail, recorded []live.Sample) []live.Sample {
	if d.Deployed.Rollout == nil {
		return recorded
	}
	first := now
	if len(recorded) > 0 {
		first = recorded[0].At
	}
	return slices.Concat(live.Past(d.Deployed.Rollout.Sets, first), recorded, []live.Sample{live.SampleOf(now, *d.Deployed.Rollout)})
}

func revisionPage(now time.Time, s explain.Subject, d steer.Deployment, r steer.Revision) Revision {
	out := Revision{Revision: r}
	switch change, err := steer.Undo(now, d, r.Number); {
	case err != nil:
		out.Refused = err.Error()
	case change.Patch != nil:
		out.Undo = fmt.Sprintf("kubectl machine rollout undo %s -n %s --to-revision=%d", act.Argument(s.API, s.Kind, s.Name), s.Namespace, r.Number)
	}
	return out
}
