package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
)

// command has the flags of `kubectl machine migrate`.
type command struct {
	genericiooptions.IOStreams
	config  *genericclioptions.ConfigFlags
	to      string
	dryRun  bool
	timeout time.Duration
	connect func() (client.Client, error)
}

// Command returns the command that moves a set to the other API. program is the name of the program for users.
func Command(program string, streams genericiooptions.IOStreams) *cobra.Command {
	m := &command{IOStreams: streams, config: genericclioptions.NewConfigFlags(true)}
	m.connect = func() (client.Client, error) {
		server, err := connect.Config(m.config)
		if err != nil {
			return nil, fmt.Errorf("connect to the cluster: %w", err)
		}
		return client.New(server, client.Options{Scheme: connect.Scheme()})
	}
	c := &cobra.Command{
		Use:   "migrate machineset/NAME --to API",
		Short: "Move a machine set and its machines to the other API, while their instances run",
		Long: `migrate moves a MachineSet and its Machines between machine.openshift.io and
machine.sapcloud.io, within their namespace. Instances and nodes stay: no machine is
drained, created or replaced at the infrastructure. One Machine is moved at a time.

With --dry-run, the command only prints what it would do. If it is interrupted, the same
command continues where it stopped. The same command with the other API moves the set
back, also from the middle of a migration.`,
		Example: `  # what would be done
  ` + program + ` migrate machineset/worker-a --to machine.sapcloud.io --dry-run
  # move the set
  ` + program + ` migrate machineset/worker-a --to machine.sapcloud.io
  # and back
  ` + program + ` migrate machineset/worker-a --to machine.openshift.io`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return m.run(c.Context(), args[0]) },
	}
	m.config.AddFlags(c.Flags())
	f := c.Flags()
	f.StringVar(&m.to, "to", "", "the API to move to: "+strings.Join(apis.Words(), " or "))
	f.BoolVar(&m.dryRun, "dry-run", false, "only print what would be done")
	f.DurationVar(&m.timeout, "wait", 10*time.Minute, "how long to wait for the controllers in one step")
	_ = c.MarkFlagRequired("to")
	return c
}

// newMigration returns the migration that the command line names.
func (m *command) newMigration(target string) (*Migration, error) {
	kind, name, ok := strings.Cut(target, "/")
	if kind, _, _ = strings.Cut(kind, "."); !ok || name == "" || strings.TrimSuffix(strings.ToLower(kind), "s") != "machineset" {
		return nil, fmt.Errorf("%q: want machineset/NAME", target)
	}
	api, known := apis.Of(m.to)
	if !known {
		return nil, fmt.Errorf("--to: unknown API %q: use %s", m.to, strings.Join(apis.Words(), " or "))
	}
	namespace, _, err := m.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("read the namespace of the context: %w", err)
	}
	c, err := m.connect()
	if err != nil {
		return nil, err
	}
	to := halves[api.Name]
	return &Migration{client: c, key: client.ObjectKey{Namespace: namespace, Name: name}, from: other(to), to: to}, nil
}

func (m *command) run(ctx context.Context, target string) error {
	g, err := m.newMigration(target)
	if err != nil {
		return err
	}
	s, err := g.read(ctx)
	if err != nil {
		return err
	}
	if err := g.check(s); err != nil {
		return err
	}
	if m.dryRun {
		return m.preview(g, s)
	}
	return m.migrate(ctx, g)
}

// check returns an error if the migration cannot begin or continue.
func (g *Migration) check(s snapshot) error {
	switch {
	case s.source == nil && s.target == nil && len(s.Pairs) == 0:
		return fmt.Errorf("namespace %s has no machineset %s", g.key.Namespace, g.key.Name)
	case s.source != nil:
		if err := checkOwner(s.source); err != nil {
			return err
		}
	}
	if err := checkOwner(s.target); err != nil {
		return err
	}
	if found := Obstacles(s.State); len(found) > 0 {
		return fmt.Errorf("%s cannot be migrated:\n  %s", g.key, strings.Join(found, "\n  "))
	}
	return nil
}

// migrate performs steps until none is left.
func (m *command) migrate(ctx context.Context, g *Migration) error {
	waits, since := "", time.Now()
	for {
		s, err := g.read(ctx)
		if err != nil {
			return err
		}
		step := Decide(s.State)
		switch step.Action {
		case Done:
			_, err = fmt.Fprintf(m.Out, "machineset %s is in %s.\n", g.key, g.to.api().Name)
			return err
		case Wait:
			if text := step.Machine + step.Why; text != waits {
				waits, since = text, time.Now()
			}
			if time.Since(since) > m.timeout {
				return fmt.Errorf("%swaited %s: %s. To continue, run the command again", prefix(step), m.timeout, step.Why)
			}
			if err := pause(ctx); err != nil {
				return err
			}
			continue
		}
		if err := g.check(s); err != nil {
			return err
		}
		switch err := g.perform(ctx, s, step); {
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // another program has changed the object: read again
			if err := pause(ctx); err != nil {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("%s%s: %w", prefix(step), g.describe(step), err)
		}
		if _, err := fmt.Fprintf(m.Out, "%s%s: %s\n", prefix(step), g.describe(step), step.Why); err != nil {
			return err
		}
	}
}

func prefix(step Step) string {
	if step.Machine == "" {
		return ""
	}
	return "machine " + step.Machine + ": "
}

// describe returns an action for users.
func (g *Migration) describe(step Step) string {
	from, to := g.from.api().Name, g.to.api().Name
	return map[Action]string{
		CreateClass: "create the machine class in " + to, CreateSet: "create the machine set in " + to,
		HoldSource: "forbid the machine set in " + from + " to create machines", MarkSource: "mark the Machine in " + from,
		CreateMachine: "create the Machine in " + to, UnmarkTarget: "remove the mark from the Machine in " + to,
		DeleteSource: "delete the Machine in " + from, ReleaseTarget: "allow the machine set in " + to + " to create machines",
		DeleteSet: "delete the machine set in " + from, Wait: "wait",
	}[step.Action]
}

// pause waits until the objects are read again.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return errors.Join(errors.New("interrupted: to continue, run the command again"), ctx.Err())
	case <-time.After(500 * time.Millisecond):
		return nil
	}
}

// preview prints the steps, as if the controllers acted at once.
func (m *command) preview(g *Migration, s snapshot) error {
	var out strings.Builder
	for _, lost := range s.pool.Lost {
		fmt.Fprintf(&out, "not moved: %s\n", lost)
	}
	for {
		step := Decide(s.State)
		if step.Action == Done {
			break
		}
		if step.Action != Wait {
			fmt.Fprintf(&out, "%s%s\n", prefix(step), g.describe(step))
		}
		simulate(&s.State, step)
	}
	_, err := m.Out.Write([]byte(out.String()))
	return err
}

// simulate changes the facts as the step, or the awaited controllers, would.
func simulate(s *State, step Step) {
	switch step.Action {
	case CreateClass:
		s.Class = true
	case CreateSet:
		s.Target = &Set{Replicas: s.Source.Replicas, Held: true}
	case HoldSource:
		s.Source.Held = true
	case ReleaseTarget:
		s.Target.Held = false
	case DeleteSet:
		s.Source = nil
	case Wait:
		settle(s)
	default:
		for i := range s.Pairs {
			if p := &s.Pairs[i]; p.Name == step.Machine {
				simulateMachine(p, step.Action)
			}
		}
	}
}

func simulateMachine(p *Pair, a Action) {
	switch a {
	case MarkSource:
		p.Source.Moved = true
	case CreateMachine:
		p.Target = &Machine{ProviderID: p.Source.ProviderID}
	case UnmarkTarget:
		p.Target.Moved = false
	case DeleteSource:
		p.Source.Deleting = true
	}
}

// settle changes the facts as the controllers would.
func settle(s *State) {
	for i := range s.Pairs {
		p := &s.Pairs[i]
		if p.Target != nil && p.Target.Deleting {
			p.Target = nil
		}
		if p.Target != nil && !p.Target.Moved {
			p.Target.Running, p.Target.Recorded = true, true
		}
		if p.Source != nil && p.Source.Deleting {
			p.Source = nil
		}
	}
	if s.Source != nil && s.Source.Deleting {
		s.Source = nil
	}
	if s.Target != nil {
		s.Target.Observed = s.migrated()
	}
}
