package lifecycle_test

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// born is when the machine of the tables was created, now is the time of the decision: ten minutes later.
var (
	born = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	now  = born.Add(10 * time.Minute)
)

// patient is the policy of machine.openshift.io, brisk that of
// machine.sapcloud.io with its standard defaults.
var (
	patient = lifecycle.Policy{
		Join:   lifecycle.JoinPolicy{MissingFails: true, InvalidFails: true, LinkedIsRunning: true},
		Delays: lifecycle.Delays{Transient: 30 * time.Second, Exhausted: time.Minute, Other: time.Minute},
	}
	brisk = lifecycle.Policy{
		Join:   lifecycle.JoinPolicy{Timeout: 20 * time.Minute, HoldingTaints: []string{"critical"}},
		Health: lifecycle.HealthPolicy{Conditions: []string{"DiskPressure", "KernelDeadlock"}, Tracked: true, Timeout: 10 * time.Minute, FailedRecovers: true, NodeLossDeletes: true},
		Drain:  lifecycle.DrainPolicy{Timeout: 2 * time.Hour, UnreachableAfter: 5 * time.Minute},
		Update: lifecycle.UpdatePolicy{InPlace: true, Timeout: 20 * time.Minute},
		Delays: lifecycle.Delays{Transient: 5 * time.Second, Exhausted: 10 * time.Minute, Other: 3 * time.Minute},
	}
)

func targetless(p lifecycle.Policy) lifecycle.Policy { p.Targetless = true; return p }

var (
	errTransient = errors.New("connection reset")
	errExhausted = provider.Errorf(provider.Exhausted, "no capacity in zone a")
	errInvalid   = provider.InvalidField("spec.zone", "there is no zone q")
	errDenied    = provider.Errorf(provider.Denied, "credentials are not valid")
	errThrottled = provider.ThrottledFor(7*time.Second, errors.New("slow down"))
)

// edits change facts that a table row starts from.
type (
	machineEdit func(*lifecycle.Machine)
	worldEdit   func(*lifecycle.World)
)

func inBlue() *lifecycle.Origin { return &lifecycle.Origin{Cluster: "blue"} }

func notProvisioned(m *lifecycle.Machine) { m.Recorded.Provisioned, m.Recorded.ProviderID = false, "" }

// unasked is a machine for which no instance was ever requested.
func unasked(m *lifecycle.Machine) { m.Recorded.Origin = &lifecycle.Origin{} }

// machine is an existing machine with an instance.
func machine(edits ...machineEdit) lifecycle.Machine {
	m := lifecycle.Machine{
		UID:          "uid-1",
		Namespace:    "ns",
		Name:         "m-1",
		Created:      born,
		HasFinalizer: true,
		Recorded:     lifecycle.Recorded{Provisioned: true, ProviderID: "cloud:///i-1", Origin: inBlue(), Requests: asked()},
		Stage:        lifecycle.StageJoining,
		StageSince:   born,
	}
	for _, e := range edits {
		e(&m)
	}
	return m
}

// fresh is a new machine with a finalizer.
func fresh(edits ...machineEdit) lifecycle.Machine {
	return machine(append([]machineEdit{func(m *lifecycle.Machine) {
		m.Recorded.Provisioned, m.Recorded.ProviderID, m.Stage = false, "", lifecycle.StageNew
	}}, edits...)...)
}

// asked is one open ask.
func asked() lifecycle.Requests { return lifecycle.Requests{{Number: 1}} }

// leaving is a machine that was deleted a minute ago.
func leaving(edits ...machineEdit) lifecycle.Machine {
	return machine(append([]machineEdit{func(m *lifecycle.Machine) {
		m.Stage, m.Deleted = lifecycle.StageDeleting, now.Add(-time.Minute)
	}}, edits...)...)
}

func deletedFor(d time.Duration) machineEdit {
	return func(m *lifecycle.Machine) { m.Deleted = now.Add(-d) }
}

func stage(s lifecycle.Stage, since time.Duration) machineEdit {
	return func(m *lifecycle.Machine) { m.Stage, m.StageSince = s, now.Add(-since) }
}

func requested(ago time.Duration) machineEdit {
	return func(m *lifecycle.Machine) { m.Recorded.Requests = lifecycle.Requests{{Number: 1, At: now.Add(-ago)}} }
}

func aged(age time.Duration) machineEdit {
	return func(m *lifecycle.Machine) { m.Created = now.Add(-age) }
}

// world is a world in which the cloud and the cluster answered, and have no objects.
func world(edits ...worldEdit) lifecycle.World {
	w := lifecycle.World{Instances: lifecycle.Instances{Looked: true}, Node: lifecycle.Node{Looked: true}, MayFail: true, Session: lifecycle.Session{Origin: *inBlue()}, Requests: asked()}
	for _, e := range edits {
		e(&w)
	}
	return w
}

func having(i provider.Instance) worldEdit {
	return func(w *lifecycle.World) { w.Instances.Own = []provider.Instance{i} }
}

func inheriting(w *lifecycle.World) { w.Session.Inherited = []byte(`{"zone":"a"}`) }

func instance(s provider.State) provider.Instance {
	return provider.Instance{ID: "i-1", UID: "uid-1", ProviderID: "cloud:///i-1", State: s, Created: now.Add(-4 * time.Second), Addresses: address}
}

func joined(n *corev1.Node) worldEdit { return func(w *lifecycle.World) { w.Node.Object = n } }

// runningOn has a running instance and the node.
func runningOn(n *corev1.Node) worldEdit {
	return func(w *lifecycle.World) {
		having(instance(provider.Running))(w)
		joined(n)(w)
	}
}

func blind(err error) worldEdit {
	return func(w *lifecycle.World) { w.Instances.Looked, w.Instances.Err, w.Instances.Own = false, err, nil }
}

func classless(err error) worldEdit {
	return func(w *lifecycle.World) { w.Instances.Looked, w.Session.Err, w.Instances.Own = false, err, nil }
}

func nodeBlind(w *lifecycle.World) {
	w.Node.Object, w.Node.Looked, w.Node.Err = nil, false, errTransient
}

func onNode1(m *lifecycle.Machine) { m.Recorded.NodeName = "node-1" }

func nodeDeleted(w *lifecycle.World) { w.Node.DeletedAt = now.Add(-time.Second) }

func nodeTaken(w *lifecycle.World) { w.Node.Taken = "instance cloud:///i-9" }

func takenReady(w *lifecycle.World) { w.Node.TakenReady = true }

func failedAt(step lifecycle.Step, err error, ago time.Duration, failures int) worldEdit {
	return func(w *lifecycle.World) {
		w.Retry = lifecycle.Retry{Step: step, Err: err, At: now.Add(-ago), Failures: failures}
	}
}

func uninitialized(i provider.Instance) provider.Instance {
	i.Uninitialized = true
	return i
}

func drained(d drain.Decision) worldEdit { return func(w *lifecycle.World) { w.Drain.Result = &d } }

// node is a Ready node; further conditions are given as pairs of type and
// status.
func node(ready corev1.ConditionStatus, more ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node-uid"}}
	n.Spec.ProviderID = "cloud:///i-1"
	condition := func(t corev1.NodeConditionType, s corev1.ConditionStatus) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: t, Status: s, Reason: "Test", LastTransitionTime: metav1.NewTime(now.Add(-time.Minute)),
		})
	}
	condition(corev1.NodeReady, ready)
	for i := 0; i+1 < len(more); i += 2 {
		condition(corev1.NodeConditionType(more[i]), corev1.ConditionStatus(more[i+1]))
	}
	return n
}

func tainted(n *corev1.Node, key string) *corev1.Node {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	return n
}

func withdrawn(n *corev1.Node) *corev1.Node {
	n.DeletionTimestamp = &metav1.Time{Time: now}
	return n
}

// address is the address of the instances in the tables.
var address = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
