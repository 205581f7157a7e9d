package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/verify/previous"
	"github.com/millwright-dev/millwright/provider"
)

// upgradeFrom is a flag of `make test-upgrade`.
var upgradeFrom = flag.String("upgrade.previous", "", "commit whose programs and these take turns; empty: TestUpgrade is skipped")

// upgradePrograms are the programs that are exchanged.
var upgradePrograms = []string{fleet.Sets, fleet.Machines}

// TestUpgrade brings a fleet of both APIs into every phase with the programs of another commit. It then exchanges these
// programs abruptly for those of this commit, back, and forward again. Meanwhile the obstacles of all machines stay: the
// programs replace nothing, delete nothing, create no second instance, and write nothing about a fleet at rest. Finally the
// test removes all obstacles, and every operation completes. Then it deletes everything, and nothing is left.
func TestUpgrade(t *testing.T) {
	if *upgradeFrom == "" {
		t.Skip("no commit to upgrade from: run `make test-upgrade`")
	}
	older := t.TempDir()
	root, err := devplanetest.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	missing, err := previous.BuildCommit(t.Context(), root, *upgradeFrom, older, upgradePrograms...)
	if err != nil {
		t.Fatal(err)
	}
	if missing != "" {
		t.Skip(missing)
	}
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(strings.ReplaceAll(signal.String(), " ", "-"), func(t *testing.T) {
			t.Parallel()
			u := startUpgrade(t, older, signal)
			u.build()
			u.rests("before the first exchange")
			u.stores[older] = u.requests()
			u.exchange(1, bin)
			u.exchange(2, older)
			u.exchange(3, bin)
			u.release()
			u.end()
		})
	}
}

// upgrade is a fleet whose programs are exchanged.
type upgrade struct {
	truth
	t      *testing.T
	signal syscall.Signal
	gate   *gate
	lives  *lives
	calls  string // the log of the infrastructure's calls
	// stores has the versions whose programs store requests. Older programs, from before decision 41, do not store requests,
	// and drop the stored requests of others.
	stores map[string]bool
	began  time.Time
}

// startUpgrade starts a fleet without machines, with the programs of a folder.
func startUpgrade(t *testing.T, older string, signal syscall.Signal) *upgrade {
	t.Helper()
	dir, err := os.MkdirTemp("", "millwright-upgrade-")
	if err != nil {
		t.Fatal(err)
	}
	u := &upgrade{t: t, signal: signal, calls: filepath.Join(dir, "calls.jsonl"), lives: &lives{of: map[string]map[string]bool{}}, stores: map[string]bool{bin: true}, began: time.Now()}
	args := []string{"--machine-safety-orphan-vms-period=2s", "--orphan-grace-period=5s"} // so that a wrong removal by the collector would be likely
	if previous.Knows(t.Context(), filepath.Join(older, fleet.Machines), "--call-log=/dev/null") {
		args = append(args, "--call-log="+u.calls)
	} else {
		t.Log("the other programs keep no log of the infrastructure's calls: what they call is not judged, what comes of it is")
	}
	f, err := fleet.Start(t.Context(), fleet.Options{
		Dir: filepath.Join(dir, "fleet"), Bin: older, Backend: "kwok", Idle: true, AuditLog: true, Args: map[string][]string{fleet.Machines: args}, Log: os.Stderr,
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if f != nil {
			if err := f.Stop(ctx); err != nil {
				t.Error("stop the fleet:", err)
			}
		}
		if t.Failed() {
			t.Logf("logs are in %s", dir)
		} else if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal("start the fleet:", err)
	}
	if u.truth, err = truthOf(f); err != nil {
		t.Fatal(err)
	}
	u.gate = newGate(t, f.Kubeconfig(fleet.Machines), u.hasInstance)
	u.start(older)
	u.lives.watch(t, u.truth)
	return u
}

func (u *upgrade) start(version string) {
	u.t.Helper()
	u.Bin = version
	for _, program := range upgradePrograms {
		if _, err := u.StartController(program); err != nil {
			u.t.Fatal(err)
		}
	}
}

// stop ends both programs at the same time, with a signal.
func (u *upgrade) stop() {
	u.t.Helper()
	both := slices.Clone(u.Controllers)
	for _, c := range both {
		if err := c.Signal(u.signal); err != nil {
			u.t.Fatal(err)
		}
	}
	for _, c := range both {
		select {
		case <-c.Done():
		case <-time.After(30 * time.Second):
			u.t.Errorf("%s has not ended 30 s after %s", c.Program, u.signal)
		}
	}
	u.Controllers = nil
}

// hasInstance reports whether a machine with the name has an instance.
func (u *upgrade) hasInstance(name string) bool {
	for _, d := range dialects {
		instances, err := u.console.Instances(u.t.Context(), d.cluster)
		if err == nil && slices.ContainsFunc(instances, func(i provider.Instance) bool { return i.Name == name }) {
			return true
		}
	}
	return false
}

// says writes a line with the time since the start of the fleet.
func (u *upgrade) says(format string, args ...any) {
	u.t.Helper()
	u.t.Logf("%5.1f s: "+format, append([]any{time.Since(u.began).Seconds()}, args...)...)
}

// exchange replaces the running programs with those of a folder. Before that, a fleet at rest gets additional machines, which
// are about to get an instance. Afterwards exchange judges the result.
func (u *upgrade) exchange(n int, version string) {
	u.t.Helper()
	moments := u.moments(n)
	u.stop()
	moments = append(moments, u.fresh(n)...)
	before := u.see()
	_, calls, err := called(u.calls, 0)
	if err != nil {
		u.t.Fatal(err)
	}
	u.gate.set(true)
	u.start(version)
	for _, m := range moments {
		m.say("Running")
	}
	u.rests(fmt.Sprintf("after exchange %d", n))
	after := u.see()
	since, _, err := called(u.calls, calls)
	if err != nil {
		u.t.Fatal(err)
	}
	wrong := slices.Concat(judge(before, after, freshMachines, askedMachines, createdMachines), rewrites(before, after), uncalledFor(before, since), u.lives.several())
	if u.stores[version] {
		wrong = append(wrong, forgets(before, after)...)
	}
	for _, w := range wrong {
		u.t.Errorf("exchange %d: %s", n, w)
	}
	u.says("exchange %d: %d machines compared, %d calls of the infrastructure judged, %d objections", n, len(before.Machines), len(since), len(wrong))
}

// requests reports whether the record of any machine has a request.
func (u *upgrade) requests() bool {
	u.t.Helper()
	for _, m := range u.see().Machines {
		if len(m.Requests) > 0 {
			return true
		}
	}
	u.t.Log("the other programs store no requests: what they drop of them is not judged")
	return false
}

func (u *upgrade) see() sight {
	u.t.Helper()
	s, err := u.look(u.t.Context())
	if err != nil {
		u.t.Fatal(err)
	}
	return s
}

// A changed fleet comes to rest: for a time, the programs write nothing. They write nothing afterwards either. The time is
// longer than a new process watches an unhealthy node before a health check reports again that it does not replace the machine:
// a process starts each timer again (decision 14).
const (
	lull     = 10 * time.Second
	atRest   = 15 * time.Second
	restless = time.Minute
)

// excused are the allowed writes at rest, and their frequency. A machine of machine.openshift.io that both choices refuse
// repeats its request every minute. Each request is stored before it is sent, and again with its answer (decision 41).
var excused = map[string]int{fleet.Machines + " patch machines status refused-openshift": 4}

// rests waits until both programs write nothing, and checks that they begin nothing by themselves.
func (u *upgrade) rests(when string) {
	u.t.Helper()
	began := time.Now()
	for counts := u.written(lull); len(counts) > 0; counts = u.written(lull) {
		if time.Since(began) > restless {
			u.t.Errorf("%s: the fleet does not come to rest: within %s are written %v", when, lull, counts)
			return
		}
	}
	counts := u.written(atRest)
	maps.DeleteFunc(counts, func(what string, n int) bool { return n <= excused[what] })
	if len(counts) > 0 {
		u.t.Errorf("%s: a fleet at rest is written within %s: %v", when, atRest, counts)
	}
	u.says("%s: at rest", when)
}

// written returns the writes of both programs in a time from now.
func (u *upgrade) written(in time.Duration) map[string]int {
	u.t.Helper()
	_, end, err := u.writes(0)
	if err != nil {
		u.t.Fatal(err)
	}
	time.Sleep(in)
	counts, _, err := u.writes(end)
	if err != nil {
		u.t.Fatal(err)
	}
	return counts
}

// end deletes everything, and waits until nothing is left.
func (u *upgrade) end() {
	u.t.Helper()
	for _, o := range []client.Object{&policyv1.PodDisruptionBudget{}, &appsv1.StatefulSet{}, &corev1.Pod{}} { // pods that may not be evicted, or not all at the same time
		if err := u.Client.DeleteAllOf(u.t.Context(), o, client.InNamespace("default"), client.PropagationPolicy("Background")); err != nil {
			u.t.Fatal(err)
		}
	}
	for _, kind := range []string{"MachineDeployment", "MachineSet", "Machine"} {
		for _, d := range dialects {
			if err := u.Client.DeleteAllOf(u.t.Context(), d.object(kind, ""), client.InNamespace(d.namespace), client.PropagationPolicy("Background")); err != nil {
				u.t.Fatal(err)
			}
		}
	}
	eventually(u.t, "nothing is left", func(ctx context.Context) (string, error) {
		if err := u.Client.DeleteAllOf(ctx, dialects[1].object("MachineClass", ""), client.InNamespace(dialects[1].namespace)); err != nil {
			return "", err
		}
		if err := errors.Join(u.hasten(ctx), u.detach(ctx)); err != nil {
			return "", err
		}
		return u.left(ctx)
	})
	all, _, err := called(u.calls, 0)
	if err != nil {
		u.t.Fatal(err)
	}
	for _, w := range slices.Concat(u.lives.several(), createdTwice(all)) {
		u.t.Error(w)
	}
	u.says("nothing is left of %d instances", len(u.lives.of))
}

// detach simulates the driver of volumes.
func (u *upgrade) detach(ctx context.Context) error {
	var list storagev1.VolumeAttachmentList
	if err := u.Client.List(ctx, &list); err != nil {
		return err
	}
	for _, a := range list.Items {
		if a.DeletionTimestamp == nil {
			continue
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := client.IgnoreNotFound(u.Client.Patch(ctx, &a, patch)); err != nil {
			return err
		}
	}
	return nil
}

// left returns the objects that still exist after everything was deleted.
func (u *upgrade) left(ctx context.Context) (string, error) {
	for _, kind := range []string{"MachineDeployment", "MachineSet", "Machine", "MachineClass"} {
		for _, d := range dialects {
			if kind == "MachineClass" && d.name != "gardener" {
				continue
			}
			var list unstructured.UnstructuredList
			list.SetGroupVersionKind(d.object(kind+"List", "").GroupVersionKind())
			if err := u.Client.List(ctx, &list); err != nil || len(list.Items) > 0 {
				return fmt.Sprintf("%d %s of %s", len(list.Items), kind, d.name), err
			}
		}
	}
	if left, err := u.finalizers(ctx); left != "" || err != nil {
		return left, err
	}
	return u.atRest(ctx, []string{dialects[0].cluster, dialects[1].cluster}, 0)
}

// finalizers returns a secret that still has a finalizer.
func (u *upgrade) finalizers(ctx context.Context) (string, error) {
	var list corev1.SecretList
	err := u.Client.List(ctx, &list)
	for _, s := range list.Items {
		if len(s.Finalizers) > 0 {
			return fmt.Sprintf("secret %s has the finalizers %v", s.Name, s.Finalizers), err
		}
	}
	return "", err
}
