package gardener_test

import (
	"errors"
	"flag"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	lens "github.com/millwright-dev/millwright/internal/dialect/dialecttest"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

var update = flag.Bool("update", false, "write the golden files anew")

type (
	chapter = lens.Chapter[*v1alpha1.Machine]
	effects = map[lifecycle.Step]func(*lifecycle.World)
)

// freshMachine is what a set creates.
func freshMachine() *v1alpha1.Machine {
	m := &v1alpha1.Machine{
		TypeMeta: metav1.TypeMeta{APIVersion: "machine.sapcloud.io/v1alpha1", Kind: "Machine"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shoot--a--b", Name: "m-1", UID: "uid-1", CreationTimestamp: metav1.NewTime(lens.Now),
			Labels: map[string]string{"name": "pool"},
		},
	}
	m.Spec.Class = v1alpha1.ClassSpec{APIGroup: "machine.sapcloud.io", Kind: "MachineClass", Name: "pool-a"}
	return m
}

func deletedAt(after time.Duration) func(*v1alpha1.Machine) {
	return func(m *v1alpha1.Machine) {
		at := metav1.NewTime(lens.Now.Add(after))
		m.DeletionTimestamp = &at
	}
}

func blind(classErr, lookErr error, n *corev1.Node) lifecycle.World {
	w := lens.World(nil, n)
	w.Instances.Looked, w.Session.Err, w.Instances.Err = false, classErr, lookErr
	return w
}

// thawed is a world that was out of sight for longer than the freeze takes, up
// to a moment after the machine became Unknown.
func thawed(w lifecycle.World) lifecycle.World {
	w.Connectivity = connectivity.Begin(lens.Now, connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}, connectivity.Control)
	for _, at := range []time.Duration{0, 100 * time.Hour} {
		w.Connectivity = w.Connectivity.After(connectivity.Probe{At: lens.Now.Add(at), Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Control: connectivity.Reachable}})
	}
	return w
}

// TestMachineStory pins every way in which a pass ends, as the object that it
// leaves: sections 1.3, 2.3, 2.4 and 2.7 of the specification.
func TestMachineStory(t *testing.T) {
	running, ready, silent := lens.Instance(provider.Running), lens.Node(corev1.ConditionTrue), lens.Node(corev1.ConditionUnknown)
	uninitialized := lens.Instance(provider.Running)
	uninitialized.Uninitialized = true
	unforetold := lens.Instance(provider.Running)
	unforetold.NodeName = ""
	stale := lens.World(running, ready)
	stale.Node.Stale = true
	stated := lens.World(running, nil)
	stated.Instances.ProviderStatus = []byte("driver-state-1")
	unanswered := lens.World(nil, nil)
	unanswered.Unlisted = lifecycle.Unlisted{For: 5 * time.Second, Sent: true, Err: provider.Errorf(provider.Transient, "connection reset")}
	noUserData := lens.World(nil, nil)
	noUserData.Session.UserDataErr = errors.New("machineclass pool-a: secretRef: no secret with the key userData")
	quota := provider.Errorf(provider.Exhausted, "quota [cores] is used up")
	denied := provider.Errorf(provider.Denied, "credentials are not valid")
	waits := drain.Decision{Message: "1 pod has to leave: db/db-0 (disruption budget db has no room)", Next: time.Minute}
	abandoned := drain.Decision{Done: true, Ignored: []drain.Ignored{{Reason: drain.ReasonDeadline}, {Reason: drain.ReasonDaemonSet}, {Reason: drain.ReasonDeadline}}}
	fewer := drain.Decision{Message: "1 pod has to leave: db/db-0 (terminating)", Next: time.Second}
	done := lens.Drained(drain.Decision{Done: true})
	invalid := func(m *v1alpha1.Machine) { m.Spec.Class.Kind = "" }

	lens.Story[*v1alpha1.Machine]{
		Dialect: gardener.Machines{Defaults: gardener.StandardDefaults()},
		Fresh:   freshMachine(), Dir: "testdata/machine", Update: *update,
		Chapters: []chapter{
			{
				Name: "create-pending", Reason: "2.3 steps 5 and 8: label node, priority 3, provider ID; Pending with an active timeout",
				World: lens.World(nil, nil), Effects: effects{lifecycle.Create: lens.Created(lens.Instance(provider.Pending))},
			},
			{
				Name: "joining", Reason: "2.3: the same phase while the node is awaited; the driver's state is kept", From: "create-pending", After: 8 * time.Second,
				World: stated,
			},
			{
				Name: "running", Reason: "2.4 step 2: joined; node conditions copied, timeout no longer active", From: "joining", After: 30 * time.Second,
				World: stale, Effects: effects{lifecycle.SyncNode: lens.Adopted},
				Events: []string{"Normal Joined: Machine m-1 successfully joined the cluster in 38s"},
			},
			{
				Name: "node-name-unforetold", Reason: "1.7: the label node is set from the node where the infrastructure could not tell", From: "",
				World: lens.World(unforetold, ready), Events: []string{"Normal Joined: Machine m-1 successfully joined the cluster in 0s"},
			},
			{
				Name: "joined-not-ready", Reason: "2.4: Pending until the node is healthy; its conditions are copied already", From: "joining", After: 20 * time.Second,
				World: lens.World(running, lens.Node(corev1.ConditionFalse)),
			},
			{
				Name: "initialize-failed", Reason: "2.3 step 6: the instance is recorded, CrashLoopBackOff until it is initialized", From: "",
				World: lens.World(uninitialized, nil), Effects: effects{lifecycle.Initialize: lens.Failed(lifecycle.Initialize, errors.New("tag: connection reset"))},
				Events: []string{"Warning FailedCreate: Cloud provider message - machine codes error: code = [Unavailable] message = [tag: connection reset]"},
			},
			{
				Name: "invalid-object", Reason: "1.6: surfaced in lastOperation and an event instead of a log line; no phase", Edit: invalid,
				World: lens.World(nil, nil), Events: []string{"Warning FailedCreate: Invalid machine: spec.class.kind: must be MachineClass"},
			},
			{
				Name: "create-unanswered", Reason: "an answer was lost: the instance is not said to exist before the infrastructure lists it",
				World: unanswered, Events: []string{"Warning FailedCreate: Cloud provider message - machine codes error: code = [Unavailable] message = [connection reset]"},
			},
			{
				Name: "create-exhausted", Reason: "2.3 error table: CrashLoopBackOff, errorCode for the autoscaler, brackets rounded so that clients can parse",
				World: lens.World(nil, nil), Effects: effects{lifecycle.Create: lens.Failed(lifecycle.Create, quota)},
				Events: []string{"Warning FailedCreate: Cloud provider message - machine codes error: code = [ResourceExhausted] message = [quota (cores) is used up]"},
			},
			{
				Name: "create-recovers", Reason: "1.3: CrashLoopBackOff to Pending", From: "create-exhausted", After: 10 * time.Minute,
				World: lens.World(nil, nil), Effects: effects{lifecycle.Create: lens.Created(running)},
			},
			{
				Name: "create-timeout", Reason: "1.3: the same error past the creation timeout makes it Failed", From: "create-exhausted", After: 21 * time.Minute,
				World: blind(nil, denied, nil),
				Events: []string{
					"Warning FailedCreate: Cloud provider message - machine codes error: code = [PermissionDenied] message = [credentials are not valid]",
				},
			},
			{
				Name: "join-timeout", Reason: "2.4 step 4: Failed, previous type", From: "joining", After: 20*time.Minute + time.Second,
				World: lens.World(running, nil), Events: []string{"Warning FailedCreate: Machine m-1 failed to join the cluster in 20 minutes."},
			},
			{
				Name: "class-missing", Reason: "2.2 step 5: CrashLoopBackOff that names the field", World: blind(errors.New("spec.class.name: read machineclass pool-a: not found"), nil, nil),
				Events: []string{
					"Warning FailedCreate: Cloud provider message - machine codes error: code = [Unavailable] message = [spec.class.name: read machineclass pool-a: not found]",
				},
			},
			{
				Name: "user-data-missing", Reason: "1.8: userData is mandatory for creation", World: noUserData,
				Events: []string{
					"Warning FailedCreate: Cloud provider message - machine codes error: code = [Unavailable] message = [machineclass pool-a: secretRef: no secret with the key userData]",
				},
			},
			{
				Name: "unhealthy", Reason: "2.4 step 2: Unknown, HealthCheck Processing, timeout active", From: "running", After: time.Hour, World: lens.World(running, silent),
				Events: []string{"Normal Unhealthy: Machine m-1 is unhealthy - changing MachinePhase to Unknown. Node conditions: [Ready=Unknown]"},
			},
			{
				Name: "recovered", Reason: "2.4 step 2: re-joined, HealthCheck Successful", From: "unhealthy", After: time.Minute, World: lens.World(running, ready),
				Events: []string{"Normal Recovered: Machine m-1 successfully re-joined the cluster"},
			},
			{
				Name: "thawed", Reason: "5.3: Running, timeout not active, the text that clients know", From: "unhealthy", After: 10 * time.Minute,
				World:  thawed(lens.World(running, silent)),
				Events: []string{"Normal Recovered: Machine Health Timeout was reset due to APIServer being unreachable"},
			},
			{
				Name: "health-timeout", Reason: "2.5: Failed, previous type", From: "unhealthy", After: 10 * time.Minute, World: lens.World(running, silent),
				Events: []string{
					"Warning Unhealthy: Machine m-1 health checks failing since last 10 minutes. Updating machine phase to Failed. Node Conditions: [Ready=Unknown]",
				},
			},
			{
				Name: "failed-recovered", Reason: "1.3: Failed to Running when the node is healthy again", From: "health-timeout", After: time.Minute,
				World: lens.World(running, ready), Events: []string{"Normal Recovered: Machine m-1 successfully re-joined the cluster"},
			},
			{
				Name: "delete-draining", Reason: "2.7: Terminating, with the marks from which another implementation goes on", From: "running", After: 2 * time.Hour,
				Edit: deletedAt(2 * time.Hour), World: lens.World(running, ready), Effects: effects{lifecycle.Drain: lens.Drained(waits)},
				Events: []string{
					"Normal Deleting: Drain is not done yet: 1 pod has to leave: db/db-0 (disruption budget db has no room). Will retry in next sync. Initiate node drain (begun: drain 2026-01-02T05:04:43Z)",
				},
			},
			{
				Name: "delete-draining-on", Reason: "getting further is noted, and not told again", From: "delete-draining", After: time.Minute,
				World: lens.World(running, ready), Effects: effects{lifecycle.Drain: lens.Drained(fewer)},
			},
			{
				Name: "delete-terminating", Reason: "2.7: drained, the instance is on its way out", From: "delete-draining-on", After: time.Minute,
				World: lens.World(running, ready), Effects: effects{lifecycle.Drain: done, lifecycle.Terminate: lens.Removing},
			},
			{
				Name: "delete-abandoned", Reason: "the cloud takes the instance back in mid-drain: what was lost is told once", From: "delete-draining-on", After: time.Minute,
				World: lens.World(running, ready), Effects: effects{lifecycle.Drain: lens.Drained(abandoned), lifecycle.Terminate: lens.Removing},
				Events: []string{"Warning DrainAbandoned: Drain ended at the termination deadline of the node with 2 of its pods left"},
			},
			{
				Name: "delete-released", Reason: "2.7: node gone, finalizer gone, nothing else is written", From: "delete-terminating", After: time.Minute,
				World: lens.World(running, ready), Effects: effects{lifecycle.Drain: done, lifecycle.Terminate: lens.Removed, lifecycle.DeleteNode: lens.Forgotten},
				Events: []string{"Normal Deleted: Machine and instance are deleted"},
			},
			{
				Name: "delete-refused", Reason: "2.7: Failed with the code, at the step that failed", From: "delete-terminating", After: time.Minute,
				World: lens.World(running, ready), Effects: effects{lifecycle.Drain: done, lifecycle.Terminate: lens.RemovalFails(denied)},
				Events: []string{
					"Warning FailedDelete: machine codes error: code = [PermissionDenied] message = [credentials are not valid]. Initiate VM deletion (begun: drain 2026-01-02T05:04:43Z, instance deletion 2026-01-02T05:06:43Z)",
				},
			},
			{
				Name: "delete-class-missing", Reason: "2.7: the way out needs a session, and says so", From: "running", After: 2 * time.Hour,
				Edit: deletedAt(2 * time.Hour), World: blind(errors.New("spec.class.name: not found"), nil, ready), Effects: effects{lifecycle.Drain: done},
				Events: []string{
					"Warning FailedDelete: machine codes error: code = [Unavailable] message = [spec.class.name: not found]. Now, getting VM Status (begun: drain 2026-01-02T05:04:43Z, instance deletion 2026-01-02T05:04:43Z)",
				},
			},
			{
				Name: "delete-never-created", Reason: "2.7: a machine that never had an instance goes at once", From: "create-exhausted", After: time.Minute,
				Edit: deletedAt(time.Minute), World: lens.World(nil, nil), Effects: effects{lifecycle.Terminate: lens.Removed},
				Events: []string{"Normal Deleted: Machine is deleted; it had no instance"},
			},
		},
	}.Check(t)
}
