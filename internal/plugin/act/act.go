// Package act has the actions that the page of `kubectl machine ui` offers on an object: each is one change with its
// line for kubectl. The package decides only what the change is; the API server decides whether the user may make it.
package act

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin/steer"
	"github.com/millwright-dev/millwright/internal/plugin/survey"
)

// Offer is an action that makes sense for an object now.
type Offer struct {
	// Name identifies the action, Label is for people.
	Name  string `json:"name"`
	Label string `json:"label"`
	// Value says what the user has to enter; empty: nothing.
	Value string `json:"value,omitempty"`
	// Default is the value that the page suggests. Number says that the value is a number.
	Default string `json:"default,omitempty"`
	Number  bool   `json:"number,omitempty"`
}

// Effect is the kind of a change.
type Effect string

// The effects.
const (
	// Patch changes the object.
	Patch Effect = "Patch"
	// Delete deletes the object, Create creates it.
	Delete Effect = "Delete"
	Create Effect = "Create"
	// Drain drains the node of a machine. Uncordon ends that, and uncordons the node.
	Drain    Effect = "Drain"
	Uncordon Effect = "Uncordon"
)

// Change is what an action does.
type Change struct {
	Effect Effect
	// Patch is a JSON merge patch of the object.
	Patch []byte
	// Line is the same for a command line.
	Line string
	// Label names action and object.
	Label string
}

// Object is an object to act on.
type Object struct {
	client.Object
	// Sets are those of a deployment.
	Sets []client.Object
	// Node is the node of a machine; empty if it has none. Draining says that a user drains it, Cordoned that it accepts no pods.
	Node               string
	Draining, Cordoned bool
	// Absent says that the object does not exist: it has only a name.
	Absent bool
}

// input is an action with its facts.
type input struct {
	Object
	now             time.Time
	api, kind, name string
	value           string
}

// action is one action.
type action struct {
	name string
	// offer returns the action for an object; false: it makes no sense there now.
	offer func(in input) (Offer, bool)
	// change returns the change of the object.
	change func(in input) (changed, error)
}

// changed is a change with its line. The patch belongs to the effect Patch.
type changed struct {
	effect Effect
	patch  map[string]any
	line   string
}

var actions = []action{
	{"delete", offerDelete, func(in input) (changed, error) {
		return changed{effect: Delete, line: in.inNamespace("kubectl delete " + in.argument())}, nil
	}},
	{"drain", offerDrain, func(in input) (changed, error) {
		return changed{effect: Drain, line: "kubectl drain " + in.Node + " --ignore-daemonsets --delete-emptydir-data"}, nil
	}},
	{"uncordon", offerUncordon, func(in input) (changed, error) {
		return changed{effect: Uncordon, line: "kubectl uncordon " + in.Node}, nil
	}},
	{"scale", offerScale, scale},
	{"stop", offerStop, stop},
	{"resume-disruption", offerResume, func(input) (changed, error) {
		return changed{effect: Delete, line: "kubectl machine resume"}, nil
	}},
	steers("pause", "Pause the rollout", func(in input, d steer.Deployment) (steer.Change, error) { return steer.Pause(d) }),
	steers("resume", "Resume the rollout", func(in input, d steer.Deployment) (steer.Change, error) { return steer.Resume(d) }),
	steers("restart", "Replace all machines", restart),
	{"undo", offerUndo, undo},
	approves("approve-canary", "Approve the canary", "", millwright.RolloutApproved, []string{"MachineDeployment"}, millwright.RolloutCanary),
	approves("approve-deletions", "Approve deletions", "number of machines", millwright.ApproveDeletion, groups, millwright.MaxDeletionShare),
	approves("approve-creations", "Approve creations", "number of machines", millwright.ApproveCreation, groups, millwright.MaxCreationShare),
	approves("approve-orphans", "Approve the removal of instances without machines", "number of instances, or provider IDs", millwright.ApproveOrphans, nil, ""),
}

var groups = []string{"MachineSet", "MachineDeployment"}

func newInput(now time.Time, o Object, value string) input {
	api, kind := apis.KindOf(o.Object)
	if _, is := o.Object.(*v1alpha1.MachineDisruptionBudget); is {
		api, kind = v1alpha1.GroupName, v1alpha1.KindMachineDisruptionBudget
	}
	return input{o, now, api, kind, o.GetName(), value}
}

// Offers are the actions that make sense for an object now.
func Offers(now time.Time, o Object) (out []Offer) {
	in := newInput(now, o, "")
	for _, a := range actions {
		if offer, ok := a.offer(in); ok {
			offer.Name = a.name
			out = append(out, offer)
		}
	}
	return out
}

// Decide is the change of an action with the value that the user entered.
func Decide(now time.Time, o Object, name, value string) (c Change, err error) {
	in := newInput(now, o, value)
	i := slices.IndexFunc(actions, func(a action) bool { return a.name == name })
	if i < 0 {
		return c, fmt.Errorf("action: there is no action %q", name)
	}
	offer, ok := actions[i].offer(in)
	if !ok {
		return c, fmt.Errorf("action: %q is not possible for %s %s now", name, in.kind, in.name)
	}
	change, err := actions[i].change(in)
	if err != nil {
		return c, err
	}
	c = Change{Effect: change.effect, Line: change.line, Label: fmt.Sprintf("%s: %s %s", offer.Label, in.kind, in.name)}
	if change.patch != nil {
		c.Patch, err = json.Marshal(change.patch)
	}
	return c, err
}

// inNamespace is a line about the object in its namespace.
func (in input) inNamespace(line string) string { return line + " -n " + in.GetNamespace() }

// patched is a change by a patch.
func (in input) patched(patch map[string]any, line string) changed {
	return changed{Patch, patch, in.inNamespace(line)}
}

// Argument names an object on a command line of kubectl: "machines.machine.openshift.io/mill-a".
func Argument(api, kind, name string) string { return strings.ToLower(kind) + "s." + api + "/" + name }

func (in input) argument() string { return Argument(in.api, in.kind, in.name) }

func offerDelete(in input) (Offer, bool) {
	out := Offer{Label: "Delete"}
	if metav1.GetControllerOfNoCopy(in.Object.Object) != nil {
		out.Label = "Delete and replace"
	}
	return out, in.kind == "Machine" && in.GetDeletionTimestamp() == nil
}

func (in input) steered() steer.Deployment {
	return survey.Deployed{Object: in.Object.Object, Sets: in.Sets}.Steered(in.now)
}

// steers returns an action of `rollout` that has no value.
func steers(name, label string, decide func(input, steer.Deployment) (steer.Change, error)) action {
	return action{
		name: name,
		offer: func(in input) (Offer, bool) {
			if in.kind != "MachineDeployment" {
				return Offer{}, false
			}
			_, err := decide(in, in.steered())
			return Offer{Label: label}, err == nil
		},
		change: func(in input) (changed, error) {
			c, err := decide(in, in.steered())
			return in.patched(c.Patch, "kubectl machine rollout "+name+" "+in.argument()), err
		},
	}
}

func restart(in input, d steer.Deployment) (steer.Change, error) {
	stored := survey.Deployed{Object: in.Object.Object, Sets: in.Sets}
	return steer.Restart(in.now, d, func(patch map[string]any) (steer.Deployment, error) {
		raw, err := json.Marshal(patch)
		if err != nil {
			return steer.Deployment{}, err
		}
		after, err := stored.With(raw)
		return after.Steered(in.now), err
	})
}

func offerUndo(in input) (Offer, bool) {
	if in.kind != "MachineDeployment" {
		return Offer{}, false
	}
	c, err := steer.Undo(in.now, in.steered(), 0)
	return Offer{Label: "Return to an earlier revision", Value: "revision", Default: strconv.FormatInt(c.Revision, 10)}, err == nil && c.Patch != nil
}

func undo(in input) (changed, error) {
	to, err := strconv.ParseInt(strings.TrimSpace(in.value), 10, 64)
	if err != nil || to <= 0 {
		return changed{}, fmt.Errorf("value: must be a revision above zero, not %q", in.value)
	}
	c, err := steer.Undo(in.now, in.steered(), to)
	if err == nil && c.Patch == nil {
		err = errors.New(c.Done)
	}
	if err != nil {
		return changed{}, fmt.Errorf("value: %w", err)
	}
	return in.patched(c.Patch, fmt.Sprintf("kubectl machine rollout undo %s --to-revision=%d", in.argument(), to)), nil
}

// approves returns an action that writes an annotation. It needs another annotation on the object, which makes controllers
// wait for the approval; if needs is empty, the object must be one from which machines are created.
func approves(name, label, value, key string, kinds []string, needs string) action {
	return action{
		name: name,
		offer: func(in input) (Offer, bool) {
			out := Offer{Label: label, Value: value}
			if needs == "" {
				return out, in.creates()
			}
			_, waits := in.GetAnnotations()[needs]
			return out, waits && slices.Contains(kinds, in.kind)
		},
		change: func(in input) (changed, error) {
			if value == "" {
				in.value = strconv.FormatInt(in.steered().Revision, 10)
			}
			in.value = strings.TrimSpace(in.value)
			if err := in.readable(key); err != nil {
				return changed{}, err
			}
			patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: in.value}}}
			return in.patched(patch, "kubectl annotate --overwrite "+in.argument()+" "+quoted(key+"="+in.value)), nil
		},
	}
}

// creates reports whether machines are created from the object: a class, or a set of an API without classes.
func (in input) creates() bool {
	api, known := apis.Of(in.api)
	return in.kind == "MachineClass" || known && in.kind == "MachineSet" && !api.Has("MachineClass")
}

// readable reports whether controllers can read the entered value of an annotation.
func (in input) readable(key string) error {
	doubts := millwright.Doubts(millwright.Carrier{Kind: in.kind, Owned: true, Annotations: map[string]string{key: in.value}})
	if in.value == "" || in.value == "0" {
		return errors.New("value: must not be empty or zero")
	}
	if strings.ContainsFunc(in.value, unicode.IsControl) {
		return errors.New("value: must be one line")
	}
	if len(doubts) > 0 {
		return fmt.Errorf("value: %s", doubts[0].Message)
	}
	return nil
}

var safe = regexp.MustCompile(`^[A-Za-z0-9@%+=:,./_-]+$`)

// quoted is a word for a shell.
func quoted(word string) string {
	if safe.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
