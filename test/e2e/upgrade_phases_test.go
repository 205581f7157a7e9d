package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// held is an object of the fleet, a machine or a pool, that an obstacle keeps in a phase.
type held struct {
	t    *testing.T
	f    *fleet.Fleet
	u    *upgrade
	d    dialect
	p    phase
	name string
}

// phase is a phase in the life of a machine, or of an operation on several machines.
type phase struct {
	name string
	// of is the API that has the phase; empty for both.
	of string
	// spec has additional fields of the provider's spec.
	spec string
	// pool is set for a MachineSet or a MachineDeployment, with its number of replicas and its strategy.
	pool     string
	replicas int
	strategy string
	// says are the phases in which the machine, or all machines of the pool, sorted, are held.
	says map[string]string
	// bring brings the created object into the phase. release removes the obstacle.
	bring, release func(h held)
}

const (
	openshift, gardener = "openshift", "gardener"
	slow                = "1h" // until the test shortens it
	rolling             = "strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}"
	inPlace             = "strategy: {type: InPlaceUpdate, inPlaceUpdate: {orchestrationType: Auto, maxSurge: 0, maxUnavailable: 1}}"
)

// phases are all phases. In each, an exchange of programs must not change the [standing]. Latencies need no release:
// [upgrade.release] ends all of them.
var phases = []phase{
	{name: "unready", says: both("Provisioning", "CrashLoopBackOff"), release: giveSecret},
	{name: "refused", spec: "quota: 0, choices: [{instanceType: big}, {instanceType: small}]", says: both("Provisioning", "CrashLoopBackOff"), release: giveRoom},
	{name: "choices", spec: "quota: 1, choices: [{instanceType: grand}, {instanceType: tiny}]", pool: "MachineSet", replicas: 2, says: both("Running Running", "Running Running")},
	{name: "pending", spec: "createLatency: 1h", says: both("Provisioning", "Pending")},
	{name: "joining", spec: "bootLatency: 1h", says: both("Provisioned", "Pending")},
	{name: "unlisted", says: both("Running", "Running"), bring: hideInListings, release: showInListings},
	{name: "running", says: both("Running", "Running"), bring: putPod},
	{name: "adopted", says: both("Running", "Running")},
	{name: "unhealthy", says: both("Running", "Unknown"), bring: turnUnhealthy, release: turnHealthy},
	{name: "failed", of: openshift, spec: "fault: Exhausted", says: both("Failed", ""), release: deleteMachine},
	{name: "failed", of: gardener, says: both("", "Failed"), bring: turnFailed, release: deleteMachine},
	{name: "preserved", of: gardener, says: both("", "Running"), bring: preserve, release: unpreserve},
	{name: "hooked", of: openshift, says: both("Deleting", ""), bring: hookDrain, release: unhook},
	{name: "drained", of: openshift, says: both("Deleting", ""), bring: hookTermination, release: unhook},
	{name: "draining", says: both("Deleting", "Terminating"), bring: blockDrain, release: allowDrain},
	{name: "ending", spec: "deleteLatency: 1h", says: both("Deleting", "Terminating"), bring: deleteRunning},
	{name: "rollout", pool: "MachineDeployment", replicas: 2, strategy: rolling, says: both("Provisioned Running Running", "Pending Running Running"), bring: rollOut},
	{name: "paused", pool: "MachineDeployment", replicas: 1, strategy: rolling, says: both("Running", "Running"), bring: pauseAndRollOut, release: resume},
	{name: "inplace", of: gardener, pool: "MachineDeployment", replicas: 2, strategy: inPlace, says: both("", "InPlaceUpdating Running"), bring: updateInPlace, release: finishUpdates},
	{name: "remedied", pool: "MachineSet", replicas: 1, says: both("Deleting Running", "Running Terminating"), bring: replaceUnhealthy, release: allowDrain},
}

func both(os, ga string) map[string]string { return map[string]string{openshift: os, gardener: ga} }

func (u *upgrade) held(d dialect, p phase, name string) held {
	return held{t: u.t, f: u.Fleet, u: u, d: d, p: p, name: name}
}

// all returns the phases in both APIs.
func (u *upgrade) all() (all []held) {
	for _, p := range phases {
		for _, d := range dialects {
			if p.of == "" || p.of == d.name {
				all = append(all, u.held(d, p, p.name+"-"+d.name))
			}
		}
	}
	return all
}

// build brings the fleet into all phases.
func (u *upgrade) build() {
	u.t.Helper()
	all := u.all()
	for _, h := range all {
		h.create()
	}
	for _, h := range all {
		if h.p.bring != nil {
			h.p.bring(h)
		}
	}
	for _, h := range all {
		h.reaches()
	}
	s, from, _ := stateful(u.t, u.Fleet, dialects[1])
	dialects[1].remove(u.t, u.Fleet, from)
	s.leaving(u.t, from, "db-gardener-0", "db-gardener-1")
	u.says("%d phases are reached", len(all)+1)
}

// manifest fills in a file of testdata.
func (h held) manifest() string {
	file, secret, spec := "upgrade-machine-", fleet.UserDataSecret, h.p.spec
	if h.p.pool != "" {
		file = "upgrade-pool-"
	}
	if h.p.name == "unready" {
		secret = h.name
	}
	if !strings.Contains(spec, "deleteLatency") {
		spec = strings.TrimPrefix(spec+", deleteLatency: 500ms", ", ")
	}
	return strings.NewReplacer("KIND", h.p.pool, "REPLICAS", fmt.Sprint(h.p.replicas), "STRATEGY", h.p.strategy, "SECRET", secret, "SPEC", spec).
		Replace(manifest(h.t, file+h.d.name+".yaml", h.name))
}

func (h held) create() {
	h.t.Helper()
	if h.p.name == "adopted" {
		h.plant()
	}
	kubectl(h.t, h.f, h.manifest(), "apply", "-f", "-")
}

// plant creates the instance as another implementation does.
func (h held) plant() {
	h.t.Helper()
	spec := fmt.Appendf(nil, `{"apiVersion":%q,"kind":"KubemarkMachineProviderConfig","backend":"kwok","deleteLatency":"500ms"}`, specVersions[h.d.group])
	class := provider.Class{API: h.d.group, Cluster: h.d.cluster, Spec: spec}
	config, err := h.f.Plane.RESTConfig()
	if err != nil {
		h.t.Fatal(err)
	}
	other, err := kubemark.New(kubemark.Config{Dir: fleet.CloudDir(h.f.Dir), Backend: kubemark.Kwok, Target: config})
	if err == nil {
		_, err = other.Console().Plant(h.t.Context(), class, provider.Instance{Name: h.name})
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// machines returns the machines with the name, or of the pool with the name.
func (h held) all(ctx context.Context) ([]fleet.Machine, error) {
	return machines(ctx, h.f, h.d.group, h.name)
}

// reaches waits until the machines report the phases.
func (h held) reaches() {
	h.t.Helper()
	h.say(h.p.says[h.d.name])
}

func (h held) say(want string) {
	h.t.Helper()
	eventually(h.t, fmt.Sprintf("%s is %q", h.name, want), func(ctx context.Context) (string, error) {
		all, err := h.all(ctx)
		var said []string
		why := ""
		for _, m := range all {
			said, why = append(said, m.Phase), why+m.Why
		}
		slices.Sort(said)
		if got := strings.Join(said, " "); err != nil || got != want || len(all) == 0 {
			return fmt.Sprintf("it is %q: %s", got, why), err
		}
		return "", nil
	})
}

// run waits until all machines are Running, and returns the first.
func (h held) run() string {
	h.t.Helper()
	h.say(strings.TrimSpace(strings.Repeat("Running ", max(h.p.replicas, 1))))
	all, err := h.all(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return all[0].Name
}

func (h held) patch(kind, name, format string, args ...any) {
	h.t.Helper()
	merge(h.t, h.f, h.d.object(kind, name), fmt.Sprintf(format, args...))
}

func giveSecret(h held) { userData(h.t, h.f, h.d, h.name) }

// giveRoom adds capacity for a machine of machine.openshift.io. The other API repeats its request only after minutes: its
// machine is deleted without ever having had an instance.
func giveRoom(h held) {
	if h.d.name == gardener {
		deleteMachine(h)
		return
	}
	h.set("quota", "null")
}

// hideInListings makes listings show the instance of a running machine only an hour after its creation.
func hideInListings(h held) {
	h.run()
	h.set("readLag", `"1h"`)
}

func showInListings(h held) { h.set("readLag", "null") }

// set changes a field of the provider's spec.
func (h held) set(field, value string) {
	h.t.Helper()
	if h.d.name == openshift {
		h.patch("Machine", h.name, `{"spec":{"providerSpec":{"value":{%q:%s}}}}`, field, value)
		return
	}
	h.patch("MachineClass", h.name, `{"providerSpec":{%q:%s}}`, field, value)
}

// putPod creates a pod on the node of the first machine, with a budget that allows no eviction.
func putPod(h held) {
	name := h.run()
	kubectl(h.t, h.f, manifest(h.t, "pod.yaml", name), "apply", "-f", "-")
	ready(h.t, h.f, name)
}

func deleteMachine(h held) { h.d.remove(h.t, h.f, h.name) }

func blockDrain(h held) { putPod(h); deleteMachine(h) }

func allowDrain(h held) {
	all, err := h.all(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, m := range all {
		pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: m.Name}}
		if err := client.IgnoreNotFound(h.f.Client.Delete(h.t.Context(), pdb)); err != nil {
			h.t.Fatal(err)
		}
	}
}

// check creates a health check for the machines.
func (h held) check(timeout string) {
	if h.d.name == openshift {
		check := strings.ReplaceAll(manifest(h.t, "upgrade-check.yaml", h.name), "TIMEOUT", timeout)
		kubectl(h.t, h.f, check, "apply", "-f", "-")
	}
}

func turnUnhealthy(h held) {
	name := h.run()
	if h.d.name == gardener {
		h.patch("Machine", name, `{"spec":{"healthTimeout":"1h"}}`)
	}
	h.check("1h")
	deadlocked(h.t, h.f, name, corev1.ConditionTrue)
}

func turnHealthy(h held) { deadlocked(h.t, h.f, h.name, corev1.ConditionFalse) }

func turnFailed(h held) {
	name := h.run()
	h.patch("Machine", name, `{"spec":{"healthTimeout":"1s"}}`)
	deadlocked(h.t, h.f, name, corev1.ConditionTrue)
}

// replaceUnhealthy starts the replacement of a machine with an unhealthy node, while a budget blocks the eviction of its pod.
func replaceUnhealthy(h held) {
	putPod(h)
	h.check("1s")
	all, err := h.all(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	if h.d.name == gardener {
		h.patch("MachineSet", h.name, `{"spec":{"template":{"spec":{"healthTimeout":"1s"}}}}`)
	}
	deadlocked(h.t, h.f, all[0].Name, corev1.ConditionTrue)
}

func preserve(h held) {
	h.patch("Machine", h.run(), `{"metadata":{"annotations":{%q:"now"}}}`, v1alpha1.AnnotationKeyPreserve)
	preserved(h.t, h.f, h.name)
}

func unpreserve(h held) {
	h.patch("Machine", h.name, `{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationKeyPreserve)
}

func hookDrain(h held) {
	putPod(h)
	h.patch("Machine", h.name, `{"spec":{"lifecycleHooks":{"preDrain":[{"name":"backup","owner":"test"}]}}}`)
	deleteMachine(h)
}

func hookTermination(h held) {
	h.patch("Machine", h.run(), `{"spec":{"lifecycleHooks":{"preTerminate":[{"name":"audit","owner":"test"}]}}}`)
	deleteMachine(h)
	h.d.says(h.t, h.f, h.name, "Drain finished successfully")
}

func unhook(h held) {
	allowDrain(h)
	h.patch("Machine", h.name, `{"spec":{"lifecycleHooks":null}}`)
}

func deleteRunning(h held) { h.run(); deleteMachine(h) }

// rollOut changes the template to machines that boot when the test lets them.
func rollOut(h held) {
	h.run()
	if h.d.name == openshift {
		h.patch("MachineDeployment", h.name, `{"spec":{"template":{"spec":{"providerSpec":{"value":{"bootLatency":%q}}}}}}`, slow)
		return
	}
	h.patch("MachineDeployment", h.name, `{"spec":{"template":{"spec":{"class":{"name":%q}}}}}`, h.name+"-next")
}

func pauseAndRollOut(h held) {
	h.run()
	h.patch("MachineDeployment", h.name, `{"spec":{"paused":true}}`)
	rollOut(h)
}

func resume(h held) { h.patch("MachineDeployment", h.name, `{"spec":{"paused":false}}`) }

// updateInPlace starts an update of one node, which is selected and drained. The test simulates its agent, which has not begun.
func updateInPlace(h held) {
	rollOut(h)
	eventually(h.t, "a node is ready for its update", func(ctx context.Context) (string, error) {
		nodes, err := h.inPlace(ctx)
		for _, n := range nodes {
			for _, c := range n.Status.Conditions {
				if c.Type == v1alpha1.NodeInPlaceUpdate && c.Reason == v1alpha1.ReasonReadyForUpdate {
					return "", err
				}
			}
		}
		return fmt.Sprintf("none of %d", len(nodes)), err
	})
}

func (h held) inPlace(ctx context.Context) ([]corev1.Node, error) {
	var list corev1.NodeList
	err := h.f.Client.List(ctx, &list, client.MatchingLabels{"worker.gardener.cloud/pool": h.name})
	return list.Items, err
}

// updated simulates the agents until all nodes have their update.
func finishUpdates(h held) {
	done := map[string]bool{}
	eventually(h.t, "all nodes are updated", func(ctx context.Context) (string, error) {
		nodes, err := h.inPlace(ctx)
		for _, n := range nodes {
			if n.Labels[v1alpha1.LabelKeyNodeSelectedForUpdate] == "true" && !done[n.Name] {
				merge(h.t, h.f, &n, fmt.Sprintf(`{"metadata":{"labels":{%q:"successful"}}}`, v1alpha1.LabelKeyNodeUpdateResult))
				done[n.Name] = true
			}
		}
		if len(done) < h.p.replicas {
			return fmt.Sprintf("%d are", len(done)), err
		}
		return "", err
	})
}

// moments creates machines that are about to get an instance, in both APIs, and stops them there.
func (u *upgrade) moments(n int) (all []held) {
	u.t.Helper()
	u.gate.set(false)
	for _, prefix := range []string{askedMachines, createdMachines} {
		for _, d := range dialects {
			h := u.held(d, phase{name: prefix}, fmt.Sprint(prefix, n, "-", d.name))
			h.create()
			all = append(all, h)
		}
	}
	for _, h := range all {
		eventually(u.t, h.name+" stops", func(ctx context.Context) (string, error) {
			if !u.gate.holds(h.name) {
				return "nothing that is written about it is held", nil
			}
			return "", nil
		})
		if has := u.hasInstance(h.name); has != (h.p.name == createdMachines) {
			u.t.Errorf("%s has an instance: %t", h.name, has)
		}
	}
	return all
}

// fresh creates machines in both APIs while no program runs, so that no request was sent for them.
func (u *upgrade) fresh(n int) (all []held) {
	u.t.Helper()
	for _, d := range dialects {
		h := u.held(d, phase{name: freshMachines}, fmt.Sprint(freshMachines, n, "-", d.name))
		h.create()
		all = append(all, h)
	}
	return all
}

// hasten ends the latencies of the infrastructure.
func (u *upgrade) hasten(ctx context.Context) error {
	for _, d := range dialects {
		instances, err := u.console.Instances(ctx, d.cluster)
		if err != nil {
			return err
		}
		for _, i := range instances {
			if err := u.console.Hasten(ctx, d.cluster, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// release removes all obstacles, and waits until all machines that are not under deletion run.
func (u *upgrade) release() {
	u.t.Helper()
	for _, h := range u.all() {
		if h.p.release != nil {
			h.p.release(h)
		}
	}
	s := storage{u.Fleet, "db-gardener.example.com"}
	first, others := s.leaving(u.t, "from-gardener", "db-gardener-0", "db-gardener-1")
	for _, volume := range append([]string{first}, others...) {
		s.detach(u.t, volume, "from-gardener")
		s.attach(u.t, volume, "to-gardener")
	}
	eventually(u.t, "all machines run", func(ctx context.Context) (string, error) {
		if err := u.hasten(ctx); err != nil {
			return "", err
		}
		all, err := u.Census(ctx)
		var waits []string
		for _, m := range all {
			if !m.Ready() {
				waits = append(waits, fmt.Sprintf("%s of %s is %s, deleted %t, node Ready=%s: %s", m.Name, m.API, m.Phase, m.Deleted, m.NodeReady, m.Why))
			}
		}
		return strings.Join(waits, "; "), err
	})
	u.says("all is released")
}
