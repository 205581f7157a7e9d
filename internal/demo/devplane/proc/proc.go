// Package proc starts processes, which may outlive their starter, and finds them again. It identifies a process by its ID and
// its start time, so that it never signals another program that got the same ID later.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// pollInterval is how often Stop checks whether a process has ended.
const pollInterval = 20 * time.Millisecond

// killPatience is how long a process may take to end after SIGKILL: this time depends on the kernel, not on the program.
const killPatience = 5 * time.Second

// ID identifies one process of this machine permanently, even if another process gets its PID or the machine restarts.
type ID struct {
	PID int `json:"pid"`
	// Started is opaque. It is different for every process that ever has this PID.
	Started string `json:"started"`
}

// Spec is a process to start.
type Spec struct {
	// Path is the executable; Args are the arguments after the zeroth, which is Path.
	Path string
	Args []string
	// Env is added to this process's own environment.
	Env []string
	// Log is a file to which standard output and error are appended.
	Log string
	// Detach lets the process outlive this process and its terminal. Otherwise the process is killed when this process ends in any
	// way (on Linux; on other systems only an orderly Stop ends it).
	Detach bool
}

// Process is a child of this process.
type Process struct {
	ID
	done chan struct{}
	err  error
}

// Done is closed when the process has ended. Then Err returns the reason.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is the reason for which the process ended, nil for exit code 0. Callers may call it after Done is closed.
func (p *Process) Err() error { return p.err }

// Start starts the process. A detached process has the root folder as its working folder, so that it keeps no folder busy.
func Start(spec Spec) (*Process, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", spec.Path, err)
	}
	defer log.Close()
	command := exec.Command(spec.Path, spec.Args...)
	command.Env = append(os.Environ(), spec.Env...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = attributes(spec.Detach)
	if spec.Detach {
		command.Dir = "/"
	}

	process := &Process{done: make(chan struct{})}
	started := make(chan error)
	go process.run(command, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Path, err)
	}
	return process, nil
}

// run starts and awaits the command on its own thread. Linux kills a child with Pdeathsig when the thread that started it ends,
// not when the process ends, and Go ends idle threads.
func (p *Process) run(command *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := command.Start(); err != nil {
		started <- err
		return
	}
	p.PID = command.Process.Pid
	p.Started, _ = birth(p.PID) // empty if the process has already ended: then nothing is ever signalled
	started <- nil
	p.err = command.Wait()
	close(p.done)
}

// Identify returns the identity of a running process.
func Identify(pid int) (ID, error) {
	started, err := birth(pid)
	if err != nil {
		return ID{}, fmt.Errorf("identifying process %d: %w", pid, err)
	}
	return ID{PID: pid, Started: started}, nil
}

// Alive says whether exactly this process still runs. A zombie does not.
func (id ID) Alive() bool {
	if id.PID <= 0 || id.Started == "" {
		return false
	}
	started, err := birth(id.PID)
	return err == nil && started == id.Started
}

// Signal sends a signal to the process. It is no error if the process has ended.
func (id ID) Signal(signal syscall.Signal) error {
	if !id.Alive() {
		return nil
	}
	err := syscall.Kill(id.PID, signal)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sending %v to process %d: %w", signal, id.PID, err)
	}
	return nil
}

// Stop ends the process: with SIGTERM, and with SIGKILL if the process still runs after grace or when ctx ends. It returns after
// the process has ended; it is no error if the process had already ended.
func (id ID) Stop(ctx context.Context, grace time.Duration) error {
	if err := id.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if id.awaitEnd(ctx) {
		return nil
	}
	if err := id.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), killPatience)
	defer cancel()
	if id.awaitEnd(last) {
		return nil
	}
	return fmt.Errorf("process %d is still there %s after SIGKILL", id.PID, killPatience)
}

func (id ID) awaitEnd(ctx context.Context) bool {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for id.Alive() {
		select {
		case <-ctx.Done():
			return !id.Alive()
		case <-tick.C:
		}
	}
	return true
}
