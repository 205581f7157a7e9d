// Package hollow implements the body of an instance as a process of this host: a kubelet over a fake
// container runtime. The process outlives the process that started it, and is found again.
package hollow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// grace is the time that a process has to end before it is killed.
const grace = 5 * time.Second

// Body runs one process per instance. It implements [cloud.Body].
type Body struct {
	// Command is the path of the program and its first arguments; the flags of the instance follow.
	Command []string
	// Dir holds one folder for each instance, named by its ID.
	Dir string
	// Clock measures the grace.
	Clock clock.PassiveClock
}

// The files in an instance's folder. The process itself holds the lock while it lives.
const (
	lockFile      = "body.lock"
	logFile       = "kubelet.log"
	bootstrapFile = "bootstrap-kubeconfig"
	kubeconfig    = "kubeconfig"
	caFile        = "ca.crt"
)

func (b *Body) dir(r cloud.Record) string { return filepath.Join(b.Dir, r.ID) }

// Prepare validates and stores the user data, which must be a bootstrap kubeconfig.
func (b *Body) Prepare(r cloud.Record, userData []byte) error {
	boot, err := readBootstrap(userData)
	if err != nil {
		return err
	}
	dir := b.dir(r)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the folder of instance %s: %w", r.ID, err)
	}
	for name, data := range map[string][]byte{bootstrapFile: userData, caFile: boot.ca} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return fmt.Errorf("store the user data of instance %s: %w", r.ID, err)
		}
	}
	return nil
}

// Start starts the process, unless it runs already: after a crash, the process may have been started without
// being recorded.
func (b *Body) Start(_ context.Context, r *cloud.Record) error {
	lock, free, err := b.lock(*r)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if !free {
		return b.adopt(r)
	}
	pid, err := b.launch(*r, lock)
	if err != nil {
		return err
	}
	r.Body.PID, r.Body.StopAsked = pid, time.Time{}
	r.Body.Started, err = birth(pid)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have ended already
		return fmt.Errorf("identify process %d: %w", pid, err)
	}
	return nil
}

// lock opens the lock of an instance and reports whether it was free. If so, it is held until the file, and
// every copy of a child process, is closed.
func (b *Body) lock(r cloud.Record) (f *os.File, free bool, err error) {
	f, err = os.OpenFile(filepath.Join(b.dir(r), lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("open the lock of instance %s: %w", r.ID, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return f, false, nil
	}
	if err != nil {
		return nil, false, errors.Join(fmt.Errorf("lock instance %s: %w", r.ID, err), f.Close())
	}
	return f, true, nil
}

// launch starts the process in a session of its own, holding the lock.
func (b *Body) launch(r cloud.Record, lock *os.File) (pid int, err error) {
	dir := b.dir(r)
	log, err := os.OpenFile(filepath.Join(dir, logFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, fmt.Errorf("open the log of instance %s: %w", r.ID, err)
	}
	defer func() { _ = log.Close() }()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, fmt.Errorf("open an empty input: %w", err)
	}
	defer func() { _ = null.Close() }()
	p, err := os.StartProcess(b.Command[0], slices.Concat(b.Command, b.flags(r)), &os.ProcAttr{
		Dir: dir,
		Env: os.Environ(),
		// The child inherits the lock as file 3.
		Files: []*os.File{null, log, log, lock},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("start the process of instance %s: %w", r.ID, err)
	}
	pid = p.Pid
	if err := p.Release(); err != nil {
		return 0, fmt.Errorf("release process %d: %w", pid, err)
	}
	return pid, nil
}

// rootFlag contains the folder of an instance and so identifies its process.
func (b *Body) rootFlag(r cloud.Record) string { return "--root-dir=" + b.dir(r) }

func (b *Body) flags(r cloud.Record) []string {
	dir := b.dir(r)
	flags := []string{
		"--name=" + r.Node,
		b.rootFlag(r),
		"--kubeconfig=" + filepath.Join(dir, kubeconfig),
		"--bootstrap-kubeconfig=" + filepath.Join(dir, bootstrapFile),
		"--client-ca-file=" + filepath.Join(dir, caFile),
		"--provider-id=" + r.ProviderID(),
		"--node-ip=" + r.Address(),
		"--cores=" + strconv.FormatInt(r.Traits.Cores, 10),
		"--memory=" + strconv.FormatInt(r.Traits.Memory, 10),
		"--max-pods=" + strconv.FormatInt(r.Traits.MaxPods, 10),
	}
	var labels, taints, resources []string
	for k, v := range r.NodeLabels() {
		labels = append(labels, k+"="+v)
	}
	slices.Sort(labels)
	for name, amount := range r.Traits.Further() {
		resources = append(resources, string(name)+"="+amount.String())
	}
	slices.Sort(resources)
	for _, t := range r.Traits.Taints {
		taints = append(taints, t.Key+"="+t.Value+":"+string(t.Effect))
	}
	if len(labels) > 0 {
		flags = append(flags, "--node-labels="+strings.Join(labels, ","))
	}
	if len(resources) > 0 {
		flags = append(flags, "--resources="+strings.Join(resources, ","))
	}
	if len(taints) > 0 {
		flags = append(flags, "--register-with-taints="+strings.Join(taints, ","))
	}
	return flags
}

// adopt identifies the process that holds the lock.
func (b *Body) adopt(r *cloud.Record) error {
	if b.Alive(*r) {
		return nil
	}
	pid, err := find(b.rootFlag(*r))
	if err != nil {
		return fmt.Errorf("find the process of instance %s: %w", r.ID, err)
	}
	started, err := birth(pid)
	if err != nil {
		return fmt.Errorf("identify process %d: %w", pid, err)
	}
	r.Body.PID, r.Body.Started, r.Body.StopAsked = pid, started, time.Time{}
	return nil
}

// Alive reports whether the recorded process runs. Its start time distinguishes it from a later process with
// the same PID.
func (b *Body) Alive(r cloud.Record) bool {
	if r.Body.PID == 0 {
		return false
	}
	started, err := birth(r.Body.PID)
	return err == nil && started == r.Body.Started
}

// Silence suspends or resumes the process.
func (b *Body) Silence(_ context.Context, r *cloud.Record, silent bool) error {
	sig := syscall.SIGCONT
	if silent {
		sig = syscall.SIGSTOP
	}
	return b.signal(*r, sig)
}

func (b *Body) signal(r cloud.Record, sig syscall.Signal) error {
	if !b.Alive(r) {
		return nil
	}
	err := syscall.Kill(r.Body.PID, sig)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %v to process %d of instance %s: %w", sig, r.Body.PID, r.ID, err)
	}
	return nil
}

// Stop tells the process to end, and kills it if it has not ended within the grace.
func (b *Body) Stop(_ context.Context, r *cloud.Record) (gone bool, err error) {
	gone, err = b.gone(r)
	if gone {
		r.Body.PID, r.Body.Started, r.Body.StopAsked = 0, 0, time.Time{}
	}
	if gone || err != nil {
		return gone, err
	}
	now := b.Clock.Now()
	if r.Body.StopAsked.IsZero() {
		r.Body.StopAsked = now
		// A suspended process handles the signal only after it is resumed.
		err := errors.Join(b.signal(*r, syscall.SIGTERM), b.signal(*r, syscall.SIGCONT))
		return false, err
	}
	if now.Sub(r.Body.StopAsked) >= grace {
		return false, b.signal(*r, syscall.SIGKILL)
	}
	return false, nil
}

// gone reports whether no process of the instance runs. It records a running process that was not recorded.
func (b *Body) gone(r *cloud.Record) (bool, error) {
	if b.Alive(*r) {
		return false, nil
	}
	if _, err := os.Stat(filepath.Join(b.dir(*r), lockFile)); errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	lock, free, err := b.lock(*r)
	if err != nil {
		return false, err
	}
	if err := lock.Close(); err != nil || free {
		return free, err
	}
	err = b.adopt(r)
	if errors.Is(err, fs.ErrNotExist) {
		// Its first thread has ended, and others have not ended yet.
		return false, nil
	}
	return false, err
}

// Remove stops the process and deletes the instance's folder.
func (b *Body) Remove(ctx context.Context, r *cloud.Record) (gone bool, err error) {
	gone, err = b.Stop(ctx, r)
	if err != nil || !gone {
		return false, err
	}
	if err := os.RemoveAll(b.dir(*r)); err != nil {
		return false, fmt.Errorf("delete the folder of instance %s: %w", r.ID, err)
	}
	return true, nil
}
