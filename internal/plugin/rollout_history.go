package plugin

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/plugin/steer"
	"github.com/millwright-dev/millwright/internal/plugin/survey"
	"github.com/millwright-dev/millwright/internal/plugin/terminal"
)

// changeCause is the annotation in which users note why they made a change. Controllers copy it from a
// deployment to its set.
const changeCause = "kubernetes.io/change-cause"

// kubectl's words for dry runs.
const dryNone, dryClient, dryServer = "none", "client", "server"

// takenUp is how long undo waits for the controller.
const takenUp = 10 * time.Second

func historyCommand(program string, r *steering) *cobra.Command {
	revision := int64(0)
	c := r.command(program, "history", "List the revisions to which a deployment can be rolled back",
		`history lists the revisions of a deployment, the oldest first: the template of each
is kept by a machine set. With --revision it prints the template of one. How many
are kept says spec.revisionHistoryLimit.`,
		"machinedeployment/mill --revision=2", func(_ context.Context, _ client.Client, d survey.Deployed) error {
			return r.history(d, revision)
		})
	c.Flags().Int64Var(&revision, "revision", 0, "print the template of this revision")
	r.print.AddFlags(c)
	return c
}

func (r *steering) history(d survey.Deployed, revision int64) error {
	printer, err := r.print.Printer()
	if err != nil {
		return err
	}
	v := d.Steered(r.clock.Now())
	all := steer.History(v, func(set string) string { return causeOf(d, set) })
	switch {
	case revision < 0:
		return fmt.Errorf("cannot have revision %d: --revision must not be negative", revision)
	case revision > 0:
		s, err := steer.SetOf(v, revision)
		if err != nil {
			return err
		}
		template, err := templateOf(d, s.Name)
		if err != nil {
			return err
		}
		if printer != nil {
			return printer.PrintObj(Document("", "Revision", map[string]any{"revision": revision, "machineSet": s.Name, "template": template}), r.Out)
		}
		text, err := yaml.Marshal(template)
		if err != nil {
			return err
		}
		return r.say("%s with revision #%d (%s)\nMachine Template:\n  %s", titled(d.Object), revision, s.Name,
			strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n  "))
	case printer != nil:
		return printer.PrintObj(Document("", "History", map[string]any{"revisions": all}), r.Out)
	case len(all) == 0:
		return r.say("%s\nno revision is recorded yet", titled(d.Object))
	}
	size := terminal.Size{Width: math.MaxInt}
	if terminal.Is(r.Out) {
		size = terminal.SizeOf(r.Out)
	}
	_, err = io.WriteString(r.Out, titled(d.Object)+"\n"+strings.Join(historyTable(all, size), "\n")+"\n")
	return err
}

// historyTable is at most as wide as the terminal, and as long as needed.
func historyTable(all []steer.Revision, size terminal.Size) []string {
	columns := []terminal.Column{{Title: "REVISION"}, {Title: "MACHINESET"}, {Title: "MACHINES"}, {Title: "CHANGE-CAUSE"}}
	for _, revision := range all {
		number := strconv.FormatInt(revision.Number, 10)
		if revision.Present {
			number += " *"
		}
		for i, cell := range []string{number, revision.Set, strconv.Itoa(revision.Machines), cmp.Or(revision.Cause, "<none>")} {
			columns[i].Cells = append(columns[i].Cells, cell)
		}
	}
	size.Height = len(all) + 2
	return terminal.Table(columns, size)
}

func causeOf(d survey.Deployed, set string) string {
	for _, s := range d.Sets {
		if s.GetName() == set {
			return s.GetAnnotations()[changeCause]
		}
	}
	return ""
}

// templateOf is the template of a set, without the label that distinguishes the sets of a deployment.
func templateOf(d survey.Deployed, set string) (map[string]any, error) {
	for _, s := range d.Sets {
		if s.GetName() != set {
			continue
		}
		o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
		if err != nil {
			return nil, err
		}
		unstructured.RemoveNestedField(o, "spec", "template", "metadata", "labels", "machine-template-hash")
		unstructured.RemoveNestedField(o, "spec", "template", "metadata", "creationTimestamp")
		template, _, err := unstructured.NestedMap(o, "spec", "template")
		return template, err
	}
	return nil, fmt.Errorf("has no set %s any more", set)
}

func undoCommand(program string, r *steering) *cobra.Command {
	to, dry := int64(0), dryNone
	c := r.command(program, "undo", "Roll back to an earlier revision",
		`undo asks the controller by spec.rollbackTo to go back to the template of an earlier
revision, and says when it has done so. That is a rollout like any other: 'rollout
status' follows it. 'plan --patch' says beforehand what it replaces.`,
		"machinedeployment/mill --to-revision=2", func(ctx context.Context, k client.Client, d survey.Deployed) error {
			return r.undo(ctx, k, d, to, dry)
		})
	c.Flags().Int64Var(&to, "to-revision", 0, "revision to roll back to; 0 for the previous revision")
	c.Flags().StringVar(&dry, "dry-run", dryNone, `"none", "client" (print the request) or "server" (also validate it on the API server)`)
	c.Flags().Lookup("dry-run").NoOptDefVal = dryClient
	return c
}

func (r *steering) undo(ctx context.Context, k client.Client, d survey.Deployed, to int64, dry string) error {
	switch {
	case to < 0:
		return fmt.Errorf("cannot go back to revision %d: --to-revision must not be negative", to)
	case dry != dryNone && dry != dryClient && dry != dryServer:
		return fmt.Errorf("was not changed: --dry-run: want none, client or server, not %q", dry)
	}
	change, err := steer.Undo(r.clock.Now(), d.Steered(r.clock.Now()), to)
	if err != nil {
		return err
	}
	if err := write(ctx, k, d.Object, change, dry); err != nil {
		return err
	}
	switch {
	case change.Patch == nil:
		return r.say("%s %s", titled(d.Object), change.Done)
	case dry != dryNone:
		return r.say("%s %s to revision %d (dry run, %s)", titled(d.Object), change.Done, change.Revision, dry)
	}
	return r.followUndo(ctx, k, d, change)
}

// followUndo waits for a short while until the controller has read the request.
func (r *steering) followUndo(ctx context.Context, k client.Client, d survey.Deployed, change steer.Change) error {
	for until := r.clock.Now().Add(takenUp); r.clock.Now().Before(until); {
		var err error
		if d, err = again(ctx, k, d); err != nil {
			return err
		}
		if d.Steered(r.clock.Now()).RollbackTo == nil {
			return r.say("%s %s to revision %d", titled(d.Object), change.Done, change.Revision)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.clock.After(lookAgain / 4):
		}
	}
	return r.say("%s is asked to go back to revision %d.\nNo controller has done so within %s: 'why %s' says whether one is at work.",
		titled(d.Object), change.Revision, takenUp, titled(d.Object))
}
