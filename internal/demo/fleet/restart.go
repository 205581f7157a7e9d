package fleet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A controller that has ended is started again, like a container by the kubelet:
// at once the first time, then after firstWait, which doubles each time up to
// mostWait. If it ran for longer than wellFor, the waits begin again.
const (
	firstWait = 10 * time.Second
	mostWait  = 5 * time.Minute
	wellFor   = 10 * time.Minute
)

// comeback describes the ends of a controller so far.
type comeback struct {
	// since is the time of its last start, wait is how long it will wait after its next end.
	since time.Time
	wait  time.Duration
	// due is the time of its next start; zero: its end was not noticed yet.
	due time.Time
}

// ended says when a controller that has ended at `now` is started again.
func (c comeback) ended(now time.Time) comeback {
	if now.Sub(c.since) > wellFor {
		c.wait = 0
	}
	c.due = now.Add(c.wait)
	c.wait = min(max(2*c.wait, firstWait), mostWait)
	return c
}

// Revive starts controllers again that have ended, when their wait is over, and returns
// one line about each. The process that started the fleet calls it periodically.
// Revive does nothing while another process runs `down`.
func (f *Fleet) Revive(now time.Time) (lines []string) {
	for n, c := range f.Controllers {
		if c.Alive() || leaving(f.Dir) {
			continue
		}
		if c.comeback.due.IsZero() {
			c.comeback = c.comeback.ended(now)
			lines = append(lines, fmt.Sprintf("%s ended%s, and is started again %s; its log is %s", c.Program, c.how(), in(c.comeback.due.Sub(now)), c.Log))
		}
		if now.Before(c.comeback.due) {
			continue
		}
		again, err := f.again(n, now)
		if err != nil {
			c.comeback.since = now
			c.comeback = c.comeback.ended(now)
			lines = append(lines, fmt.Sprintf("%s cannot be started again, the next attempt is %s: %v", c.Program, in(c.comeback.due.Sub(now)), err))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s was started again as process %d", again.Program, again.PID))
	}
	return lines
}

// again restarts the n-th controller. A controller that starts during `down`
// ends at once, because `down` may not know it.
func (f *Fleet) again(n int, now time.Time) (*Controller, error) {
	before := f.Controllers[n]
	c, err := f.launch(before.Program, before.Metrics)
	if err != nil {
		return nil, err
	}
	c.comeback = comeback{since: now, wait: before.comeback.wait}
	f.Controllers[n] = c
	err = f.save()
	if leaving(f.Dir) {
		err = errors.Join(err, errors.New("the fleet is being removed by `down`"))
	}
	if err != nil {
		f.Controllers[n] = before
		return nil, errors.Join(err, c.Signal(syscall.SIGKILL))
	}
	return c, nil
}

// how says how the controller ended, if this process can know.
func (c *Controller) how() string {
	if c.process == nil {
		return ""
	}
	<-c.process.Done()
	if c.process.Err() == nil {
		return ""
	}
	return " (" + c.process.Err().Error() + ")"
}

func in(d time.Duration) string {
	if d <= 0 {
		return "at once"
	}
	return "in " + d.String()
}

// leave records in the folder of a fleet that `down` is in progress: no process may start
// a program there.
func leave(dir string) error {
	if err := os.WriteFile(leavingPath(dir), nil, 0o600); err != nil {
		return fmt.Errorf("say that the fleet is taken down: %w", err)
	}
	return nil
}

// leaving reports whether `down` is in progress, or the fleet does not exist.
func leaving(dir string) bool {
	if !Left(dir) {
		return true
	}
	_, err := os.Stat(leavingPath(dir))
	return err == nil
}

func leavingPath(dir string) string { return filepath.Join(dir, "leaving") }
