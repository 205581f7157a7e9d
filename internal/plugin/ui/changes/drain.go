package changes

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
	"github.com/millwright-dev/millwright/internal/plugin/budgets"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/drains"
	"github.com/millwright-dev/millwright/internal/plugin/project"
)

// errNoDrain refuses a drain that a paused or invalid budget forbids.
var errNoDrain = errors.New("action: no drain begins")

// nodeOf is the node of a machine; nil if it has none.
func (p Planner) nodeOf(ctx context.Context, machine explain.Subject) (*corev1.Node, error) {
	q := collect.Question{API: machine.API, Kind: machine.Kind, Namespace: machine.Namespace, Name: machine.Name}
	d, err := collect.Details(ctx, p.Clock.Now(), collect.Clusters{Control: p.Control, Target: p.Target}, q)
	return d.Node, err
}

// planDrain predicts the drain of a node. It fails if a machine disruption budget forbids it until a user changes the budget.
func (p Planner) planDrain(ctx context.Context, of target) (*PlanPage, error) {
	answer, err := p.permit(ctx, of)
	if err != nil {
		return nil, err
	}
	lines, err := drains.Plan(ctx, p.Clock.Now(), p.Target, of.node)
	if err != nil {
		return nil, err
	}
	page := &PlanPage{Plans: []PlannedPage{{Object: project.ObjectOf(of.Object.Object), Title: "Drain of node " + of.Node, Lines: lines}}}
	if !of.Cordoned {
		page.Changes = append(page.Changes, schedulable(of.node, "false", "true"))
	}
	if !answer.Granted {
		page.Notes = append(page.Notes, "the drain waits for "+answer.Message)
	}
	page.Notes = append(page.Notes, p.elsewhere()...)
	page.Notes = append(page.Notes, "the server of this page drains the node: if it ends, the drain ends, and the node stays cordoned. The drain takes no permit of a machine disruption budget")
	return page, nil
}

// elsewhere says that commands about nodes are for another cluster than those about machines.
func (p Planner) elsewhere() []string {
	if !p.Apart {
		return nil
	}
	return []string{"the command is for the cluster that the machines join"}
}

// permit asks the machine disruption budgets for the drain of a machine's node. It fails if they forbid it until a user changes one.
func (p Planner) permit(ctx context.Context, of target) (a disruption.Answer, err error) {
	all, err := budgets.Read(ctx, p.Control)
	if err != nil {
		return a, err
	}
	a = budgets.Ask(p.Clock.Now(), all, budgets.Machine{UID: of.GetUID(), Labels: of.GetLabels()}, v1alpha1.ReasonManual)
	if a.Stopped {
		return a, fmt.Errorf("%w: %s", errNoDrain, a.Message)
	}
	return a, nil
}

// schedulable is the change of a node that a cordon makes, or the end of one.
func schedulable(n *corev1.Node, from, to string) forecast.Changed {
	return forecast.Changed{
		Object: forecast.Object{Kind: "Node", Name: n.Name}, Verb: forecast.Edited,
		Fields: []forecast.Field{{Path: "spec.unschedulable", From: from, To: to}},
	}
}

// errNoNodes refuses changes of nodes that the page cannot make.
var errNoNodes = errors.New("action: this page cannot change the nodes of the cluster that the machines join")

// writing is a client that changes nodes.
func writing(target client.Reader) (client.Client, error) {
	if c, is := target.(client.Client); is {
		return c, nil
	}
	return nil, errNoNodes
}

// drain begins the drain of a node, if it is still as it was planned.
func (p Planner) drain(ctx context.Context, of target, log func(outcome string)) error {
	nodes, err := writing(p.Target)
	if err != nil {
		return err
	}
	if _, err := p.planDrain(ctx, of); err != nil {
		return err
	}
	return p.Drains.Start(drains.Order{Machine: of.Object.Object, Node: of.node, Control: p.Control, Target: nodes, Log: log})
}

// uncordon ends the drain of a node, and uncordons it. A user who may not do that does not end the drain of another one.
func (p Planner) uncordon(ctx context.Context, of target) error {
	nodes, err := writing(p.Target)
	if err != nil {
		return err
	}
	change := []byte(`{"spec":{"unschedulable":null}}`)
	if err := patch(ctx, nodes, of.node.DeepCopy(), change, client.DryRunAll); err != nil {
		return err
	}
	p.Drains.End(of.GetUID())
	return patch(ctx, nodes, of.node, change)
}
