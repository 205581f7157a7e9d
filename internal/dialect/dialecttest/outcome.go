package dialecttest

import (
	"errors"
	"math/rand"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// Outcome returns the outcome of a pass over the machine in a random world: the engine decides, and effects
// succeed or fail at random. Some of the outcomes are those of a pass that has only added the finalizer.
func Outcome(r *rand.Rand, m lifecycle.Machine, p lifecycle.Policy) lifecycle.Outcome {
	w := world(r)
	if m.Deleted.IsZero() && len(m.Faults) > 0 {
		w = lifecycle.World{MayFail: w.MayFail} // the world of such a machine is not read
	}
	o := lifecycle.Outcome{World: w, At: Now}
	for range 20 {
		d := lifecycle.Decide(Now, m, o.World, p)
		o.Decision = d
		if d.Waits() {
			return o
		}
		o.Steps = append(o.Steps, d)
		switch d.Step {
		case lifecycle.StorePreservation:
			if r.Intn(4) == 0 {
				return o // stored before the node is changed
			}
			m.Preservation.Until = d.Preserve.Machine.Until
			fallthrough
		case lifecycle.Fail, lifecycle.Replace, lifecycle.RemoveFinalizer,
			lifecycle.Maintain, lifecycle.DropToken, lifecycle.WarnOfDrain, lifecycle.MarkPreserved, lifecycle.DrainPreserved, lifecycle.TellPreserved:
			ended(r, d, &o.World)
		case lifecycle.AddFinalizer:
			if m.HasFinalizer = true; r.Intn(2) == 0 {
				return o
			}
			o.World.Session.Inherited, m.Recorded.Origin = nil, &o.World.Session.Origin
			m.Recorded.Requests = o.World.Requests
		case lifecycle.RecordRequest:
			if o.World.Requests.Open() == nil {
				o.World.Requests = o.World.Requests.Next(Now, []string{"", "a", "b"}[r.Intn(3)])
			}
			if r.Intn(2) == 0 {
				o.Decision = d
				return o
			}
			m.Recorded.Requests = o.World.Requests
		case lifecycle.MarkUpdate:
			if r.Intn(4) == 0 {
				return o // the machine records it before the node
			}
			m.Stage, m.StageSince = d.Stage, Now
			o.World.Node.Update.Mark = d.Mark
		case lifecycle.Reboot:
			o.World.Reboot, _ = m.Reboot.Saw(o.World.Reboot).Begin(Now, o.World.Session.RebootPower)
			if r.Intn(4) == 0 {
				return o // stored before the infrastructure is called
			}
			o.World.Reboot = o.World.Reboot.End(Now, failure(r))
		case lifecycle.RecordInstance:
			m.Recorded.ProviderID = o.World.Instances.Own[0].ProviderID
		default:
			effect(r, d.Step, &o.World)
		}
	}
	return o
}

func failure(r *rand.Rand) error {
	return []error{
		nil, nil, nil, nil, nil, nil, errors.New("connection reset"), provider.Errorf(provider.Denied, "not [allowed]"),
		provider.Errorf(provider.Exhausted, "no capacity"), provider.InvalidField("spec.zone", "there is no such zone"),
	}[r.Intn(10)]
}

func world(r *rand.Rand) lifecycle.World {
	w := lifecycle.World{Session: lifecycle.Session{Err: failure(r)}, MayFail: r.Intn(2) == 0, Node: lifecycle.Node{Stale: r.Intn(3) == 0}}
	if w.Session.Err == nil {
		w.Session.Origin = lifecycle.Origin{Cluster: "blue", Region: "north", Account: []string{"", "one", "two"}[r.Intn(3)], ChosenZone: []string{"", "a"}[r.Intn(2)]}
		w.Instances.Err = failure(r)
		w.Instances.Looked = w.Instances.Err == nil
	}
	if w.Instances.Looked && r.Intn(3) > 0 {
		w.Instances.Own = []provider.Instance{someInstance(r)}
	}
	if w.Instances.Looked && r.Intn(8) == 0 {
		w.Instances.Duplicates, w.Instances.Substitute = []provider.Instance{someInstance(r)}, r.Intn(2) == 0
	}
	if w.Instances.Looked && r.Intn(3) == 0 {
		w.Session.Inherited = []byte(`{"region":"north"}`)
	}
	if r.Intn(2) == 0 {
		w.Instances.ProviderStatus = []byte(`{"instanceState":"running","count":12345678901234567}`)
	}
	w.Node.Cluster = []string{"", "cluster-a", "cluster-b"}[r.Intn(3)]
	switch w.Node.Err = failure(r); {
	case w.Node.Err != nil:
	case r.Intn(12) == 0:
		w.Node.Foreign = "the cluster that answers is another one"
		w.Node.Err = lifecycle.ErrTargetReplaced
	case r.Intn(3) > 0:
		w.Node.Looked = true
		w.Node.Object, w.Node.Update, w.Node.Preservation = someNode(r), someUpdate(r), someKept(r)
	default:
		w.Node.Looked = true
		if r.Intn(3) == 0 {
			w.Node.DeletedAt = Now.Add(-time.Second)
		}
		if r.Intn(6) == 0 {
			w.Node.Doubt = "the target cluster has 1 of the 4 nodes that other machines have recorded"
		}
	}
	w.Session.RebootPower = []lifecycle.RebootPower{"", lifecycle.RebootsEachTime, lifecycle.RebootsOnce}[r.Intn(3)]
	w.Session.UserDataErr = failure(r)
	w.Upkeep = lifecycle.Upkeep{Due: r.Intn(4) == 0, At: Now.Add(-time.Duration(r.Intn(20)) * time.Minute)}
	w.Token.State = []lifecycle.TokenState{lifecycle.TokenNone, lifecycle.TokenMade, lifecycle.TokenUnknown}[r.Intn(3)]
	if w.Instances.SeenToGo = r.Intn(4) == 0; w.Instances.Looked && r.Intn(8) == 0 {
		w.Instances.Doubt = "2 of 2 machines are not listed"
	}
	if w.Instances.Looked && len(w.Instances.Own) == 0 && r.Intn(8) == 0 {
		i := someInstance(r)
		w.Instances.Removed = &i
	}
	if r.Intn(4) == 0 {
		w.Unlisted.For = time.Duration(60-r.Intn(120)) * time.Second
	}
	if err := failure(r); err != nil {
		w.Retry = lifecycle.Retry{Err: err, Step: lifecycle.Create, At: Now, Failures: 1 + r.Intn(3)}
	}
	if r.Intn(6) == 0 {
		w.Disruption = lifecycle.Disruption{Governed: true, Asked: true, Permitted: r.Intn(2) == 0, Message: "machine disruption budget a, which is paused", After: time.Minute}
		w.Disruption.Cause = []v1alpha1.DisruptionReason{"", v1alpha1.ReasonScaleDown, v1alpha1.ReasonManual}[r.Intn(3)]
	}
	return w
}

func someInstance(r *rand.Rand) provider.Instance {
	states := []provider.State{provider.Pending, provider.Running, provider.Stopped, provider.Stopping}
	i := provider.Instance{ID: "i-1", ProviderID: "cloud:///zone/i-1", State: states[r.Intn(4)], Uninitialized: r.Intn(4) == 0, Created: Now}
	if r.Intn(2) == 0 {
		i.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeExternalIP, Address: "192.0.2.1"}}
		i.Type, i.Region, i.Zone, i.RawState = "large", "north", "north-a", "running"
	}
	if r.Intn(2) == 0 {
		i.NodeName = "node-1"
	}
	i.Interruptible = r.Intn(3) == 0
	return i
}

func someNode(r *rand.Rand) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node-uid", Labels: map[string]string{"a": "b"}}}
	status := []corev1.ConditionStatus{"True", "False", "Unknown"}
	for _, t := range []corev1.NodeConditionType{"Ready", "DiskPressure"}[:1+r.Intn(2)] {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: t, Status: status[r.Intn(3)], LastTransitionTime: metav1.NewTime(Now), Reason: "Test",
		})
	}
	return n
}

// someUpdate returns an update in place, empty in every second world.
func someUpdate(r *rand.Rand) inplace.Node {
	marks := []inplace.Mark{
		inplace.MarkNone, inplace.MarkCandidate, inplace.MarkSelected, inplace.MarkDrained, inplace.MarkReady,
		inplace.MarkUpdated, inplace.MarkFailed,
	}
	answers := []inplace.Answer{inplace.AnswerNone, inplace.AnswerNone, inplace.AnswerDone, inplace.AnswerFailed}
	if r.Intn(2) == 0 {
		return inplace.Node{}
	}
	return inplace.Node{
		Request: inplace.RequestOf(r.Intn(4) > 0, r.Intn(2) == 0), Answer: answers[r.Intn(4)], Detail: "no space left",
		Mark: marks[r.Intn(len(marks))], Since: Now.Add(-time.Duration(r.Intn(10000)) * time.Second),
	}
}

// someKept returns a preservation, empty in every second world.
func someKept(r *rand.Rand) lifecycle.NodePreservation {
	if r.Intn(2) == 0 {
		return lifecycle.NodePreservation{}
	}
	wishes := []lifecycle.Wish{
		lifecycle.WishNone, lifecycle.WishNot, lifecycle.WishNow, lifecycle.WishFailed, lifecycle.WishOwner, lifecycle.WishUnknown,
	}
	signs := []lifecycle.PreserveCondition{lifecycle.PreserveNone, lifecycle.PreserveActive, lifecycle.PreserveDraining, lifecycle.PreserveStopped}
	return lifecycle.NodePreservation{Wish: wishes[r.Intn(6)], Fenced: r.Intn(2) == 0, FencedSince: Now.Add(-time.Hour), Condition: signs[r.Intn(4)]}
}

// ended returns the rest of a pass whose life has ended, by a step after that or by the one that ended it.
func ended(r *rand.Rand, d lifecycle.Decision, w *lifecycle.World) {
	if w.Final == nil {
		w.Final = &d
	}
	switch d.Step {
	case lifecycle.Maintain:
		w.Upkeep = lifecycle.Upkeep{Due: true, At: Now, Err: failure(r)}
	case lifecycle.DropToken:
		w.Token = lifecycle.Token{}
	case lifecycle.StorePreservation:
		w.Preserving.Did = d.Step
	case lifecycle.DrainPreserved:
		w.Preserving.Drain = &drain.Decision{Done: r.Intn(2) == 0, Message: "1 pod has to leave: a/b", Next: time.Second}
		w.Preserving.Did = d.Step
	case lifecycle.WarnOfDrain, lifecycle.MarkPreserved, lifecycle.TellPreserved:
		if w.Preserving.Did = d.Step; r.Intn(4) == 0 {
			w.Preserving.Err = errors.New("connection reset")
		}
	}
}

// effect applies a possible effect of a step to the world.
func effect(r *rand.Rand, s lifecycle.Step, w *lifecycle.World) {
	err := failure(r)
	switch s {
	case lifecycle.Create:
		w.Instances.Own = []provider.Instance{someInstance(r)}
		if w.Retry = (lifecycle.Retry{}); err != nil {
			w.Instances.Own, w.Retry = nil, lifecycle.Retry{Err: err, Step: s, At: Now, Failures: 1}
		}
	case lifecycle.Initialize:
		w.Instances.Own[0].Uninitialized = false
		if err != nil {
			w.Instances.Own[0].Uninitialized, w.Retry = true, lifecycle.Retry{Err: err, Step: s, At: Now, Failures: 1}
		}
	case lifecycle.SyncNode:
		w.Node.Stale, w.Node.Err, w.Node.Looked = false, err, err == nil
	case lifecycle.Drain:
		w.Drain.Result = &drain.Decision{Done: err == nil && r.Intn(2) == 0, Message: "1 pod has to leave: a/b", Next: time.Second}
	case lifecycle.Terminate:
		terminated(r, err, w)
	case lifecycle.DeleteNode:
		if w.Node.Object = nil; err != nil {
			w.Node.Err, w.Node.Looked = err, false
		}
	}
}

func terminated(r *rand.Rand, err error, w *lifecycle.World) {
	switch {
	case err != nil:
		w.Removal.Err, w.Retry = err, lifecycle.Retry{Err: err, Step: lifecycle.Terminate, At: Now, Failures: 1}
	case r.Intn(2) == 0:
		w.Removal.State = lifecycle.RemovalUnderway
	default:
		w.Removal.State, w.Instances.Own = lifecycle.RemovalDone, nil
	}
}

// copied returns a copy that shares no memory to which Record has access.
func copied(o lifecycle.Outcome) lifecycle.Outcome {
	o.World.Instances.Own = slices.Clone(o.World.Instances.Own)
	for i := range o.World.Instances.Own {
		o.World.Instances.Own[i].Addresses = slices.Clone(o.World.Instances.Own[i].Addresses)
	}
	o.World.Instances.ProviderStatus = slices.Clone(o.World.Instances.ProviderStatus)
	o.World.Session.Inherited = slices.Clone(o.World.Session.Inherited)
	o.World.Node.Object = o.World.Node.Object.DeepCopy()
	return o
}
