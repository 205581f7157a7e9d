package kubemark_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

func (r *rack) reboot(i provider.Instance, request string) {
	r.t.Helper()
	b, ok := provider.As[provider.Powerer](r.session())
	if !ok {
		r.t.Fatal("no Powerer")
	}
	if err := b.Power(r.t.Context(), hollowRef, i, provider.Reboot, request); err != nil {
		r.t.Fatal(err)
	}
}

// A kubelet that hangs ignores signals: a reboot kills it and starts another, once for each request, and the
// instance stays the same.
func TestHollowReboot(t *testing.T) {
	r := newRack(t, "kubelet")
	i := r.create()
	r.untilStarted(1)
	hung := r.starts()[0]
	if err := syscall.Kill(hung, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.reboot(i, "first")
	r.until("the hung process is killed and another one runs", func() bool {
		r.clock.Step(1e9)
		return r.state() == provider.Running && len(r.starts()) == 2 && !running(hung)
	})
	r.reboot(i, "first")
	if s := r.state(); s != provider.Running || len(r.starts()) != 2 {
		t.Errorf("the same request again: %s, %d starts", s, len(r.starts()))
	}
	r.reboot(i, "second")
	r.until("a third start", func() bool { return r.state() == provider.Running && len(r.starts()) == 3 })
	found, err := r.session().Find(t.Context(), hollowRef)
	if err != nil || len(found) != 1 || found[0].ID != i.ID {
		t.Errorf("after the reboots: %v, %v", found, err)
	}
	r.deleteUntilDone()
	b, _ := provider.As[provider.Powerer](r.session())
	if err := b.Power(t.Context(), hollowRef, i, provider.Reboot, "third"); provider.KindOf(err) != provider.Conflict {
		t.Errorf("a reboot of what is gone: %v", err)
	}
}

// The console of a process is its log; without output it is empty.
func TestHollowConsole(t *testing.T) {
	r := newRack(t, "kubelet")
	i := r.create()
	r.untilStarted(1)
	console := func() string {
		t.Helper()
		c, ok := provider.As[provider.ConsoleReader](r.session())
		if !ok {
			t.Fatal("no ConsoleReader")
		}
		text, err := c.Console(t.Context(), hollowRef, i, 100)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	logs, err := filepath.Glob(filepath.Join(r.dir, "bodies", "*", "kubelet.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs %v, %v", logs, err)
	}
	if err := os.WriteFile(logs[0], []byte(strings.Repeat("x", 99)+"\nregistering node m-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := console(); got != "registering node m-1\n" {
		t.Errorf("got %q", got)
	}
	if err := os.Remove(logs[0]); err != nil {
		t.Fatal(err)
	}
	if got := console(); got != "" {
		t.Errorf("without a log: %q", got)
	}
	r.deleteUntilDone()
	c, _ := provider.As[provider.ConsoleReader](r.session())
	if _, err := c.Console(t.Context(), hollowRef, i, 100); provider.KindOf(err) != provider.Conflict {
		t.Errorf("the console of what is gone: %v", err)
	}
}
