package kubemark_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

const bootstrapKubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: Y2E=}}]
users: [{name: u, user: {token: abcdef.0123456789abcdef}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

// rack is a hollow provider whose program is this test binary.
type rack struct {
	t     *testing.T
	dir   string
	clock *clocktesting.FakeClock
	spec  string
	pids  map[int]bool // all processes so far
}

func newRack(t *testing.T, role string) *rack {
	t.Helper()
	t.Setenv(roleVariable, role)
	r := &rack{t: t, dir: t.TempDir(), clock: clocktesting.NewFakeClock(time.Now()), spec: "{}", pids: map[int]bool{}}
	t.Cleanup(func() {
		for pid := range r.pids {
			if running(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	return r
}

// session is a session of a new provider process.
func (r *rack) session() provider.Session {
	r.t.Helper()
	p, err := kubemark.New(kubemark.Config{
		Dir: r.dir, HollowBinary: os.Args[0], NodeIP: "192.0.2.7", Clock: r.clock,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := p.Open(r.t.Context(), provider.Class{API: provider.Gardener, Cluster: "c", Spec: []byte(r.spec)})
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

var hollowRef = provider.Ref{UID: "u-1", Name: "m-1"}

func (r *rack) create() provider.Instance {
	r.t.Helper()
	i, err := r.session().Create(r.t.Context(), hollowRef, provider.Want{UserData: []byte(bootstrapKubeconfig)})
	if err != nil {
		r.t.Fatal(err)
	}
	return i
}

// starts are the processes so far whose folder exists.
func (r *rack) starts() (pids []int) {
	traces, err := filepath.Glob(filepath.Join(r.dir, "bodies", "*", "start-*"))
	if err != nil {
		r.t.Error(err)
	}
	for _, trace := range traces {
		_, digits, _ := strings.Cut(filepath.Base(trace), "-")
		pid, err := strconv.Atoi(digits)
		if err != nil {
			r.t.Error(err)
		}
		pids = append(pids, pid)
		r.pids[pid] = true
	}
	return pids
}

// until waits, in real time, for an effect of a process.
func (r *rack) until(what string, ok func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			r.t.Fatal("not within 10 s: " + what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// untilStarted reads the instance, as the engine does: a start may have to wait for the last thread of an
// earlier process.
func (r *rack) untilStarted(n int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d starts", n), func() bool { return r.state() != provider.Pending && len(r.starts()) == n })
}

func (r *rack) state() provider.State {
	r.t.Helper()
	found, err := r.session().Find(r.t.Context(), hollowRef)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(found) == 0 {
		return provider.Terminated
	}
	return found[0].State
}

func (r *rack) power(i provider.Instance, op provider.PowerOp) {
	r.t.Helper()
	p, ok := provider.As[provider.Powerer](r.session())
	if !ok {
		r.t.Fatal("no Powerer")
	}
	if err := p.Power(r.t.Context(), hollowRef, i, op, ""); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rack) deleteUntilDone() {
	r.t.Helper()
	r.until("deleted", func() bool {
		done, err := r.session().Delete(r.t.Context(), hollowRef, nil)
		if err != nil {
			r.t.Fatal(err)
		}
		return done
	})
	left, err := filepath.Glob(filepath.Join(r.dir, "bodies", "*"))
	if err != nil || len(left) > 0 {
		r.t.Errorf("left behind: %v, error %v", left, err)
	}
}

func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestHollowLife(t *testing.T) {
	r := newRack(t, "kubelet")
	r.spec = `{"zone":"z1","instanceType":"big","numCores":8,"memoryCapacity":"1Gi","maxPods":20,"gpus":2,
		"resources":{"hugepages-2Mi":"64Mi","ephemeral-storage":"10Gi","example.com/fpga":1,"example.com/none":0},
		"labels":{"example.com/a":"b"},"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]}`
	i := r.create()
	r.untilStarted(1)
	pid := r.starts()[0]
	r.checkCommand(pid)
	if i.Addresses[0].Address != "192.0.2.7" {
		t.Errorf("addresses %v", i.Addresses)
	}

	// Every read is that of a new provider process.
	for range 3 {
		if s := r.state(); s != provider.Running {
			t.Fatalf("the instance is %s", s)
		}
		r.create()
	}
	if n := len(r.starts()); n != 1 {
		t.Fatalf("%d starts", n)
	}
	r.deleteUntilDone()
	if running(pid) {
		t.Error("the process outlives its instance")
	}
}

// checkCommand compares the flags of a process with the rack's spec.
func (r *rack) checkCommand(pid int) {
	r.t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		r.t.Fatal(err)
	}
	args := strings.Split(string(line), "\x00")
	for _, want := range []string{
		"--name=m-1", "--provider-id=kubemark://m-1", "--node-ip=192.0.2.7", "--cores=8", "--memory=1073741824", "--max-pods=20",
		"--node-labels=example.com/a=b,node.kubernetes.io/instance-type=big,topology.kubernetes.io/zone=z1",
		"--resources=ephemeral-storage=10Gi,example.com/fpga=1,hugepages-2Mi=64Mi,nvidia.com/gpu=2",
		"--register-with-taints=k=v:NoSchedule",
	} {
		found := false
		for _, arg := range args {
			found = found || arg == want
		}
		if !found {
			r.t.Errorf("the process lacks the argument %s: %q", want, args)
		}
	}
	sid, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	if errno != 0 || int(sid) != pid {
		r.t.Errorf("session %d of process %d, error %v: it would die with the provider's", sid, pid, errno)
	}
}

func TestHollowKilledByUser(t *testing.T) {
	for _, op := range []provider.PowerOp{provider.PowerOn, provider.Reboot} {
		t.Run(string(op), func(t *testing.T) {
			r := newRack(t, "kubelet")
			i := r.create()
			r.untilStarted(1)
			if err := syscall.Kill(r.starts()[0], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			r.until("stopped", func() bool { return r.state() == provider.Stopped })
			r.power(i, op)
			r.untilStarted(2)
			if s := r.state(); s != provider.Running {
				t.Errorf("after %s it is %s", op, s)
			}
			r.deleteUntilDone()
		})
	}
}

func TestHollowPower(t *testing.T) {
	r := newRack(t, "kubelet")
	i := r.create()
	r.untilStarted(1)
	first := r.starts()[0]
	r.power(i, provider.PowerOn)
	if s := r.state(); s != provider.Running || len(r.starts()) != 1 {
		t.Errorf("power on of what runs: %s, %d starts", s, len(r.starts()))
	}
	r.power(i, provider.PowerOff)
	if s := r.state(); s != provider.Stopped {
		t.Errorf("after power off it is %s", s)
	}
	r.until("the process ends", func() bool { return !running(first) })
	r.power(i, provider.PowerOn)
	r.untilStarted(2)
	r.power(i, provider.Reboot)
	r.until("a third start", func() bool { return r.state() == provider.Running && len(r.starts()) == 3 })
	r.deleteUntilDone()
}

// TestHollowStartedTwice: after a crash between the start of a process and its recording, the process is
// found and not started again.
func TestHollowStartedTwice(t *testing.T) {
	r := newRack(t, "kubelet")
	r.create()
	r.untilStarted(1)
	pid := r.starts()[0]
	r.forgetBody()
	if s := r.state(); s != provider.Running {
		t.Errorf("the instance is %s", s)
	}
	if n := len(r.starts()); n != 1 {
		t.Errorf("%d starts", n)
	}
	r.forgetBody()
	r.deleteUntilDone()
	if running(pid) {
		t.Error("a process that was not recorded outlives its instance")
	}
}

// forgetBody resets the record to its state before the start.
func (r *rack) forgetBody() {
	r.t.Helper()
	records, err := filepath.Glob(filepath.Join(r.dir, "clusters", "c", "machines", "*", "*.json"))
	if err != nil || len(records) != 1 {
		r.t.Fatalf("records %v, error %v", records, err)
	}
	data, err := os.ReadFile(records[0])
	if err != nil {
		r.t.Fatal(err)
	}
	before, _, found := strings.Cut(string(data), `,"body":`)
	if !found {
		r.t.Fatalf("no body in %s", data)
	}
	if err := os.WriteFile(records[0], []byte(before+"}"), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// TestHollowManyProviders: of many processes that read concurrently, one starts the body.
func TestHollowManyProviders(t *testing.T) {
	const observers = 8
	r := newRack(t, "kubelet")
	r.spec = `{"bootLatency":"1s"}`
	r.create()
	r.clock.Step(time.Second)
	var wg sync.WaitGroup
	for range observers {
		s := r.session()
		wg.Go(func() {
			if _, err := s.Find(t.Context(), hollowRef); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r.untilStarted(1)
	time.Sleep(100 * time.Millisecond) // a second process would write its trace meanwhile
	if n := len(r.starts()); n != 1 {
		t.Errorf("%d starts", n)
	}
	r.deleteUntilDone()
}

// TestHollowHalt: a power cut ends the processes; instances that were on are started again, others stay off.
func TestHollowHalt(t *testing.T) {
	r := newRack(t, "kubelet")
	on := r.create()
	r.untilStarted(1)
	for round := range 2 {
		if err := kubemark.Halt(t.Context(), r.dir); err != nil {
			t.Fatal(err)
		}
		for _, pid := range r.starts() {
			if running(pid) {
				t.Errorf("process %d runs after halt", pid)
			}
		}
		r.untilStarted(2 + round)
		if s := r.state(); s != provider.Running {
			t.Errorf("after the power cut it is %s", s)
		}
	}
	r.power(on, provider.PowerOff)
	if err := kubemark.Halt(t.Context(), r.dir); err != nil {
		t.Fatal(err)
	}
	if s := r.state(); s != provider.Stopped || len(r.starts()) != 3 {
		t.Errorf("what was switched off is %s after a power cut, %d starts", s, len(r.starts()))
	}
	r.deleteUntilDone()
}

// TestHollowDeaf: a process that does not end on SIGTERM is killed after the grace.
func TestHollowDeaf(t *testing.T) {
	r := newRack(t, "deaf-kubelet")
	r.create()
	r.untilStarted(1)
	pid := r.starts()[0]
	for range 3 {
		if done, err := r.session().Delete(t.Context(), hollowRef, nil); err != nil || done {
			t.Fatalf("done %t, error %v, although the process runs", done, err)
		}
	}
	if s := r.state(); s != provider.Stopping || !running(pid) {
		t.Errorf("within the grace it is %s, process running %t", s, running(pid))
	}
	r.clock.Step(6 * time.Second)
	r.deleteUntilDone()
	if running(pid) {
		t.Error("the process was not killed")
	}
}

// TestHollowSilent: a body that stops answering is suspended, and resumed later.
func TestHollowSilent(t *testing.T) {
	r := newRack(t, "kubelet")
	r.spec = `{"turnUnhealthyPeriodically":true,"healthyDuration":"30s","unhealthyDuration":"10s"}`
	r.create()
	r.untilStarted(1)
	pid := r.starts()[0]
	suspended := func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && strings.Contains(string(stat), ") T ")
	}
	r.clock.Step(31 * time.Second)
	if s := r.state(); s != provider.Running {
		t.Errorf("a silent instance is %s", s)
	}
	r.until("suspended", suspended)
	r.clock.Step(10 * time.Second)
	r.state()
	r.until("resumed", func() bool { return !suspended() })
	r.clock.Step(30 * time.Second)
	r.state()
	r.until("suspended again", suspended)
	r.deleteUntilDone() // a suspended process gets SIGTERM too
}

func TestHollowUserData(t *testing.T) {
	r := newRack(t, "kubelet")
	for _, c := range []struct{ reason, userData string }{
		{"nothing to join with", ""},
		{"cloud-config is for machines with an operating system", "#cloud-config\nruncmd: [reboot]\n"},
		{"a kubeconfig without token", strings.Replace(bootstrapKubeconfig, "token: abcdef.0123456789abcdef", "username: x", 1)},
		{"a kubeconfig without context", strings.Replace(bootstrapKubeconfig, "current-context: x", "", 1)},
		{"a kubeconfig without server", strings.Replace(bootstrapKubeconfig, "server:", "proxy-url:", 1)},
	} {
		_, err := r.session().Create(t.Context(), hollowRef, provider.Want{UserData: []byte(c.userData)})
		e, ok := errors.AsType[*provider.Error](err)
		if !ok || e.Kind != provider.Invalid || e.Field != "userDataSecret" || !strings.Contains(err.Error(), "bootstrap kubeconfig") {
			t.Errorf("%s: error %v", c.reason, err)
		}
	}
	r.deleteUntilDone()
	p, err := kubemark.New(kubemark.Config{Dir: r.dir})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := p.Console().Dependants("c"); err != nil || n != 0 {
		t.Errorf("%d dependants of what was never made, error %v", n, err)
	}
}

// TestHollowRun: bodies start on time without a caller that reads the instances, also those of instances of
// an earlier process.
func TestHollowRun(t *testing.T) {
	r := newRack(t, "kubelet")
	r.spec = `{"createLatency":"100ms","bootLatency":"100ms"}`
	r.clock.SetTime(time.Now())
	r.create()
	p, err := kubemark.New(kubemark.Config{Dir: r.dir, HollowBinary: os.Args[0], NodeIP: "192.0.2.7"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx) }()
	r.until("started", func() bool { return len(r.starts()) == 1 })

	s, err := p.Open(ctx, provider.Class{API: provider.Gardener, Cluster: "c", Spec: []byte(r.spec)})
	if err != nil {
		t.Fatal(err)
	}
	second := provider.Ref{UID: "u-2", Name: "m-2"}
	if _, err := s.Create(ctx, second, provider.Want{UserData: []byte(bootstrapKubeconfig)}); err != nil {
		t.Fatal(err)
	}
	r.until("the second started", func() bool { return len(r.starts()) == 2 })
	if _, err := s.Delete(ctx, second, nil); err != nil {
		t.Fatal(err)
	}
	r.until("the second gone", func() bool { return len(r.starts()) == 1 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	r.clock.SetTime(time.Now())
	r.deleteUntilDone()
}
