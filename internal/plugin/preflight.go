package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/preflight"
	"github.com/millwright-dev/millwright/internal/plugin/project"
	"github.com/millwright-dev/millwright/internal/plugin/survey"
)

// preflighting has the flags of the command preflight.
type preflighting struct {
	// plan connects to clusters, and has the flags that the commands plan and preflight share.
	*plan
	serves, rights []string
}

// errBlocked ends a preflight that found an obstacle, with exit code 1.
var errBlocked = &exit{code: 1, told: true, err: errors.New("an obstacle prevents the takeover")}

// Preflight returns the command that shows whether Millwright can replace machine-api-operator or
// machine-controller-manager in a cluster. program is the name of the program for users.
func Preflight(program string, streams genericiooptions.IOStreams) *cobra.Command {
	return (&preflighting{plan: newPlan(streams)}).command(program)
}

func (p *preflighting) command(program string) *cobra.Command {
	c := &cobra.Command{
		Use:   "preflight",
		Short: "Show what Millwright would do in a cluster of machine-api-operator or machine-controller-manager, and what prevents a takeover",
		Long: `preflight reads a cluster whose machines are managed by machine-api-operator and its
controllers, or by machine-controller-manager. It lists the obstacles to replacing
them with Millwright: held leases, infrastructures without a provider, unknown
versions and fields, and missing rights. It also shows what the controllers of
Millwright would do to the objects in the first hour. They should only update
bookkeeping fields and finish operations that have begun. preflight changes nothing.

The exit code is 0 if there is no obstacle, 1 if there is one, and 2 after an
error.`,
		Args:              func(c *cobra.Command, args []string) error { return planFailed(cobra.NoArgs(c, args)) },
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			err := p.run(c.Context())
			if errors.Is(err, errBlocked) {
				return err
			}
			return planFailed(err)
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return planFailed(err) })
	c.Example = `  # all namespaces
  ` + program + ` preflight
  # one API, in one namespace, for scripts
  ` + program + ` preflight -n shoot--blue --api gardener -o json
  # the rights of the accounts under which the programs will run, as well
  ` + program + ` preflight --rights machine-controller-manager=openshift-machine-api/machine-api-controllers`
	p.config.AddFlags(c.Flags())
	p.print.AddFlags(c)
	f := c.Flags()
	f.StringVar(&p.target, "target-kubeconfig", "", "kubeconfig of the cluster that the machines join; empty for the same cluster")
	f.StringVar(&p.api, "api", "", strings.Join(apis.Words(), " or ")+"; empty for all")
	f.StringSliceVar(&p.serves, "serves", nil, "kind of a provider spec, or provider of a machine class, that your own provider supports")
	f.StringSliceVar(&p.rights, "rights", nil, "<role>=<namespace>/<account>: check whether the account has the rights of a role: "+strings.Join(survey.Roles(), ", "))
	p.completeFlags(c)
	return c
}

func (p *preflighting) run(ctx context.Context) error {
	printer, err := p.print.Printer()
	if err != nil {
		return err
	}
	var known apis.API
	if p.api != "" {
		if known, err = apis.OfFlag(p.api); err != nil {
			return err
		}
	}
	clusters, _, err := p.connect()
	if err != nil {
		return err
	}
	f, err := p.facts(ctx, clusters, known.Name)
	if err != nil {
		return err
	}
	report := preflight.Judge(p.now(), f)
	if printer != nil {
		err = printer.PrintObj(Document("", "Preflight", report), p.Out)
	} else {
		_, err = io.WriteString(p.Out, report.Text())
	}
	if err == nil && !report.Ready {
		return errBlocked
	}
	return err
}

func (p *preflighting) facts(ctx context.Context, c survey.Clusters, api string) (f preflight.Facts, err error) {
	f.Served = p.serves
	var gaps []string
	f.Definitions, f.Gaps = survey.Definitions(ctx, c.Control, api)
	if err := p.askRights(ctx, c.Control, api, &f); err != nil {
		return f, err
	}
	f.Leases, gaps = survey.Leases(ctx, c.Control, api)
	f.Gaps = append(f.Gaps, gaps...)
	q := collect.Question{Namespace: *p.config.Namespace, API: api}
	all, unseen, err := collect.Each(ctx, p.now(), collect.Clusters{Control: c.Control, Target: c.Target}, q)
	if err != nil {
		return f, err
	}
	f.Gaps = append(f.Gaps, ofObjects(unseen)...)
	does, unread, err := p.foreseen(ctx, c, all)
	if err != nil {
		return f, err
	}
	f.Gaps = append(f.Gaps, unread...)
	raw := map[explain.Subject]preflight.Object{}
	for _, o := range all {
		if err := rawOf(ctx, c.Control, q.Namespace, o.Subject, raw); err != nil {
			return f, err
		}
		is := raw[o.Subject]
		is.Answer, is.Does = o.Answer, does[forecast.Object{API: o.API, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}]
		if ref := metav1.GetControllerOfNoCopy(o.Object); ref != nil {
			is.Owner = &explain.Subject{API: o.API, Kind: ref.Kind, Namespace: o.Namespace, Name: ref.Name}
		}
		is.Deleting = o.Object.GetDeletionTimestamp() != nil
		f.Objects = append(f.Objects, is)
	}
	return f, nil
}

// ofObjects returns the texts of the gaps. It omits gaps about leader election, because preflight judges the leases
// itself.
func ofObjects(gaps []collect.Gap) (out []string) {
	for _, g := range gaps {
		if !g.Leading {
			out = append(out, g.Text)
		}
	}
	return out
}

// rawOf adds all objects of the kind of s to into. It does nothing if an earlier call has read this kind.
func rawOf(ctx context.Context, c client.Reader, namespace string, s explain.Subject, into map[explain.Subject]preflight.Object) error {
	read := explain.Subject{API: s.API, Kind: s.Kind}
	if _, done := into[read]; done {
		return nil
	}
	into[read] = preflight.Object{}
	a, _ := apis.Of(s.API)
	for _, k := range a.Kinds {
		if k.Name != s.Kind {
			continue
		}
		all, err := survey.Raw(ctx, c, a, k, namespace)
		if err != nil {
			return fmt.Errorf("read %s of %s: %w", s.Kind, s.API, err)
		}
		for key, o := range all {
			into[explain.Subject{API: s.API, Kind: s.Kind, Namespace: key.Namespace, Name: key.Name}] = o
		}
	}
	return nil
}

// foreseen predicts what the controllers do if no client changes an object. Each key of the result is a deployment,
// or a set without a deployment. The strings name the facts that could not be read.
func (p *preflighting) foreseen(ctx context.Context, c survey.Clusters, all []collect.Explained) (map[forecast.Object]string, []string, error) {
	var about []forecast.Object
	var changes []project.Change
	for _, o := range all {
		if o.Kind == "MachineSet" || o.Kind == deploymentKind {
			about = append(about, project.ObjectOf(o.Object))
			changes = append(changes, project.Change{Before: o.Object, After: o.Object})
		}
	}
	read, err := survey.All(ctx, c, about)
	if err != nil {
		return nil, nil, err
	}
	out := map[forecast.Object]string{}
	for _, plan := range project.Plans(p.now(), read.Stored, changes, read.Durations, nil) {
		out[plan.Root] = summary(plan)
	}
	return out, read.Unknown, nil
}

// summary returns a clause about a plan, or "" if the plan has no steps.
func summary(plan forecast.Plan) string {
	if plan.Nothing() {
		return ""
	}
	text := fmt.Sprintf("creates %d and deletes %d machines", plan.Created, plan.Deleted)
	if plan.Cut {
		text += " or more"
	}
	return fmt.Sprintf("%s (steps: plan %s/%s -n %s --patch {})", text, strings.ToLower(plan.Root.Kind), plan.Root.Name, plan.Root.Namespace)
}

// askRights checks the rights of the accounts in --rights, and adds the missing rights to f.
func (p *preflighting) askRights(ctx context.Context, c client.Client, api string, f *preflight.Facts) error {
	skip := unused(api, f.Definitions)
	for _, asked := range p.rights {
		role, account, ok := strings.Cut(asked, "=")
		namespace, name, both := strings.Cut(account, "/")
		if !ok || !both || namespace == "" || name == "" {
			return fmt.Errorf("--rights: must be <role>=<namespace>/<account>, not %q", asked)
		}
		lack, err := survey.Denied(ctx, c, survey.Account{Role: role, Namespace: namespace, Name: name, Control: cmp.Or(*p.config.Namespace, namespace), Skip: skip})
		if err != nil {
			return fmt.Errorf("--rights: %w", err)
		}
		f.Lacks, f.Asked = append(f.Lacks, lack), true
	}
	return nil
}

// unused returns the APIs without a CRD in the cluster, and the APIs that --api excludes.
func unused(api string, definitions []preflight.Definition) (out []string) {
	for _, name := range apis.Names() {
		present := slices.ContainsFunc(definitions, func(d preflight.Definition) bool { return d.Present && strings.HasSuffix(d.Name, "."+name) })
		if !present || api != "" && api != name {
			out = append(out, name)
		}
	}
	return out
}
