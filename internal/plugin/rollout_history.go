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

// Values of --dry-run, as in kubectl.
const dryNone, dryClient, dryServer = "none", "client", "server"

// takenUp limits how long undo waits for the controller to restore the template.
const takenUp = 10 * time.Second

func historyCommand(program string, r *steering) *cobra.Command {
	revision := int64(0)
	c := r.command(program, "history", "List the revisions to which a deployment can be rolled back",
		`history lists the revisions of a deployment, the oldest first. A machine set stores the
template of each revision. With --revision, the command prints the template of one
revision. spec.revisionHistoryLimit limits the number of stored revisions.`,
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
	all := steer.History(v, d.CauseOf)
	switch {
	case revision < 0:
		return fmt.Errorf("has no revision %d: --revision must not be negative", revision)
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
		return r.say("%s\nno revision yet", titled(d.Object))
	}
	size := terminal.Size{Width: math.MaxInt}
	if terminal.Is(r.Out) {
		size = terminal.SizeOf(r.Out)
	}
	_, err = io.WriteString(r.Out, titled(d.Object)+"\n"+strings.Join(historyTable(all, size), "\n")+"\n")
	return err
}

// historyTable returns the lines of a table that is at most size.Width characters wide. The table has all revisions,
// regardless of size.Height.
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

// templateOf returns the template of a set, without the label that distinguishes the sets of a deployment.
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
	return nil, fmt.Errorf("no longer has the set %s", set)
}

func undoCommand(program string, r *steering) *cobra.Command {
	to, dry := int64(0), dryNone
	c := r.command(program, "undo", "Roll back to an earlier revision",
		`undo sets spec.rollbackTo, and waits until the controller has restored the template of
an earlier revision. The controller then replaces machines as in every rollout: to follow
it, use 'rollout status'. To predict it, use 'plan --patch' first.`,
		"machinedeployment/mill --to-revision=2", func(ctx context.Context, k client.Client, d survey.Deployed) error {
			return r.undo(ctx, k, d, to, dry)
		})
	c.Flags().Int64Var(&to, "to-revision", 0, "revision to restore; 0 for the previous revision")
	c.Flags().StringVar(&dry, "dry-run", dryNone, `"none", "client" (print the request) or "server" (also validate it on the API server)`)
	c.Flags().Lookup("dry-run").NoOptDefVal = dryClient
	return c
}

func (r *steering) undo(ctx context.Context, k client.Client, d survey.Deployed, to int64, dry string) error {
	switch {
	case to < 0:
		return fmt.Errorf("was not changed: --to-revision must not be negative: %d", to)
	case dry != dryNone && dry != dryClient && dry != dryServer:
		return fmt.Errorf("was not changed: --dry-run must be none, client or server, not %q", dry)
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

// followUndo waits until the controller has restored the template, but no longer than takenUp.
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
	return r.say("%s: requested revision %d.\nNo controller has restored it within %s. To see whether a controller runs, use 'why %s'.",
		titled(d.Object), change.Revision, takenUp, titled(d.Object))
}
