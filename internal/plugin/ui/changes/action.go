package changes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
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

// ErrChanged refuses an action that is not the one that the user has confirmed.
var ErrChanged = errors.New("object: it has changed since the plan; plan the action again")

// Act answers with the plan of an action, or performs it if the user has confirmed it.
func (p Planner) Act(ctx context.Context, q ActionRequest) (page ActionPage, err error) {
	of, err := p.target(ctx, q.Object)
	if err != nil {
		return page, fmt.Errorf("object: %w", err)
	}
	if q.Confirm && q.UID != string(of.GetUID()) {
		return page, ErrChanged
	}
	c, err := act.Decide(p.Clock.Now(), of.Object, q.Action, q.Value)
	if err != nil {
		return page, err
	}
	page = ActionPage{Label: c.Label, Line: c.Line, UID: string(of.GetUID())}
	if q.Confirm {
		if q.Line != c.Line {
			return page, ErrChanged
		}
		page.Done = true
		return page, p.perform(ctx, of, c)
	}
	page.Plan, err = p.planAction(ctx, of, c)
	return page, err
}

// target is an object to act on, with the node of a machine.
type target struct {
	act.Object
	node *corev1.Node
}

// target reads the object of an action, past the watches.
func (p Planner) target(ctx context.Context, named explain.Subject) (t target, err error) {
	if named.Kind == v1alpha1.KindMachineDisruptionBudget {
		t.Object, err = p.budget(ctx, named)
		return t, err
	}
	if t.Object.Object, err = p.stored(ctx, named); err != nil {
		return t, err
	}
	switch project.ObjectOf(t.Object.Object).Kind {
	case "MachineDeployment":
		d, err := survey.Sets(ctx, p.Control, t.Object.Object)
		t.Sets = d.Sets
		return t, err
	case "Machine":
		if t.node, err = p.nodeOf(ctx, named); err != nil || t.node == nil {
			return t, err
		}
		t.Node, t.Cordoned, t.Draining = t.node.Name, t.node.Spec.Unschedulable, p.Drains.Underway(t.GetUID())
	}
	return t, nil
}

func (p Planner) planAction(ctx context.Context, of target, c act.Change) (*PlanPage, error) {
	var t survey.Trial
	var err error
	switch _, is := of.Object.Object.(*v1alpha1.MachineDisruptionBudget); {
	case is:
		return p.planBudget(ctx, of.Object, c)
	case c.Effect == act.Drain:
		return p.planDrain(ctx, of)
	case c.Effect == act.Uncordon:
		return &PlanPage{Changes: []forecast.Changed{schedulable(of.node, "true", "false")}, Notes: p.elsewhere()}, nil
	case c.Effect == act.Delete:
		t, err = survey.Delete(ctx, p.Control, of.Object.Object)
	default:
		t, err = survey.Patch(ctx, p.Control, of.Object.Object, c.Patch)
	}
	if err != nil {
		return nil, err
	}
	page, err := p.foretell(ctx, []survey.Trial{t}, nil)
	return &page, err
}

// perform makes the change of the object with this UID, and logs who made it and how it ended.
func (p Planner) perform(ctx context.Context, of target, c act.Change) (err error) {
	user, uid := p.user(ctx), of.GetUID()
	log := func(outcome string) {
		_, _ = fmt.Fprintf(p.Log, "%s %s: %s (UID %s): %s\n", p.Clock.Now().UTC().Format(time.RFC3339), user, c.Line, uid, outcome)
	}
	switch outcome, err := p.change(ctx, of, c, log); {
	case err != nil:
		log(fmt.Sprintf("refused: %q", err.Error()))
		return err
	default:
		log(outcome)
		return nil
	}
}

// change makes the change, and returns its outcome in a word.
func (p Planner) change(ctx context.Context, of target, c act.Change, log func(string)) (outcome string, err error) {
	o, uid := of.Object.Object, of.GetUID()
	switch c.Effect {
	case act.Create:
		if o, err = survey.Merged(o, c.Patch); err == nil {
			err = p.Control.Create(ctx, o)
		}
	case act.Delete:
		err = p.Control.Delete(ctx, o, client.Preconditions{UID: &uid})
	case act.Drain:
		return "begun", p.drain(ctx, of, log)
	case act.Uncordon:
		err = p.uncordon(ctx, of)
	default:
		err = patch(ctx, p.Control, o, c.Patch)
	}
	return "done", err
}

// patch changes the object with its UID: the API server refuses it for another object of the name.
func patch(ctx context.Context, c client.Client, o client.Object, change []byte, opts ...client.PatchOption) error {
	whole, err := ofUID(change, o.GetUID())
	if err != nil {
		return err
	}
	return c.Patch(ctx, o, client.RawPatch(types.MergePatchType, whole), opts...)
}

// ofUID is the patch with the UID of an object.
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
func (p Planner) user(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	name := p.User
	if err := p.Control.Create(ctx, review); err == nil {
		name = review.Status.UserInfo.Username
	}
	if name == "" {
		return "a user whose name the API server does not say"
	}
	return fmt.Sprintf("%q", name)
}
