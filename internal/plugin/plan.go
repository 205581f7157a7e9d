package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/project"
	"github.com/millwright-dev/millwright/internal/plugin/survey"
)

// plan is a change on the command line.
type plan struct {
	// why connects to clusters, and has the flags that both commands share.
	*why
	files    []string
	replicas int
	class    string
	patch    string
	remove   bool
	// connect connects to clusters.
	connect func() (survey.Clusters, string, error)
	now     func() time.Time
	// patience limits how long the command simulates steps. It omits later steps.
	patience time.Duration
}

// Plan is the command that predicts the effects of a change. program is the name of the program for users.
func Plan(program string, streams genericiooptions.IOStreams) *cobra.Command {
	p := newPlan(streams)
	return p.command(program)
}

func newPlan(streams genericiooptions.IOStreams) *plan {
	p := &plan{why: newWhy(streams), now: time.Now, patience: survey.Patience}
	p.connect = p.clients
	return p
}

func (p *plan) command(program string) *cobra.Command {
	c := &cobra.Command{
		Use:   "plan (-f <file> | <kind>/<name> [--replicas <n>] [--class <name>] [--patch <json>] [--delete])",
		Short: "Show what a change would create, update, drain and delete, step by step, without making the change",
		Long: `plan predicts how the controllers react to a change of machines, machine sets,
machine deployments or machine classes of either API. It shows the machines that
they create and delete, the steps and their reasons, what delays the drains, and an
estimate of the duration. The change is a manifest, as for kubectl apply, or a
change of one named object.

plan calls the same functions as the controllers, and sends the change to the API
server as a dry run, which applies defaults and validation. If you may not change
the object, plan applies the change in memory. Nothing is stored. The output names
objects that you may not read, and the effects that plan cannot predict without them.

The exit code is 0 if nothing changes, 1 if something changes, and 2 after an
error, as with kubectl diff.`,
		Args: func(c *cobra.Command, args []string) error { return planFailed(cobra.MaximumNArgs(2)(c, args)) },
		RunE: func(c *cobra.Command, args []string) error {
			err := p.run(c, args)
			if errors.Is(err, errChanges) {
				return err
			}
			return planFailed(err)
		},
		ValidArgsFunction: p.complete,
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return planFailed(err) })
	c.Example = `  # a manifest, before kubectl apply -f
  ` + program + ` plan -f pool.yaml
  # another number of machines
  ` + program + ` plan machineset/mill-worker-a --replicas=5
  # another class
  ` + program + ` plan machinedeployment/mill --class mill-v2
  # another template
  ` + program + ` plan machinedeployment/mill --patch '{"spec":{"template":{"spec":{"providerSpec":{"value":{"size":"large"}}}}}}'
  # what goes with a machine
  ` + program + ` plan machine/mill-worker-a-x7k2p --delete -o json`
	p.config.AddFlags(c.Flags())
	p.print.AddFlags(c)
	f := c.Flags()
	f.StringSliceVarP(&p.files, "filename", "f", nil, "file with manifests; - for standard input")
	f.IntVar(&p.replicas, "replicas", 0, "number of machines of a set or a deployment")
	f.StringVar(&p.class, "class", "", "machine class of the template of a set or a deployment of machine.sapcloud.io")
	f.StringVarP(&p.patch, "patch", "p", "", "JSON merge patch of the object")
	f.BoolVar(&p.remove, "delete", false, "delete the object")
	f.StringVar(&p.target, "target-kubeconfig", "", "kubeconfig of the cluster that the machines join; empty for the same cluster")
	f.StringVar(&p.api, "api", "", "openshift or gardener; empty for both")
	p.completeFlags(c)
	return c
}

func (p *plan) run(c *cobra.Command, args []string) error {
	printer, err := p.print.Printer()
	if err != nil {
		return err
	}
	if err := p.check(c, args); err != nil {
		return err
	}
	clusters, home, err := p.connect()
	if err != nil {
		return err
	}
	var report forecast.Report
	var trials []survey.Trial
	if len(p.files) > 0 {
		trials, err = p.manifests(c.Context(), clusters, cmp.Or(*p.config.Namespace, home), &report)
	} else {
		trials, err = p.named(c, args, clusters, home, &report)
	}
	if err != nil {
		return err
	}
	foretold, err := survey.Foretell(c.Context(), clusters, p.now(), trials, p.patience)
	if err != nil {
		return err
	}
	foretold.Notes, foretold.Unknown = append(report.Notes, foretold.Notes...), append(report.Unknown, foretold.Unknown...)
	report = foretold
	if printer != nil {
		err = printer.PrintObj(Document("", "Plan", report), p.Out)
	} else {
		_, err = io.WriteString(p.Out, report.Text())
	}
	if err == nil && !report.Nothing() {
		return errChanges
	}
	return err
}

// check returns an error for contradictory flags.
func (p *plan) check(c *cobra.Command, args []string) error {
	asked := 0
	for _, name := range []string{"replicas", "class", "patch", "delete"} {
		if c.Flags().Changed(name) {
			asked++
		}
	}
	switch {
	case len(p.files) > 0 && (len(args) > 0 || asked > 0):
		return errors.New("-f reads the change from a manifest: it excludes an object name and other changes")
	case len(p.files) > 0:
		return nil
	case len(args) == 0:
		return errors.New("use -f <file>, or <kind>/<name> and a change")
	case asked == 0:
		return errors.New("no change: use --replicas, --class, --patch or --delete")
	case p.remove && asked > 1:
		return errors.New("--delete excludes other changes")
	case p.replicas < 0:
		return fmt.Errorf("--replicas: must not be negative: %d", p.replicas)
	}
	return nil
}

// manifests applies manifests as a dry run.
func (p *plan) manifests(ctx context.Context, c survey.Clusters, namespace string, report *forecast.Report) (out []survey.Trial, err error) {
	for _, name := range p.files {
		docs, skipped, err := p.open(name, namespace)
		if err != nil {
			return nil, err
		}
		report.Notes = append(report.Notes, skipped...)
		for _, doc := range docs {
			t, err := survey.Apply(ctx, c.Control, doc)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the manifest %w", survey.NoObjects(report.Notes))
	}
	return out, nil
}

func (p *plan) open(name, namespace string) (docs []*unstructured.Unstructured, skipped []string, err error) {
	in := p.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	if docs, skipped, err = survey.Documents(in, namespace); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return docs, skipped, nil
}

// named applies a change of one object as a dry run.
func (p *plan) named(cmd *cobra.Command, args []string, c survey.Clusters, home string, report *forecast.Report) ([]survey.Trial, error) {
	q, err := p.question(args)
	if err != nil {
		return nil, err
	}
	q.Home = home
	found, gaps, err := collect.Find(cmd.Context(), p.now(), collect.Clusters{Control: c.Control, Target: c.Target}, q)
	if err != nil {
		return nil, err
	}
	report.Unknown = append(report.Unknown, gaps...)
	o, err := oneOf(found, strings.Join(args, "/"), gaps)
	if err != nil {
		return nil, err
	}
	if p.remove {
		t, err := survey.Delete(cmd.Context(), c.Control, o)
		return []survey.Trial{t}, err
	}
	patch, err := p.change(cmd, o)
	if err != nil {
		return nil, err
	}
	t, err := survey.Patch(cmd.Context(), c.Control, o, patch)
	return []survey.Trial{t}, err
}

func oneOf(found []client.Object, asked string, gaps []string) (client.Object, error) {
	switch len(found) {
	case 0:
		if len(gaps) > 0 {
			return nil, fmt.Errorf("%s was not found, but some objects could not be read: %s", asked, strings.Join(gaps, "; "))
		}
		return nil, fmt.Errorf("%s not found", asked)
	case 1:
		if project.ObjectOf(found[0]).Kind == "" {
			return nil, fmt.Errorf("%s: plan supports only machines, machine sets, machine deployments and machine classes", asked)
		}
		return found[0], nil
	}
	var all []string
	for _, o := range found {
		all = append(all, project.ObjectOf(o).String())
	}
	return nil, fmt.Errorf("%s matches several objects: select one with -n or --api: %s", asked, strings.Join(all, ", "))
}

// change returns the patch for the flags.
func (p *plan) change(cmd *cobra.Command, o client.Object) ([]byte, error) {
	id := project.ObjectOf(o)
	group := id.Kind == "MachineSet" || id.Kind == "MachineDeployment"
	out := map[string]any{}
	if p.patch != "" {
		if err := json.Unmarshal([]byte(p.patch), &out); err != nil {
			return nil, fmt.Errorf("--patch: must be a JSON object: %w", err)
		}
	}
	if cmd.Flags().Changed("replicas") {
		if !group {
			return nil, fmt.Errorf("--replicas requires a machine set or a machine deployment, not %s", id)
		}
		set(out, p.replicas, "spec", "replicas")
	}
	if p.class != "" {
		if api, _ := apis.Of(id.API); !group || !api.Has("MachineClass") {
			return nil, fmt.Errorf("--class requires a machine set or a machine deployment of an API with classes, not %s", id)
		}
		set(out, p.class, "spec", "template", "spec", "class", "name")
	}
	return json.Marshal(out)
}

// set sets the value at a path.
func set(into map[string]any, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		next, ok := into[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			into[key] = next
		}
		into = next
	}
	into[path[len(path)-1]] = value
}

// clients connects to the clusters of a plan.
func (p *plan) clients() (c survey.Clusters, home string, err error) {
	read, home, err := p.clusters()
	if err != nil {
		return c, home, err
	}
	control, ok := read.Control.(client.Client)
	if !ok {
		return c, home, errors.New("the connection does not support dry runs")
	}
	return survey.Clusters{Control: control, Target: read.Target}, home, nil
}
