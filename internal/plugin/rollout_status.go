package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/plugin/steer"
	"github.com/millwright-dev/millwright/internal/plugin/survey"
)

const (
	// lookAgain is the pause between two reads of a deployment.
	lookAgain = time.Second
	// standsStill is the time without progress after which status prints the message of the deployment.
	standsStill = 20 * time.Second
)

// watching has the flags of status.
type watching struct {
	watch    bool
	timeout  time.Duration
	revision int64
}

func statusCommand(program string, r *steering) *cobra.Command {
	w := watching{}
	c := r.command(program, "status", "Show the progress of a rollout, and wait for its end",
		`status shows the progress of the rollout, and waits until all machines have the current
template and are available. Then the exit code is 0. The exit code is 1 if the
rollout is late (spec.progressDeadlineSeconds), has stopped or cannot continue, after
--timeout, and if the current revision is not that of --revision.`,
		"machinedeployment/mill --timeout=10m", func(ctx context.Context, k client.Client, d survey.Deployed) error {
			return r.status(ctx, k, d, w)
		})
	c.Flags().BoolVarP(&w.watch, "watch", "w", true, "watch the rollout until it is complete")
	c.Flags().DurationVar(&w.timeout, "timeout", 0, "how long to wait before the watch ends, such as 1s, 2m or 3h; 0 for no limit")
	c.Flags().Int64Var(&w.revision, "revision", 0, "fail if the deployment has, or changes to, another revision; 0 for the latest")
	return c
}

func (r *steering) status(ctx context.Context, k client.Client, d survey.Deployed, w watching) error {
	switch {
	case w.revision < 0:
		return fmt.Errorf("has no revision %d: --revision must not be negative", w.revision)
	case w.timeout < 0:
		return fmt.Errorf("cannot be watched: --timeout must not be negative: %s", w.timeout)
	}
	t := telling{steering: r, since: r.clock.Now()}
	begun := r.clock.Now()
	for {
		now := r.clock.Now()
		p, err := steer.Status(d.Steered(now), w.revision)
		if err != nil {
			return err
		}
		if err := t.tell(now, p); err != nil {
			return err
		}
		if p.Done || !w.watch {
			return nil
		}
		if w.timeout > 0 && now.Sub(begun) >= w.timeout {
			return fmt.Errorf("was not rolled out within %s: timed out waiting for the condition%s", w.timeout, because(p))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.clock.After(lookAgain):
		}
		if d, err = again(ctx, k, d); err != nil {
			return err
		}
	}
}

func because(p steer.Progress) string {
	if p.Why == "" {
		return ""
	}
	return "; it says: " + p.Why
}

// again reads the deployment and its sets. It fails if the deployment has been deleted, even if a new deployment has
// the same name.
func again(ctx context.Context, k client.Client, d survey.Deployed) (survey.Deployed, error) {
	o, uid := d.Object.DeepCopyObject().(client.Object), d.Object.GetUID()
	err := k.Get(ctx, client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) || err == nil && o.GetUID() != uid {
		return d, errors.New("has been deleted")
	}
	if err != nil {
		return d, err
	}
	return survey.Sets(ctx, k, o)
}

// telling prints the progress of a rollout, and skips lines that it has already printed.
type telling struct {
	*steering
	text, why string
	since     time.Time
}

// tell prints p.Text when it changes. If p.Text has not changed for standsStill, tell prints p.Why once.
func (t *telling) tell(now time.Time, p steer.Progress) error {
	if p.Text != t.text {
		t.text, t.since = p.Text, now
		return t.say("%s", p.Text)
	}
	if p.Why == "" || p.Why == t.why || now.Sub(t.since) < standsStill {
		return nil
	}
	t.why = p.Why
	return t.say("  it says: %s", p.Why)
}
