package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/steer"
	"github.com/millwright-dev/millwright/internal/plugin/survey"
)

// steering has the flags of one of the commands of rollout.
type steering struct {
	// why connects to the cluster, and has the flags that all commands share.
	*why
	*choice
	// connect connects to the cluster. home is the namespace of the context.
	connect func() (c client.Client, home string, err error)
	clock   ticking
}

// ticking is a clock with timers.
type ticking interface {
	Now() time.Time
	After(time.Duration) <-chan time.Time
}

type wallClock struct{}

func (wallClock) Now() time.Time                         { return time.Now() }
func (wallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

const deploymentKind = "MachineDeployment"

// Rollout returns the command whose subcommands control rollouts of machine deployments. program is the name of the
// program for users.
func Rollout(program string, streams genericiooptions.IOStreams) *cobra.Command {
	return rolloutCommands(program, func() *steering {
		r := &steering{why: newWhy(streams), choice: newChoice(), clock: wallClock{}}
		r.connect = r.client
		return r
	})
}

func rolloutCommands(program string, begin func() *steering) *cobra.Command {
	c := &cobra.Command{
		Use:   "rollout",
		Short: "Watch, undo, pause, resume and restart rollouts of machine deployments, as kubectl does for Deployments",
		Long: `rollout does for machine deployments of either API what kubectl rollout does for
Deployments, with the same arguments, flags and exit codes. To select a machine
deployment, use its kind and name: machinedeployment/mill or md/mill. If both APIs
have a machine deployment of that name, use machinedeployments.<group>/mill or --api.
To select several, use labels (machinedeployment -l pool=a) or manifests (-f).
Without -n, the commands use the namespace of the context.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q: use history, pause, restart, resume, status or undo", "rollout "+args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(statusCommand(program, begin()), historyCommand(program, begin()), undoCommand(program, begin()))
	c.AddCommand(begin().simple(program, "pause", "Pause the rollout of template changes",
		`pause sets spec.paused. The controllers still replace lost machines, and you can still
scale the deployment. A change of the template waits for 'rollout resume'.`,
		func(_ time.Time, d steer.Deployment, _ trial) (steer.Change, error) { return steer.Pause(d) }))
	c.AddCommand(begin().simple(program, "resume", "Resume the rollout of template changes",
		"resume sets spec.paused to false.",
		func(_ time.Time, d steer.Deployment, _ trial) (steer.Change, error) { return steer.Resume(d) }))
	c.AddCommand(begin().simple(program, "restart", "Replace all machines of the current template, according to the strategy",
		`restart writes the annotation kubectl.kubernetes.io/restartedAt into the template, so
that the controllers of Millwright and of the original both start a rollout. If
annotations of machines start a rollout, it writes there. Otherwise it writes into
metadata.annotations of the provider's spec, which every provider has and no provider reads.`,
		func(now time.Time, d steer.Deployment, try trial) (steer.Change, error) {
			return steer.Restart(now, d, try)
		}))
	return c
}

// trial returns the deployment with a patch applied in memory.
type trial = func(patch map[string]any) (steer.Deployment, error)

// simple returns a command that applies one change and has no flags of its own.
func (r *steering) simple(program, verb, short, long string, decide func(time.Time, steer.Deployment, trial) (steer.Change, error)) *cobra.Command {
	c := r.command(program, verb, short, long, "machinedeployment/mill -n shoot--blue", func(ctx context.Context, k client.Client, d survey.Deployed) error {
		change, err := decide(r.clock.Now(), d.Steered(r.clock.Now()), func(patch map[string]any) (steer.Deployment, error) {
			raw, err := json.Marshal(patch)
			if err != nil {
				return steer.Deployment{}, err
			}
			after, err := d.With(raw)
			return after.Steered(r.clock.Now()), err
		})
		if err != nil {
			return err
		}
		if err := write(ctx, k, d.Object, change, ""); err != nil {
			return err
		}
		return r.say("%s %s", titled(d.Object), change.Done)
	})
	return c
}

// command returns a command that calls do for each selected deployment.
func (r *steering) command(program, verb, short, long, example string, do func(context.Context, client.Client, survey.Deployed) error) *cobra.Command {
	c := &cobra.Command{
		Use:               verb + " (machinedeployment/<name>... | machinedeployment -l <selector> | -f <file>)",
		Short:             short,
		Long:              long,
		Example:           "  " + program + " rollout " + verb + " " + example,
		ValidArgsFunction: r.complete,
		RunE: func(c *cobra.Command, args []string) error {
			k, home, err := r.connect()
			if err != nil {
				return err
			}
			found, failed := r.chosen(c.Context(), k, home, args)
			if len(found) == 0 && len(failed) == 0 { // kubectl does not fail in this case
				_, err = fmt.Fprintf(r.ErrOut, "No resources found in %s namespace.\n", r.place(home))
				return err
			}
			for _, o := range found {
				failed = append(failed, r.about(c.Context(), k, o, do))
			}
			return errors.Join(failed...)
		},
	}
	r.config.AddFlags(c.Flags())
	r.choice.addFlags(c)
	c.Flags().StringVar(&r.api, "api", "", strings.Join(apis.Words(), " or ")+"; empty for all")
	r.completeFlags(c)
	return c
}

// questions parses "md/a md/b" and "md a b". It fails if a kind is not a machine deployment.
func (r *steering) questions(args []string) (out []collect.Question, err error) {
	if len(args) == 0 {
		return nil, errors.New("no machine deployment: use for example machinedeployment/mill")
	}
	if kind := args[0]; !strings.Contains(kind, "/") && len(args) > 1 {
		args = args[1:]
		for i, name := range args {
			if strings.Contains(name, "/") {
				return nil, fmt.Errorf("%q: do not repeat the kind after %q", name, kind)
			}
			args[i] = kind + "/" + name
		}
	}
	for _, arg := range args {
		q, err := r.question([]string{arg})
		if err != nil {
			return nil, err
		}
		if q.Kind != deploymentKind {
			return nil, fmt.Errorf("%q: a %s has no rollouts: use machinedeployment/<name>", arg, strings.ToLower(q.Kind))
		}
		out = append(out, q)
	}
	return out, nil
}

// about reads the sets of the deployment o and calls do. Each error except ErrReported begins with the name of the
// deployment.
func (r *steering) about(ctx context.Context, k client.Client, o client.Object, do func(context.Context, client.Client, survey.Deployed) error) error {
	d, err := survey.Sets(ctx, k, o)
	if err == nil {
		err = do(ctx, k, d)
	}
	if err != nil && !errors.Is(err, ErrReported) {
		return fmt.Errorf("%s %w", titled(o), err)
	}
	return err
}

// lookUp returns the deployment that q names. If q has no namespace, lookUp searches the namespace of -n, or home
// without -n. It fails if both APIs have a deployment with this name.
func (r *steering) lookUp(ctx context.Context, k client.Client, home string, q collect.Question) (client.Object, error) {
	if q.Namespace == "" {
		q.Namespace = r.place(home)
	}
	found, gaps, err := collect.Find(ctx, r.clock.Now(), collect.Clusters{Control: k, Target: k}, q)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var all []string
		for _, o := range found {
			all = append(all, titled(o))
		}
		return nil, fmt.Errorf("machinedeployment/%s matches several objects: use %s", q.Name, strings.Join(all, " or "))
	case len(gaps) > 0:
		return nil, fmt.Errorf("cannot read machinedeployment/%s: %s", q.Name, strings.Join(gaps, "; "))
	}
	return nil, fmt.Errorf("machinedeployment/%s not found in namespace %s%s", q.Name, q.Namespace, elsewhere(ctx, r.clock.Now(), k, q))
}

// elsewhere returns a hint with the namespaces that have a deployment with this name. It returns "" if no other
// namespace has one, or if the user may not read them.
func elsewhere(ctx context.Context, now time.Time, k client.Client, q collect.Question) string {
	home := q.Namespace
	q.Namespace, q.Home = "", home
	found, _, err := collect.Find(ctx, now, collect.Clusters{Control: k, Target: k}, q)
	if err != nil || len(found) == 0 {
		return ""
	}
	var all []string
	for _, o := range found {
		all = append(all, "-n "+o.GetNamespace())
	}
	return ": did you mean " + strings.Join(all, " or ") + "?"
}

// titled returns the name of an object as kubectl prints it after a change:
// machinedeployment.machine.sapcloud.io/mill.
func titled(o client.Object) string {
	api, kind := apis.KindOf(o)
	return strings.ToLower(kind) + "." + api + "/" + o.GetName()
}

// write sends the patch of a change to the API server. dry is the value of --dry-run; for "client", write sends
// nothing.
func write(ctx context.Context, k client.Client, o client.Object, change steer.Change, dry string) error {
	if change.Patch == nil || dry == dryClient {
		return nil
	}
	raw, err := json.Marshal(change.Patch)
	if err != nil {
		return err
	}
	var options []client.PatchOption
	if dry == dryServer {
		options = append(options, client.DryRunAll)
	}
	if err := k.Patch(ctx, o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, raw), options...); err != nil {
		return fmt.Errorf("was not changed: %w", err)
	}
	return nil
}

func (r *steering) say(format string, args ...any) error {
	_, err := fmt.Fprintf(r.Out, format+"\n", args...)
	return err
}

// client returns a client that can write, and the namespace of the context.
func (r *steering) client() (client.Client, string, error) {
	read, home, err := r.clusters()
	if err != nil {
		return nil, home, err
	}
	c, ok := read.Control.(client.Client)
	if !ok {
		return nil, home, errors.New("the connection is read-only")
	}
	return c, home, nil
}
