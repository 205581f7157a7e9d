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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// why connects, and reads the flags that both commands have.
	*why
	files    []string
	replicas int
	class    string
	patch    string
	remove   bool
	// connect connects to clusters.
	connect func() (survey.Clusters, string, error)
	now     func() time.Time
	// patience is how long steps are simulated; later steps are left out.
	patience time.Duration
}

// mostPatience is the time after which a user wonders whether the command still works.
const mostPatience = 5 * time.Second

// Plan is the command that shows the effects of a change beforehand; program is its name for users.
func Plan(program string, streams genericiooptions.IOStreams) *cobra.Command {
	p := newPlan(streams)
	return p.command(program)
}

func newPlan(streams genericiooptions.IOStreams) *plan {
	p := &plan{why: newWhy(streams), now: time.Now, patience: mostPatience}
	p.connect = p.clients
	return p
}

func (p *plan) command(program string) *cobra.Command {
	c := &cobra.Command{
		Use:   "plan (-f <file> | <kind>/<name> [--replicas <n>] [--class <name>] [--patch <json>] [--delete])",
		Short: "Show what a change would create, update, drain and delete, step by step, without making the change",
		Long: `plan says what the controllers do about a change of machines, machine sets,
machine deployments and machine classes of either API: which machines they create
and delete, in which steps and why, what the drains meet, and how long it takes as
far as objects show. The change is a manifest, as for kubectl apply, or one of the
object that is named. It asks the same functions as the controllers, and the API
server for a trial (dry run), so that its defaults and objections count; where you
may not change the object, the change is made in memory. Nothing is stored.

What may not be read is named, with what the plan does not know for that.

It exits with 0 where nothing changes, with 1 where something does, and with 2
if there was an error, as kubectl diff does.`,
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
	report := forecast.Report{Plans: []forecast.Plan{}, Changes: []forecast.Changed{}}
	var trials []survey.Trial
	if len(p.files) > 0 {
		trials, err = p.manifests(c.Context(), clusters, cmp.Or(*p.config.Namespace, home), &report)
	} else {
		trials, err = p.named(c, args, clusters, home, &report)
	}
	if err != nil {
		return err
	}
	if err := p.foretell(c.Context(), clusters, trials, &report); err != nil {
		return err
	}
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

// check refuses contradictory flags.
func (p *plan) check(c *cobra.Command, args []string) error {
	asked := 0
	for _, name := range []string{"replicas", "class", "patch", "delete"} {
		if c.Flags().Changed(name) {
			asked++
		}
	}
	switch {
	case len(p.files) > 0 && (len(args) > 0 || asked > 0):
		return errors.New("-f takes the change from the manifest: name no object and no other change beside it")
	case len(p.files) > 0:
		return nil
	case len(args) == 0:
		return errors.New("want -f <file>, or <kind>/<name> and a change")
	case asked == 0:
		return errors.New("want a change: --replicas, --class, --patch or --delete")
	case p.remove && asked > 1:
		return errors.New("--delete goes with no other change")
	case p.replicas < 0:
		return fmt.Errorf("--replicas: must not be negative, is %d", p.replicas)
	}
	return nil
}

// manifests tries the effect of kubectl apply.
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
		return nil, errors.New("the manifests have no machine, machine set, machine deployment or machine class")
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

// named tries a change of one object.
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
			return nil, fmt.Errorf("%s was not found; not all could be read: %s", asked, strings.Join(gaps, "; "))
		}
		return nil, fmt.Errorf("there is no %s", asked)
	case 1:
		if project.ObjectOf(found[0]).Kind == "" {
			return nil, fmt.Errorf("%s: a plan is about machines, their sets, deployments and classes", asked)
		}
		return found[0], nil
	}
	var all []string
	for _, o := range found {
		all = append(all, project.ObjectOf(o).String())
	}
	return nil, fmt.Errorf("%s may be one of several, -n and --api choose: %s", asked, strings.Join(all, ", "))
}

// change is the patch from the flags.
func (p *plan) change(cmd *cobra.Command, o client.Object) ([]byte, error) {
	id := project.ObjectOf(o)
	group := id.Kind == "MachineSet" || id.Kind == "MachineDeployment"
	out := map[string]any{}
	if p.patch != "" {
		if err := json.Unmarshal([]byte(p.patch), &out); err != nil {
			return nil, fmt.Errorf("--patch: want a JSON object: %w", err)
		}
	}
	if cmd.Flags().Changed("replicas") {
		if !group {
			return nil, fmt.Errorf("--replicas is for machine sets and machine deployments: %s", id)
		}
		set(out, p.replicas, "spec", "replicas")
	}
	if p.class != "" {
		if api, _ := apis.Of(id.API); !group || !api.Has("MachineClass") {
			return nil, fmt.Errorf("--class is for machine sets and machine deployments of an API with classes: %s", id)
		}
		set(out, p.class, "spec", "template", "spec", "class", "name")
	}
	return json.Marshal(out)
}

// set puts a value at a path.
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

// foretell reads the objects that the changes concern, and predicts the effects.
func (p *plan) foretell(ctx context.Context, c survey.Clusters, trials []survey.Trial, report *forecast.Report) error {
	var about []forecast.Object
	var changes []project.Change
	for _, t := range trials {
		changes = append(changes, t.Change)
		about = append(about, project.ObjectOf(t.About()))
		if t.Note != "" {
			report.Notes = append(report.Notes, t.Note)
		}
	}
	read, err := survey.All(ctx, c, about)
	if err != nil {
		return err
	}
	report.Unknown = append(report.Unknown, read.Unknown...)
	for _, change := range changes {
		report.Changes = append(report.Changes, project.Changed(change, read.Stored))
		report.Notes = append(report.Notes, append(wild(change), controlled(change)...)...)
	}
	end := time.Now().Add(p.patience)
	report.Plans = append(report.Plans, project.Plans(p.now(), read.Stored, changes, read.Durations, func() bool { return ctx.Err() != nil || time.Now().After(end) })...)
	return ctx.Err()
}

// grown is the factor, and the number of additional machines, from which the number may be a typing error.
const grownTimes, grownBy = 10, 50

// wild warns of a change to a far greater number of machines.
func wild(c project.Change) []string {
	was, _ := project.Replicas(c.Before)
	is, ok := project.Replicas(c.After)
	if !ok || c.Before == nil || is < was*grownTimes || is-was < grownBy {
		return nil
	}
	times := ""
	if was > 0 {
		times = fmt.Sprintf(", which are %d times as many", is/was)
	}
	return []string{fmt.Sprintf("%s goes from %d to %d machines%s: see that the number is meant", project.ObjectOf(c.After), was, is, times)}
}

// controlled warns of a change that a deployment reverts.
func controlled(c project.Change) []string {
	o := c.About()
	ref := metav1.GetControllerOfNoCopy(o)
	if id := project.ObjectOf(o); ref == nil || id.Kind != "MachineSet" {
		return nil
	}
	return []string{fmt.Sprintf("%s %s controls this set and decides on its size: change that instead. The set may act before it is set back", ref.Kind, ref.Name)}
}

// clients connects for a plan.
func (p *plan) clients() (c survey.Clusters, home string, err error) {
	read, home, err := p.clusters()
	if err != nil {
		return c, home, err
	}
	control, ok := read.Control.(client.Client)
	if !ok {
		return c, home, errors.New("the connection cannot try changes")
	}
	return survey.Clusters{Control: control, Target: read.Target}, home, nil
}
