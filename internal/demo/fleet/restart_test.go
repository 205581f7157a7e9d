package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestComeback: how long a controller that has ended waits for its restart.
func TestComeback(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	var c comeback
	c.since = now
	for n, end := range []struct {
		reason    string
		ran, want time.Duration
	}{
		{"the first time at once", time.Minute, 0},
		{"then later", time.Second, 10 * time.Second},
		{"and later", time.Second, 20 * time.Second},
		{"and later", 10 * time.Minute, 40 * time.Second},
		{"and later", time.Second, 80 * time.Second},
		{"and later", time.Second, 160 * time.Second},
		{"up to five minutes", time.Second, 5 * time.Minute},
		{"and no later", time.Second, 5 * time.Minute},
		{"one that was well for long begins anew", 11 * time.Minute, 0},
		{"one that was not, does not", time.Second, 10 * time.Second},
	} {
		now = now.Add(end.ran)
		c = c.ended(now)
		if got := c.due.Sub(now); got != end.want {
			t.Errorf("end %d, %s: waits %s, want %s", n, end.reason, got, end.want)
		}
		now = c.due
		c.since, c.due = now, time.Time{}
	}
}

// aFleet is a fleet whose set controller is a script.
func aFleet(t *testing.T, script string) *Fleet {
	t.Helper()
	f := &Fleet{Dir: t.TempDir(), Started: time.Now(), options: Options{Bin: t.TempDir()}}
	program(t, f, script)
	if _, err := f.StartController(Sets); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range f.Controllers {
			if err := c.Signal(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			<-c.Done()
		}
	})
	return f
}

func program(t *testing.T, f *Fleet, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.options.Bin, Sets), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// said fails unless there are as many lines as wanted parts, and each line has its part.
func said(t *testing.T, lines []string, want ...string) {
	t.Helper()
	if len(lines) != len(want) {
		t.Fatalf("%q, want %d lines", lines, len(want))
	}
	for n, part := range want {
		if !strings.Contains(lines[n], part) {
			t.Errorf("%q, want %q in it", lines[n], part)
		}
	}
}

// began waits until n processes have written to the log that they began.
func began(t *testing.T, log string, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		raw, err := os.ReadFile(log)
		if err == nil && strings.Count(string(raw), "began --target-kubeconfig=") == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the log does not have %d beginnings, %v:\n%s", n, err, raw)
		}
	}
}

// TestControllersAreStartedAgain: a controller that ended is started again, and the fleet records
// its new process.
func TestControllersAreStartedAgain(t *testing.T) {
	f := aFleet(t, "echo \"began $1\"; exec sleep 1000")
	now := time.Now()
	said(t, f.Revive(now))
	first := f.Controllers[0]
	began(t, first.Log, 1)
	if err := first.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-first.Done()
	said(t, f.Revive(now), "ended (signal: terminated), and is started again at once; its log is "+first.Log, "was started again as process")
	second := f.Controllers[0]
	if second.PID == first.PID || !second.Alive() {
		t.Fatalf("process %d, which ended, is followed by %d, alive: %v", first.PID, second.PID, second.Alive())
	}
	if s, err := load(f.Dir); err != nil || len(s.Controllers) != 1 || s.Controllers[0].ID != second.ID {
		t.Errorf("%+v, %v: `down` does not know the process", s.Controllers, err)
	}

	began(t, first.Log, 2)

	// It ends again while its program is missing because it is being built.
	if err := second.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-second.Done()
	said(t, f.Revive(now), "started again in 10s")
	said(t, f.Revive(now.Add(9*time.Second)))
	if err := os.Remove(filepath.Join(f.options.Bin, Sets)); err != nil {
		t.Fatal(err)
	}
	said(t, f.Revive(now.Add(10*time.Second)), "cannot be started again, the next attempt is in 20s: the program machine-controller-manager is not in")
	program(t, f, "exit 0")
	said(t, f.Revive(now.Add(29*time.Second)))
	said(t, f.Revive(now.Add(30*time.Second)), "was started again as process")
	<-f.Controllers[0].Done()
	said(t, f.Revive(now.Add(40*time.Second)), "machine-controller-manager ended, and is started again in 40s")
}

// TestNothingStartsWhereAFleetIsTakenDown: no controller starts during `down`, because nothing would end it.
func TestNothingStartsWhereAFleetIsTakenDown(t *testing.T) {
	for _, test := range []struct {
		reason string
		down   func(*Fleet) error
	}{
		{"somebody is about to end the others", func(f *Fleet) error { return leave(f.Dir) }},
		{"it is gone", func(f *Fleet) error { return os.RemoveAll(f.Dir) }},
	} {
		t.Run(test.reason, func(t *testing.T) {
			f := aFleet(t, "exit 1")
			ended := f.Controllers[0]
			<-ended.Done()
			if err := test.down(f); err != nil {
				t.Fatal(err)
			}
			said(t, f.Revive(time.Now()))
			// It began to start while this process was about to start one.
			if c, err := f.again(0, time.Now()); err == nil {
				t.Errorf("process %d was started", c.PID)
			}
			if f.Controllers[0] != ended {
				t.Error("the fleet has another controller")
			}
		})
	}
}
