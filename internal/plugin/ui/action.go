package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/act"
	"github.com/millwright-dev/millwright/internal/plugin/project"
	"github.com/millwright-dev/millwright/internal/plugin/survey"
)

// ActionRequest asks what an action would do, or, with Confirm, for the action.
type ActionRequest struct {
	Action string          `json:"action"`
	Object explain.Subject `json:"object"`
	// Value is what the user has entered.
	Value   string `json:"value,omitempty"`
	Confirm bool   `json:"confirm,omitempty"`
	// UID and Line are those of the answer that the user has confirmed.
	UID  string `json:"uid,omitempty"`
	Line string `json:"line,omitempty"`
}

// ActionPage is an action with its plan, before it is confirmed.
type ActionPage struct {
	// Label names action and object.
	Label string    `json:"label"`
	Line  string    `json:"line"`
	UID   string    `json:"uid"`
	Plan  *PlanPage `json:"plan,omitempty"`
	// Done says that the API server has accepted the change.
	Done bool `json:"done,omitempty"`
}

// errChanged refuses an action that is not the one that the user has confirmed.
var errChanged = errors.New("object: it has changed since the plan; plan the action again")

// action answers with the plan of an action, or performs it if the user has confirmed it.
func (s *Server) action(w http.ResponseWriter, r *http.Request) {
	var q ActionRequest
	if !read(w, r, &q) {
		return
	}
	ctx, end := context.WithTimeout(r.Context(), planTime)
	defer end()
	page, err := s.planner().actionOf(ctx, q)
	switch {
	case errors.Is(err, errChanged):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(encoded(page))
	}
}

func (p planner) actionOf(ctx context.Context, q ActionRequest) (page ActionPage, err error) {
	o, err := p.stored(ctx, q.Object)
	if err != nil {
		return page, fmt.Errorf("object: %w", err)
	}
	of := act.Object{Object: o}
	if project.ObjectOf(o).Kind == "MachineDeployment" {
		d, err := survey.Sets(ctx, p.Fleet.Control, o)
		if err != nil {
			return page, fmt.Errorf("object: %w", err)
		}
		of.Sets = d.Sets
	}
	if q.Confirm && q.UID != string(o.GetUID()) {
		return page, errChanged
	}
	c, err := act.Decide(p.Clock.Now(), of, q.Action, q.Value)
	if err != nil {
		return page, err
	}
	page = ActionPage{Label: c.Label, Line: c.Line, UID: string(o.GetUID())}
	if q.Confirm {
		if q.Line != c.Line {
			return page, errChanged
		}
		page.Done = true
		return page, p.perform(ctx, o, c)
	}
	page.Plan, err = p.planAction(ctx, o, c)
	return page, err
}

func (p planner) planAction(ctx context.Context, o client.Object, c act.Change) (*PlanPage, error) {
	var t survey.Trial
	var err error
	if c.Patch == nil {
		t, err = survey.Delete(ctx, p.Fleet.Control, o)
	} else {
		t, err = survey.Patch(ctx, p.Fleet.Control, o, c.Patch)
	}
	if err != nil {
		return nil, err
	}
	page, err := p.foretell(ctx, []survey.Trial{t}, nil)
	return &page, err
}

// perform makes the change of the object with this UID, and logs who made it and how it ended.
func (p planner) perform(ctx context.Context, o client.Object, c act.Change) (err error) {
	uid := o.GetUID()
	if c.Patch == nil {
		err = p.Fleet.Control.Delete(ctx, o, client.Preconditions{UID: &uid})
	} else {
		var patch []byte
		if patch, err = ofUID(c.Patch, uid); err == nil {
			err = p.Fleet.Control.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch))
		}
	}
	outcome := "done"
	if err != nil {
		outcome = fmt.Sprintf("refused: %q", err.Error())
	}
	_, _ = fmt.Fprintf(p.ActionLog, "%s %s: %s (UID %s): %s\n", p.Clock.Now().UTC().Format(time.RFC3339), p.user(ctx), c.Line, uid, outcome)
	return err
}

// ofUID is the patch for the object with this UID: the API server refuses it for another object of the name.
func ofUID(patch []byte, uid types.UID) ([]byte, error) {
	var all map[string]any
	if err := json.Unmarshal(patch, &all); err != nil {
		return nil, fmt.Errorf("read the patch: %w", err)
	}
	metadata, _ := all["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		all["metadata"] = metadata
	}
	metadata["uid"] = uid
	return json.Marshal(all)
}

// user is the user for whom the API server takes this program.
func (p planner) user(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	switch err := p.Fleet.Control.Create(ctx, review); {
	case err != nil && p.User != "":
		return fmt.Sprintf("%q", p.User)
	case err != nil:
		return "a user whose name the API server does not say"
	}
	return fmt.Sprintf("%q", review.Status.UserInfo.Username)
}
