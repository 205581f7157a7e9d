package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/proc"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/verify/checker"
)

// The lease is short, so that the leader changes often during a run.
const leaseTime = 6 * time.Second

// seat is one of the two processes of a program, a leader or a standby. If the process ends by itself, another is started, as a
// kubelet would do.
type seat struct {
	w       *world
	program string
	n       int

	mu      sync.Mutex
	version string // the folder of the binaries
	process *proc.Process
	starts  int
}

// start starts a process in the seat, which must be free.
func (s *seat) start(version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.startLocked(version)
}

func (s *seat) startLocked(version string) error {
	s.version = version
	s.starts++
	log := filepath.Join(s.w.dir, "logs", fmt.Sprintf("%s-%d-%d-%s.log", s.program, s.n, s.starts, filepath.Base(version)))
	p, err := proc.Start(proc.Spec{Path: filepath.Join(version, s.program), Args: s.w.args(s.program, version, s.starts), Log: log})
	if err != nil {
		return err
	}
	s.process = p
	go s.keep(p, log)
	return nil
}

// keep waits for the end of the process, and starts another one if no caller requested the end.
func (s *seat) keep(p *proc.Process, log string) {
	<-p.Done()
	s.w.autopsy(s.program, log)
	time.Sleep(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != p || s.w.ctx.Err() != nil {
		return
	}
	s.w.count("restarts")
	if err := s.startLocked(s.version); err != nil {
		s.w.log.mark(checker.Event{Mark: checker.Crashed, Message: err.Error()})
	}
}

// autopsy searches the log of an ended process for the signs of a crash.
func (w *world) autopsy(program, log string) {
	raw, err := os.ReadFile(log)
	if err != nil {
		return
	}
	for _, sign := range []string{"panic: ", "fatal error: ", "Observed a panic", "DATA RACE"} {
		if _, after, found := strings.Cut(string(raw), sign); found {
			w.log.mark(checker.Event{Mark: checker.Crashed, Message: fmt.Sprintf("%s, %s: %s%.300s", program, filepath.Base(log), sign, after)})
			return
		}
	}
}

// end sends a signal to the process of the seat, and waits until it has ended.
func (s *seat) end(signal syscall.Signal) error {
	s.mu.Lock()
	p := s.process
	s.process = nil
	s.mu.Unlock()
	if p == nil {
		return nil
	}
	if signal == syscall.SIGTERM {
		return p.Stop(context.Background(), 15*time.Second)
	}
	if err := p.Signal(signal); err != nil {
		return err
	}
	<-p.Done()
	return nil
}

func (s *seat) signal(signal syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	return s.process.Signal(signal)
}

// args returns the command line of a program.
func (w *world) args(program, version string, start int) []string {
	args := []string{
		"--target-kubeconfig=" + w.proxied(program),
		"--metrics-bind-address=0",
		"--leader-elect-resource-namespace=kube-system",
		"--leader-elect-lease-duration=" + leaseTime.String(), "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=1s",
		"--machine-safety-apiserver-statuscheck-timeout=10s", "--machine-safety-apiserver-statuscheck-period=10s",
	}
	if program == fleet.Sets {
		return args
	}
	args = append(
		args,
		"--bootstrap-token-auth-extra-groups="+devplane.BootstrapGroup,
		"--kubemark-dir="+fleet.CloudDir(w.fleet.Dir), "--kubemark-backend=kwok",
		"--fault-rate=0.05", fmt.Sprintf("--fault-seed=%d", w.seed+uint64(start)),
		// The orphan collector runs often, so that a wrong removal would be likely.
		"--machine-safety-orphan-vms-period=5s", "--orphan-grace-period=20s", "--orphan-max-per-hour=1000", "--orphan-max-share=100%",
	)
	if w.restores { // a machine whose instance was lost by a restore does not delay the run
		args = append(args, "--machine-health-timeout=30s")
	}
	if w.recordsCalls[version] {
		args = append(args, "--call-log="+w.log.path)
	}
	return args
}

// proxied returns the kubeconfig of a program.
func (w *world) proxied(program string) string {
	return filepath.Join(w.dir, program+".proxied.kubeconfig")
}
