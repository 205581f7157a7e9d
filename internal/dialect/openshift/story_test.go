package openshift_test

import (
	"errors"
	"flag"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	lens "github.com/millwright-dev/millwright/internal/dialect/dialecttest"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

var update = flag.Bool("update", false, "write the golden files anew")

type (
	chapter = lens.Chapter[*machinev1.Machine]
	effects = map[lifecycle.Step]func(*lifecycle.World)
)

// freshMachine is what a user creates.
func freshMachine() *machinev1.Machine {
	m := &machinev1.Machine{
		TypeMeta: metav1.TypeMeta{APIVersion: "machine.openshift.io/v1beta1", Kind: "Machine"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "openshift-machine-api", Name: "m-1", UID: "uid-1", CreationTimestamp: metav1.NewTime(lens.Now),
			Labels: map[string]string{
				"machine.openshift.io/cluster-api-cluster": "blue", "machine.openshift.io/cluster-api-machine-role": "worker",
			},
		},
	}
	m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"kind":"KubemarkMachineProviderSpec"}`)}
	return m
}

func deletedAt(after time.Duration) func(*machinev1.Machine) {
	return func(m *machinev1.Machine) {
		at := metav1.NewTime(lens.Now.Add(after))
		m.DeletionTimestamp = &at
	}
}

func labelled(w lifecycle.World) lifecycle.World {
	w.Instances.ProviderStatus = []byte(`{"instanceId":"i-1","instanceState":"running"}`)
	return w
}

// TestMachineStory pins every way in which a pass ends, as the object that it
// leaves: section 2.2 and 2.4 of the specification, with the conditions of 1.6.
func TestMachineStory(t *testing.T) {
	running, ready := lens.Instance(provider.Running), lens.Node(corev1.ConditionTrue)
	cordoned := ready.DeepCopy()
	cordoned.Spec.Unschedulable = true
	spot := lens.Instance(provider.Running)
	spot.Interruptible = true
	stale := lens.World(running, ready)
	stale.Node.Stale = true
	blind := lens.World(nil, nil)
	blind.Instances.Looked, blind.Instances.Err = false, errors.New("connection reset")
	undecodable := lens.World(nil, nil)
	undecodable.Instances.Looked, undecodable.Session.Err = false, provider.InvalidField("spec.providerSpec.value.zone", "unknown field")
	classGone := lens.World(nil, nil)
	classGone.Instances.Looked, classGone.Session.Err = false, errors.New("credentialsSecret: not found")
	unanswered := lens.World(nil, nil)
	unanswered.Unlisted = lifecycle.Unlisted{For: 5 * time.Second, Sent: true, Err: provider.Errorf(provider.Transient, "connection reset")}
	noUserData := lens.World(nil, nil)
	noUserData.Session.UserDataErr = errors.New("spec.providerSpec.value.userDataSecret.name: secret ns/x has no key userData")
	quota := provider.Errorf(provider.Exhausted, "quota of 3 instances is used up")
	invalid := provider.InvalidField("spec.providerSpec.value.zone", "there is no zone q")
	blocked := drain.Decision{
		Message: "1 pod has to leave: db/db-0 (disruption budget db has no room)", Next: time.Minute,
		Blocked: []drain.Blocker{{Pod: types.NamespacedName{Namespace: "db", Name: "db-0"}, Reason: drain.ReasonBudget}},
	}
	ending := drain.Decision{
		Message: "1 pod has to leave: web/web-0 (terminating)", Next: time.Second,
		Waiting: []drain.Blocker{{Pod: types.NamespacedName{Namespace: "web", Name: "web-0"}, Reason: drain.ReasonTerminating}},
	}
	hook := func(m *machinev1.Machine) {
		m.Spec.LifecycleHooks.PreDrain = []machinev1.LifecycleHook{{Name: "EtcdQuorumOperator", Owner: "etcd-operator"}}
		m.Spec.LifecycleHooks.PreTerminate = []machinev1.LifecycleHook{{Name: "Backup", Owner: "backup-operator"}}
	}
	both := func(edits ...func(*machinev1.Machine)) func(*machinev1.Machine) {
		return func(m *machinev1.Machine) {
			for _, e := range edits {
				e(m)
			}
		}
	}
	drop := func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreDrain = nil }
	done := lens.Drained(drain.Decision{Done: true})
	abandoned := drain.Decision{Done: true, Ignored: []drain.Ignored{{Reason: drain.ReasonDeadline}, {Reason: drain.ReasonDaemonSet}, {Reason: drain.ReasonDeadline}}}

	lens.Story[*machinev1.Machine]{
		Dialect: openshift.Machines{}, Fresh: freshMachine(), Dir: "testdata/machine", Update: *update,
		Chapters: []chapter{
			{
				Name: "create-pending", Reason: "2.2 step 9: created in the pass that held it; Provisioning until the instance runs, provider ID at once",
				World: lens.World(nil, nil), Effects: effects{lifecycle.Create: lens.Created(lens.Instance(provider.Pending))},
				Events: []string{"Normal Create: Created Machine m-1"},
			},
			{
				Name: "provisioned", Reason: "2.2 step 7d: the instance is there, no node yet", From: "create-pending", After: 8 * time.Second,
				World: labelled(lens.World(running, nil)),
			},
			{
				Name: "running", Reason: "2.2 step 7e and 5: node linked, its readiness is irrelevant", From: "provisioned", After: 30 * time.Second,
				World: stale, Effects: effects{lifecycle.SyncNode: lens.Adopted},
			},
			{
				Name: "running-not-ready", Reason: "2.2: Running stays, whatever becomes of the node", From: "running", After: time.Hour,
				World: lens.World(running, lens.Node(corev1.ConditionUnknown)),
			},
			{
				Name: "node-recreated", Reason: "13.2 C12: a node of the same name and another UID is linked anew", From: "running", After: time.Hour,
				World: lens.World(running, reborn()),
			},
			{
				Name: "interruptible", Reason: "1.5: spot instances are marked on the machine and, through spec.metadata, on the node",
				World: lens.World(nil, nil), Effects: effects{lifecycle.Create: lens.Created(spot)},
				Events: []string{"Normal Create: Created Machine m-1"},
			},
			{
				Name: "hooks-on-living", Reason: "1.6: hooks show as Drainable and Terminable False from the start", From: "running", After: time.Hour,
				Edit: hook, World: lens.World(running, ready),
			},
			{
				Name: "invalid-object", Reason: "2.2 step 2: the field is named in a condition and in one event, the phase is not changed",
				Edit: func(m *machinev1.Machine) { delete(m.Labels, "machine.openshift.io/cluster-api-cluster") }, World: lens.World(nil, nil),
				Events: []string{"Warning FailedValidate: metadata.labels[machine.openshift.io/cluster-api-cluster]: missing machine.openshift.io/cluster-api-cluster label."},
			},
			{
				Name: "create-unanswered", Reason: "an answer was lost: the instance is not said to exist before the infrastructure lists it",
				World: unanswered, Events: []string{"Warning FailedCreate: connection reset"},
			},
			{
				Name: "create-exhausted", Reason: "2.2 step 9b: retried for ever, the condition says why",
				World: lens.World(nil, nil), Effects: effects{lifecycle.Create: lens.Failed(lifecycle.Create, quota)},
				Events: []string{"Warning FailedCreate: quota of 3 instances is used up"},
			},
			{
				Name: "create-invalid", Reason: "2.2 step 9b: InvalidConfiguration is terminal; instance-state Unknown",
				World: lens.World(nil, nil), Effects: effects{lifecycle.Create: lens.Failed(lifecycle.Create, invalid)},
				Events: []string{"Warning FailedCreate: spec.providerSpec.value.zone: there is no zone q"},
			},
			{
				Name: "spec-undecodable", Reason: "issue, bad input: an unknown field of the provider spec is named, and final",
				World: undecodable, Events: []string{"Warning FailedCreate: spec.providerSpec.value.zone: unknown field"},
			},
			{
				Name: "user-data-missing", Reason: "issue, bad input: nothing is bought without boot data",
				World: noUserData, Events: []string{"Warning FailedCreate: spec.providerSpec.value.userDataSecret.name: secret ns/x has no key userData"},
			},
			{
				Name: "lookup-failed-new", Reason: "2.2 step 6: InstanceExists Unknown, nothing is created",
				World: blind, Events: []string{"Warning FailedCreate: connection reset"},
			},
			{
				Name: "lookup-failed-running", Reason: "2.2 step 6: InstanceExists Unknown, the machine lives on by its node", From: "running", After: time.Hour,
				World: withNode(blind, ready),
			},
			{
				Name: "instance-vanished", Reason: "2.2 step 8: errorMessage, no errorReason; instance states become Unknown", From: "running", After: time.Hour,
				World: lens.World(nil, lens.Node(corev1.ConditionUnknown)), Events: []string{"Warning FailedCreate: can't find created instance"},
			},
			{
				Name: "instance-contradicted", Reason: "different: the node is Ready, so the answer that there is no instance is not believed", From: "running", After: time.Hour,
				World: lens.World(nil, ready), Events: []string{"Warning InstanceContradicted: the infrastructure does not list instance kubemark:///north-a/i-1, but node node-1 reports Ready under it: " +
					"check the credentials and their account; until then the controller does not touch the instance"},
			},
			{
				Name: "failed-stays", Reason: "2.2 step 5: nothing leaves Failed", From: "instance-vanished", After: time.Hour, World: lens.World(nil, lens.Node(corev1.ConditionUnknown)),
			},
			{
				Name: "delete-draining", Reason: "2.4: pods that end take their time, which is no trouble: a condition, no event", From: "running", After: 2 * time.Hour,
				Edit: deletedAt(2 * time.Hour), World: lens.World(running, ready), Effects: effects{lifecycle.Drain: lens.Drained(ending)},
			},
			{
				Name: "delete-drain-blocked", Reason: "13.2 C1: what blocks a drain shows in a condition and an event", From: "running", After: 2 * time.Hour,
				Edit: deletedAt(2 * time.Hour), World: lens.World(running, ready), Effects: effects{lifecycle.Drain: lens.Drained(blocked)},
				Events: []string{"Normal DrainRequeued: Node drain requeued: 1 pod has to leave: db/db-0 (disruption budget db has no room)"},
			},
			{
				Name: "delete-terminating", Reason: "2.4 and 2.2 step 4f: drained, the instance is on its way out", From: "delete-draining", After: time.Minute,
				World: lens.World(running, ready), Effects: effects{lifecycle.Drain: done, lifecycle.Terminate: lens.Removing},
				Events: []string{"Normal DrainSucceeded: Node drain succeeded"},
			},
			{
				Name: "delete-abandoned", Reason: "the cloud takes the instance back in mid-drain: what was lost is told once", From: "delete-drain-blocked", After: time.Minute,
				World: lens.World(running, ready), Effects: effects{lifecycle.Drain: lens.Drained(abandoned), lifecycle.Terminate: lens.Removing},
				Events: []string{"Warning DrainAbandoned: Drain ended at the termination deadline of the node with 2 of its pods left"},
			},
			{
				Name: "delete-released", Reason: "2.2 step 4g and 4h: node gone, finalizer gone, phase stays Deleting", From: "delete-terminating", After: time.Minute,
				World:   lens.World(lens.Instance(provider.Stopping), ready),
				Effects: effects{lifecycle.Terminate: lens.Removed, lifecycle.DeleteNode: lens.Forgotten},
				Events:  []string{"Normal Delete: Deleted machine m-1"},
			},
			{
				Name: "delete-refused", Reason: "2.2 step 4e: told once for a row of failures, the machine stays", From: "delete-terminating", After: time.Minute,
				World:   lens.World(running, cordoned),
				Effects: effects{lifecycle.Terminate: lens.RemovalFails(provider.Errorf(provider.Denied, "credentials are not valid"))},
				Events:  []string{"Warning FailedDelete: credentials are not valid"},
			},
			{
				Name: "delete-class-missing", Reason: "13.2 C15: the way out waits for credentials and says so; the drain goes on", From: "running", After: 2 * time.Hour,
				Edit: deletedAt(2 * time.Hour), World: withNode(classGone, ready), Effects: effects{lifecycle.Drain: done},
				Events: []string{"Normal DrainSucceeded: Node drain succeeded", "Warning FailedDelete: credentialsSecret: not found"},
			},
			{
				Name: "delete-drain-skipped", Reason: "2.4: exclude-node-draining", From: "running", After: 2 * time.Hour,
				Edit: both(deletedAt(2*time.Hour), func(m *machinev1.Machine) {
					m.Annotations["machine.openshift.io/exclude-node-draining"] = ""
				}),
				World: lens.World(running, ready), Effects: effects{lifecycle.Terminate: lens.Removing},
				Events: []string{"Normal DrainSkipped: Node drain skipped"},
			},
			{
				Name: "delete-pre-drain-hook", Reason: "2.5: Deleting, and waiting for the hook's owner", From: "running", After: 2 * time.Hour,
				Edit: both(deletedAt(2*time.Hour), hook), World: lens.World(running, ready),
				Events: []string{"Normal DrainBlocked: Drain blocked by pre-drain hook"},
			},
			{
				Name: "delete-pre-terminate-hook", Reason: "2.5: drained, and waiting for the other hook's owner", From: "delete-pre-drain-hook", After: time.Minute,
				Edit: drop, World: lens.World(running, ready), Effects: effects{lifecycle.Drain: done},
				Events: []string{"Normal DrainSucceeded: Node drain succeeded"},
			},
			{
				Name: "delete-never-created", Reason: "2.2 step 4e: leftovers are asked for, and the machine goes at once", From: "create-exhausted", After: time.Minute,
				Edit: deletedAt(time.Minute), World: lens.World(nil, nil), Effects: effects{lifecycle.Terminate: lens.Removed},
				Events: []string{"Normal Delete: Deleted machine m-1"},
			},
		},
	}.Check(t)
}

func reborn() *corev1.Node {
	n := lens.Node(corev1.ConditionTrue)
	n.UID = "another-uid"
	return n
}

func withNode(w lifecycle.World, n *corev1.Node) lifecycle.World {
	w.Node.Object = n
	return w
}
