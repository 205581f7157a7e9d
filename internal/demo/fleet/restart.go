package fleet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A controller that has ended is started again as a kubelet does it with a
// container: at once the first time, then after firstWait, twice as long each time, up
// to mostWait. Who ran for longer than wellFor begins anew.
const (
	firstWait = 10 * time.Second
	mostWait  = 5 * time.Minute
	wellFor   = 10 * time.Minute
)

// comeback is what is known of the ends of a controller and of those before it.
type comeback struct {
	// since is when it was started, wait how long it waits when it ends next.
	since time.Time
	wait  time.Duration
	// due is when it is started again; zero: its end was not noticed.
	due time.Time
}

// ended says when a controller is started again that has ended by now.
func (c comeback) ended(now time.Time) comeback {
	if now.Sub(c.since) > wellFor {
		c.wait = 0
	}
	c.due = now.Add(c.wait)
	c.wait = min(max(2*c.wait, firstWait), mostWait)
	return c
}

// Revive starts controllers again that have ended, once they are due, and says so
// in one line each. It is called now and then by the process that started the
// fleet, and does nothing while another one takes the fleet down.
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
			lines = append(lines, fmt.Sprintf("%s cannot be started again, which is tried once more %s: %v", c.Program, in(c.comeback.due.Sub(now)), err))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s was started again as process %d", again.Program, again.PID))
	}
	return lines
}

// again restarts the n-th controller. A controller that starts during `down`
// ends at once: `down` may not know of it.
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
		err = errors.Join(err, errors.New("the fleet is being taken down"))
	}
	if err != nil {
		f.Controllers[n] = before
		return nil, errors.Join(err, c.Signal(syscall.SIGKILL))
	}
	return c, nil
}

// how says how the controller ended, where this process can know.
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
