package proc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func start(t *testing.T, script string, detach bool) *Process {
	t.Helper()
	process, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log"), Detach: detach})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Signal(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	return process
}

func TestStop(t *testing.T) {
	cases := []struct {
		reason string
		script string
		signal syscall.Signal
	}{
		{"a program that honours SIGTERM is not killed", "exec sleep 60", syscall.SIGTERM},
		{"a program that ignores SIGTERM is killed after the grace period", "trap '' TERM; while :; do sleep 0.05; done", syscall.SIGKILL},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			process := start(t, c.script, true)
			time.Sleep(100 * time.Millisecond) // the shell sets its trap
			if !process.Alive() {
				t.Fatal("started process is not alive")
			}
			if err := process.Stop(context.Background(), 300*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			<-process.Done()
			exit := &exec.ExitError{}
			if !errors.As(process.Err(), &exit) {
				t.Fatalf("ended with %v, want a signal", process.Err())
			}
			if got := exit.Sys().(syscall.WaitStatus).Signal(); got != c.signal {
				t.Errorf("ended by %v, want %v", got, c.signal)
			}
			if process.Alive() {
				t.Error("still alive after Stop")
			}
		})
	}
}

// Stop must not signal another program that has got the PID meanwhile.
func TestForeignProcessIsLeftAlone(t *testing.T) {
	process := start(t, "exec sleep 60", true)
	foreign := ID{PID: process.PID, Started: process.Started + "0"}
	if foreign.Alive() {
		t.Fatal("a process with another start time counts as alive")
	}
	if err := foreign.Stop(context.Background(), time.Second); err != nil {
		t.Fatal(err)
	}
	if !process.Alive() {
		t.Fatal("the foreign process was signalled")
	}
}

func TestIdentify(t *testing.T) {
	id, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !id.Alive() {
		t.Error("this process is not alive")
	}
	if _, err := Identify(1 << 30); err == nil {
		t.Error("a process that cannot exist was identified")
	}
}

func TestStartReportsWhatIsMissing(t *testing.T) {
	_, err := Start(Spec{Path: "/nonexistent/program", Log: filepath.Join(t.TempDir(), "log")})
	if err == nil || !strings.Contains(err.Error(), "/nonexistent/program") {
		t.Errorf("error %v does not name the program", err)
	}
}
