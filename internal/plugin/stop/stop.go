// Package stop has the commands that stop all voluntary disruptions of machines, and allow them again.
package stop

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/plugin/budgets"
	"github.com/millwright-dev/millwright/internal/plugin/connect"
)

// command has the state of the command stop or resume.
type command struct {
	genericiooptions.IOStreams
	config *genericclioptions.ConfigFlags
	// program is the name of the program for users.
	program string
	message string
	connect func() (client.Client, error)
	now     func() time.Time
}

func newCommand(program string, streams genericiooptions.IOStreams) *command {
	c := &command{IOStreams: streams, config: genericclioptions.NewConfigFlags(true), program: program, now: time.Now}
	c.connect = func() (client.Client, error) {
		server, err := connect.Config(c.config)
		if err != nil {
			return nil, fmt.Errorf("connect to the cluster: %w", err)
		}
		scheme := runtime.NewScheme()
		if err := v1alpha1.AddToScheme(scheme); err != nil {
			return nil, err
		}
		return client.New(server, client.Options{Scheme: scheme})
	}
	return c
}

// Stop returns the command that stops all voluntary disruptions of machines. program is the name of the program for
// users.
func Stop(program string, streams genericiooptions.IOStreams) *cobra.Command {
	s := newCommand(program, streams)
	c := &cobra.Command{
		Use:   "stop",
		Short: "Stop all voluntary disruptions of machines: no drain, update in place or reboot begins",
		Long: `stop creates the MachineDisruptionBudget emergency-stop, which selects all machines of
both APIs and is paused. From then on no controller begins to drain, update or reboot a
machine, for any cause: rollouts, health checks, scale-downs and deletions by users wait.
Disruptions that have begun continue. Forced deletions, and instances whose end the cloud
has announced, do not wait. '` + program + ` resume' ends the stop.`,
		Example: "  " + program + ` stop --message "storage is down, see incident 4711"`,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return s.stop(c.Context()) },
	}
	s.config.AddFlags(c.Flags())
	c.Flags().StringVarP(&s.message, "message", "m", "", "why; it is shown on machines that wait")
	return c
}

// Resume returns the command that ends the stop. program is the name of the program for users.
func Resume(program string, streams genericiooptions.IOStreams) *cobra.Command {
	s := newCommand(program, streams)
	c := &cobra.Command{
		Use:     "resume",
		Short:   "End the stop of all voluntary disruptions",
		Long:    "resume deletes the MachineDisruptionBudget emergency-stop. Other budgets still hold.",
		Example: "  " + program + " resume",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return s.resume(c.Context()) },
	}
	s.config.AddFlags(c.Flags())
	return c
}

// stop creates the budget, or updates the existing budget.
func (s *command) stop(ctx context.Context) error {
	c, err := s.connect()
	if err != nil {
		return err
	}
	err = c.Create(ctx, disruption.NewStop(s.message))
	if apierrors.IsAlreadyExists(err) {
		err = s.stopAgain(ctx, c)
	}
	if err != nil {
		return unserved(fmt.Errorf("create the disruption budget %s: %w", disruption.EmergencyStop, err))
	}
	return s.say("machinedisruptionbudget/%s: no voluntary disruption of machines begins until you run '%s resume'", disruption.EmergencyStop, s.program)
}

// stopAgain updates the existing budget: it pauses the budget and selects all machines.
func (s *command) stopAgain(ctx context.Context, c client.Client) error {
	b := &v1alpha1.MachineDisruptionBudget{}
	if err := c.Get(ctx, client.ObjectKey{Name: disruption.EmergencyStop}, b); err != nil {
		return err
	}
	before := b.DeepCopy()
	b.Spec.Paused, b.Spec.Selector = true, metav1.LabelSelector{}
	if s.message != "" {
		b.Spec.Message = s.message
	}
	return c.Patch(ctx, b, client.MergeFrom(before))
}

// resume deletes the budget and prints its age.
func (s *command) resume(ctx context.Context) error {
	c, err := s.connect()
	if err != nil {
		return err
	}
	b := &v1alpha1.MachineDisruptionBudget{}
	err = c.Get(ctx, client.ObjectKey{Name: disruption.EmergencyStop}, b)
	if err == nil {
		err = c.Delete(ctx, b)
	}
	if apierrors.IsNotFound(err) {
		return s.say("machinedisruptionbudget/%s does not exist: voluntary disruptions are not stopped", disruption.EmergencyStop)
	}
	if err != nil {
		return unserved(fmt.Errorf("delete the disruption budget %s: %w", disruption.EmergencyStop, err))
	}
	return s.say("machinedisruptionbudget/%s deleted after %s", disruption.EmergencyStop, s.now().Sub(b.CreationTimestamp.Time).Round(time.Second))
}

func (s *command) say(format string, args ...any) error {
	_, err := fmt.Fprintf(s.Out, format+"\n", args...)
	return err
}

// unserved returns an error with a remedy if err means that the cluster does not serve disruption budgets.
func unserved(err error) error {
	if meta.IsNoMatchError(err) {
		return budgets.ErrNotInstalled
	}
	return err
}
