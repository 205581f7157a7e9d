package e2e

import (
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// The lease of the standby test. A leader ends if it cannot renew the lease in time, and the test does not restart it. So the
// lease is longer than the API server may be silent on two cores with sixteen tests: ten seconds were observed.
const (
	standbyNamespace = "standby"
	leaseDuration    = 30 * time.Second
)

// contender is a machine controller that leads, or waits for the lease.
type contender struct {
	*exec.Cmd
	log  strings.Builder
	done chan error
}

// contend starts a contender and waits until its caches are filled.
func contend(t *testing.T, f *fleet.Fleet) *contender {
	t.Helper()
	health := devplanetest.FreeAddress(t)
	c := &contender{done: make(chan error, 1), Cmd: exec.Command(filepath.Join(bin, fleet.Machines),
		"--apis=gardener", "--namespace="+standbyNamespace, "--control-kubeconfig="+f.Plane.KubeconfigPath, "--target-kubeconfig=none",
		"--kubemark-backend=memory", "--metrics-bind-address=0", "--health-addr="+health,
		"--leader-elect-lease-duration="+leaseDuration.String(), "--leader-elect-renew-deadline=25s")}
	c.Stdout, c.Stderr = &c.log, &c.log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.done <- c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		if t.Failed() {
			t.Logf("process %d:\n%s", c.Process.Pid, c.log.String())
		}
	})
	eventually(t, "caches", func(ctx context.Context) (string, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+health+"/readyz", nil)
		if err != nil {
			return "", err
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return res.Status, nil
		}
		return "", nil
	})
	return c
}

// end signals the contender and waits until it has ended.
func (c *contender) end(t *testing.T, s syscall.Signal) error {
	t.Helper()
	if err := c.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-c.done:
		return err
	case <-time.After(30 * time.Second):
		t.Fatalf("process %d does not end", c.Process.Pid)
		return nil
	}
}

// lease returns the lease of the machine controllers.
func lease(t *testing.T, f *fleet.Fleet) coordinationv1.LeaseSpec {
	t.Helper()
	var l coordinationv1.Lease
	if err := f.Client.Get(t.Context(), client.ObjectKey{Namespace: standbyNamespace, Name: "machine-controller"}, &l); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return l.Spec
}

// leader returns the holder of the lease.
func leader(t *testing.T, f *fleet.Fleet) string {
	t.Helper()
	return ptr.Deref(lease(t, f).HolderIdentity, "")
}

// ask creates a machine of the existing class.
func ask(t *testing.T, f *fleet.Fleet, name string) *v1alpha1.Machine {
	t.Helper()
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: standbyNamespace, Name: name}}
	m.Spec.Class = v1alpha1.ClassSpec{Kind: v1alpha1.KindMachineClass, Name: "pool"}
	if err := f.Client.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestStandby: after a leader is killed, the standby waits for the duration of the lease and not much longer. A leader that
// receives SIGTERM releases the lease immediately. Two processes of one host have different identities (C11, C27, W14).
func TestStandby(t *testing.T) {
	t.Parallel()
	f := hollow(t)
	m := lone(t, f, standbyNamespace, []byte("#!boot"))
	first := contend(t, f)
	phased(t, f, m, v1alpha1.MachineAvailable)
	led := leader(t, f)
	second := contend(t, f)
	if led == "" || leader(t, f) != led {
		t.Fatalf("%q led, then %q: a held lease must not be taken", led, leader(t, f))
	}

	renewed := lease(t, f).RenewTime
	killed := time.Now()
	_ = first.end(t, syscall.SIGKILL) // the result is known
	m = ask(t, f, "after-the-kill")
	phased(t, f, m, v1alpha1.MachineAvailable)
	took := time.Since(killed)
	t.Logf("killed: the standby's first machine was Available after %s, the lease is %s", took.Round(time.Millisecond), leaseDuration)
	if acquired := lease(t, f).AcquireTime; acquired == nil || acquired.Sub(renewed.Time) < leaseDuration {
		t.Errorf("the lease was renewed at %v and taken at %v, before it was over", renewed, acquired)
	}
	took2 := leader(t, f)
	if took2 == led || took2 == "" {
		t.Errorf("the lease is held by %q, was by %q", took2, led)
	}

	third := contend(t, f)
	stopped := time.Now()
	if err := second.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("the leader did not end in order: %v", err)
	}
	ended := time.Since(stopped)
	if leader(t, f) == took2 {
		t.Errorf("the lease was not released by %s", took2)
	}
	m = ask(t, f, "after-the-stop")
	phased(t, f, m, v1alpha1.MachineAvailable)
	took = time.Since(stopped)
	t.Logf("stopped: it ended after %s, the standby's first machine was Available after %s", ended.Round(time.Millisecond), took.Round(time.Millisecond))
	if now := leader(t, f); now == took2 || now == "" {
		t.Errorf("the lease is held by %q, was by %q", now, took2)
	}
	if err := third.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("the last leader did not end in order: %v", err)
	}
	if now := leader(t, f); now != "" {
		t.Errorf("the lease is held by %q, who has ended", now)
	}
}
