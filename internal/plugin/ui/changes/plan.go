// Package changes plans and makes the changes that users ask for on the page of `kubectl machine ui`.
package changes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/drains"
	"github.com/millwright-dev/millwright/internal/plugin/project"
	"github.com/millwright-dev/millwright/internal/plugin/survey"
)

// PlanRequest asks what a change would do: either of the objects in a manifest, or of one object.
type PlanRequest struct {
	Manifest string `json:"manifest,omitempty"`
	// Namespace is that of objects in the manifest that name none.
	Namespace string `json:"namespace,omitempty"`

	Object *explain.Subject `json:"object,omitempty"`
	// Patch is a JSON merge patch of the object. Delete deletes it.
	Patch  json.RawMessage `json:"patch,omitempty"`
	Delete bool            `json:"delete,omitempty"`
}

// PlanPage is the answer.
type PlanPage struct {
	Nothing bool               `json:"nothing,omitempty"`
	Changes []forecast.Changed `json:"changes"`
	Plans   []PlannedPage      `json:"plans"`
	Notes   []string           `json:"notes,omitempty"`
	Unknown []string           `json:"unknown,omitempty"`
}

// PlannedPage is what happens to the machines of one object. Lines are the steps in the words of `kubectl machine plan`.
type PlannedPage struct {
	forecast.Object
	// Title replaces the headline; empty: it has the numbers of machines.
	Title   string          `json:"title,omitempty"`
	Created int             `json:"created"`
	Deleted int             `json:"deleted"`
	Rest    int             `json:"rest"`
	Waits   []string        `json:"waits,omitempty"`
	Lines   []forecast.Line `json:"lines"`
}

// mostPlanned is how many objects one manifest may have.
const mostPlanned = 100

// Planner plans and makes changes with the rights of one user.
type Planner struct {
	// Control is the cluster with the machines, Target the one that they join. They read past caches. Apart says that they are two.
	// Nodes can be changed only if Target is a [client.Client].
	Control client.Client
	Target  client.Reader
	Apart   bool
	Clock   clock.PassiveClock
	// Namespace is the namespace of objects in manifests that name none; empty: such objects are refused.
	Namespace string
	// User is the name of the user who has signed in; empty if that is unknown.
	User string
	// Drains has the drains of nodes, Log gets a line for each action.
	Drains *drains.Manager
	Log    io.Writer
}

// Plan answers what a change would do. It changes nothing: the API server tries each change as a dry run.
func (p Planner) Plan(ctx context.Context, q PlanRequest) (page PlanPage, err error) {
	var trials []survey.Trial
	var notes []string
	switch {
	case q.Manifest != "" && q.Object != nil:
		return page, errors.New("object: must be empty if there is a manifest")
	case q.Manifest != "":
		trials, notes, err = p.tryManifest(ctx, q)
	case q.Object != nil:
		trials, err = p.tryObject(ctx, q)
	default:
		return page, errors.New("manifest: must not be empty")
	}
	if err != nil {
		return page, err
	}
	return p.foretell(ctx, trials, notes)
}

// foretell predicts the effects of changes that the API server has tried.
func (p Planner) foretell(ctx context.Context, trials []survey.Trial, notes []string) (page PlanPage, err error) {
	report, err := survey.Foretell(ctx, survey.Clusters{Control: p.Control, Target: p.Target}, p.Clock.Now(), trials, survey.Patience)
	if err != nil {
		return page, err
	}
	page = PlanPage{Nothing: report.Nothing(), Changes: report.Changes, Notes: append(notes, report.Notes...), Unknown: report.Unknown}
	for _, one := range report.Plans {
		if !report.Nothing() || len(one.Waits) > 0 {
			page.Plans = append(page.Plans, PlannedPage{Object: one.Root, Created: one.Created, Deleted: one.Deleted, Rest: one.Rest, Waits: one.Waits, Lines: one.Lines()})
		}
	}
	return page, nil
}

// tryManifest tries the objects of a manifest.
func (p Planner) tryManifest(ctx context.Context, q PlanRequest) (trials []survey.Trial, skipped []string, err error) {
	docs, skipped, err := survey.Documents(strings.NewReader(q.Manifest), cmp.Or(q.Namespace, p.Namespace))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("manifest: %w", err)
	case len(docs) > mostPlanned:
		return nil, nil, fmt.Errorf("manifest: %d objects, at most %d can be planned at once", len(docs), mostPlanned)
	case len(docs) == 0:
		return nil, nil, fmt.Errorf("manifest: it %w", survey.NoObjects(skipped))
	}
	for _, doc := range docs {
		if doc.GetNamespace() == "" {
			return nil, nil, fmt.Errorf("manifest: metadata.namespace of %s %s must not be empty", doc.GetKind(), doc.GetName())
		}
		t, err := survey.Apply(ctx, p.Control, doc)
		if err != nil {
			return nil, nil, fmt.Errorf("manifest: %w", err)
		}
		trials = append(trials, t)
	}
	return trials, skipped, nil
}

// tryObject tries a change of one object.
func (p Planner) tryObject(ctx context.Context, q PlanRequest) ([]survey.Trial, error) {
	o, err := p.stored(ctx, *q.Object)
	if err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	var t survey.Trial
	switch patch := map[string]any{}; {
	case q.Delete && len(q.Patch) > 0:
		return nil, errors.New("patch: must be empty if the object is deleted")
	case q.Delete:
		t, err = survey.Delete(ctx, p.Control, o)
	case json.Unmarshal(q.Patch, &patch) != nil:
		return nil, errors.New("patch: must be a JSON object")
	case len(patch) == 0:
		return nil, errors.New("patch: must not be empty: it changes nothing")
	default:
		t, err = survey.Patch(ctx, p.Control, o, q.Patch)
	}
	return []survey.Trial{t}, err
}

// stored reads the object that a request names, past the watches.
func (p Planner) stored(ctx context.Context, named explain.Subject) (client.Object, error) {
	q, err := collect.Parse(named.Kind + "/" + named.Name)
	if err != nil {
		return nil, err
	}
	q.API, q.Namespace = named.API, named.Namespace
	if q.API == "" || q.Namespace == "" {
		return nil, errors.New("api and namespace must not be empty")
	}
	found, gaps, err := collect.Find(ctx, p.Clock.Now(), collect.Clusters{Control: p.Control, Target: p.Target}, q)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 1 && project.ObjectOf(found[0]).Kind == "":
		return nil, fmt.Errorf("%s: only machines, machine sets, machine deployments and machine classes can be planned", named)
	case len(found) == 1:
		return found[0], nil
	case len(gaps) > 0:
		return nil, fmt.Errorf("%s was not found, but some objects could not be read: %s", named, strings.Join(gaps, "; "))
	}
	return nil, fmt.Errorf("%s does not exist", named)
}
