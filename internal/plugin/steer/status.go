package steer

import (
	"fmt"

	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Progress is the progress of a rollout, as text for users.
type Progress struct {
	// Done means that all machines have the current template and are available.
	Done bool
	// Text is one line about the progress. Why is the message of the deployment about its progress, or "".
	Text, Why string
}

// Status judges a rollout as `kubectl rollout status` does. It fails if the rollout is late, has stopped, or cannot
// complete without a change by the user. It also fails if revision is positive and is not the current revision.
func Status(d Deployment, revision int64) (Progress, error) {
	p := d.Last.Progress
	switch err := d.leaving(); {
	case err != nil:
		return Progress{}, err
	case len(d.Faults) > 0:
		return Progress{}, fmt.Errorf("cannot roll out: %s", d.Faults[0])
	case d.Observed < d.Generation:
		return Progress{Text: fmt.Sprintf("Waiting for machinedeployment %q spec update to be observed...", d.Name)}, nil
	case d.RollbackTo != nil:
		return d.goingBack(), nil
	case revision > 0 && revision != d.Revision:
		return Progress{}, fmt.Errorf("runs revision %d, and not the desired revision %d", d.Revision, revision)
	case p.Reason == rollout.DeadlineExceeded:
		return Progress{}, fmt.Errorf("exceeded its progress deadline: %s", p.Message)
	case p.Reason == rollout.Stopped:
		return Progress{}, fmt.Errorf("has stopped its rollout: %s", p.Message)
	}
	if missing := d.missing(); missing != "" {
		out := Progress{Text: fmt.Sprintf("Waiting for machinedeployment %q rollout to finish: %s...", d.Name, missing), Why: p.Message}
		if d.Paused {
			out.Text, out.Why = out.Text+" It is paused.", ""
		}
		return out, nil
	}
	return Progress{Done: true, Text: fmt.Sprintf("machinedeployment %q successfully rolled out", d.Name)}, nil
}

func (d Deployment) goingBack() Progress {
	to := "the revision before"
	if n := *d.RollbackTo; n > 0 {
		to = fmt.Sprintf("revision %d", n)
	}
	out := Progress{Text: fmt.Sprintf("Waiting for machinedeployment %q to go back to %s...", d.Name, to)}
	if d.Paused {
		out.Text += " It is paused."
	}
	return out
}

// missing describes the remaining work. It returns "" if no work remains.
func (d Deployment) missing() string {
	last := d.Last
	switch {
	case last.Updated < d.Replicas:
		return fmt.Sprintf("%d out of %d new machines have been updated", last.Updated, d.Replicas)
	case last.Old > 0:
		return pending(last.Old, "old machine", "old machines")
	case last.Updated > d.Replicas:
		return pending(last.Updated-d.Replicas, "machine too many", "machines too many")
	case last.Available < last.Updated:
		return fmt.Sprintf("%d of %d updated machines are available", last.Available, last.Updated)
	}
	return ""
}

func pending(n int, one, several string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s is pending termination", one)
	}
	return fmt.Sprintf("%d %s are pending termination", n, several)
}
