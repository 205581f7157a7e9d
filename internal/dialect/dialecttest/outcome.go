package dialecttest

import (
	"errors"
	"math/rand"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/drain"
	"github.com/millwright-dev/millwright/internal/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// Outcome is what a pass over the machine comes to in a random world: the
// engine decides, and effects go well or badly by chance. Some of the outcomes
// are those of a pass that has only just held the machine.
func Outcome(r *rand.Rand, m lifecycle.Machine, p lifecycle.Policy) lifecycle.Outcome {
	o := outcome(r, m, p)
	if o.Step == lifecycle.Hold || o.Step == lifecycle.Note || o.Did(lifecycle.Replace) || o.Did(lifecycle.Release) {
		return o
	}
	if m.Stage = o.Stage; r.Intn(2) == 0 {
		o.World.KeepDrain = &drain.Decision{Done: r.Intn(2) == 0, Message: "1 pod has to leave: a/b", Next: time.Second}
	}
	o.Keeping(lifecycle.Keep(Now, m, o.World, p))
	return o
}

func outcome(r *rand.Rand, m lifecycle.Machine, p lifecycle.Policy) lifecycle.Outcome {
	w := world(r)
	o := lifecycle.Outcome{World: w, At: Now}
	for range 20 {
		d := lifecycle.Decide(Now, m, o.World, p)
		o.Decision = d
		if d.Waits() {
			return o
		}
		o.Steps = append(o.Steps, d)
		switch d.Step {
		case lifecycle.Fail, lifecycle.Replace, lifecycle.Release:
			return o
		case lifecycle.Hold:
			if m.Held = true; r.Intn(2) == 0 {
				return o
			}
			o.World.Inherited, m.Origin = nil, &o.World.Origin
		case lifecycle.Note:
			if r.Intn(4) == 0 {
				return o // the machine says so before the node does
			}
			m.Stage, m.StageSince = d.Stage, Now
			o.World.Update.Mark = d.Mark
		case lifecycle.Choose:
			m.ProviderID = o.World.Instances[0].ProviderID
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
	w := lifecycle.World{ClassErr: failure(r), MayFail: r.Intn(2) == 0, NodeStale: r.Intn(3) == 0}
	if w.ClassErr == nil {
		w.Origin = lifecycle.Origin{Cluster: "blue", Region: "north", Account: []string{"", "one", "two"}[r.Intn(3)]}
		w.LookErr = failure(r)
		w.Looked = w.LookErr == nil
	}
	if w.Looked && r.Intn(3) > 0 {
		w.Instances = []provider.Instance{someInstance(r)}
	}
	if w.Looked && r.Intn(8) == 0 {
		w.Doubles, w.StandIn = []provider.Instance{someInstance(r)}, r.Intn(2) == 0
	}
	if w.Looked && r.Intn(3) == 0 {
		w.Inherited = []byte(`{"region":"north"}`)
	}
	if r.Intn(2) == 0 {
		w.ProviderStatus = []byte(`{"instanceState":"running","count":12345678901234567}`)
	}
	if w.NodeErr = failure(r); w.NodeErr == nil {
		w.NodeLooked = true
		if r.Intn(3) > 0 {
			w.Node, w.Update, w.Kept = someNode(r), someUpdate(r), someKept(r)
		}
	}
	if err := failure(r); err != nil {
		w.Retry = lifecycle.Retry{Err: err, Step: lifecycle.Create, At: Now, Failures: 1 + r.Intn(3)}
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

// someUpdate is none in every second world.
func someUpdate(r *rand.Rand) lifecycle.Update {
	marks := []lifecycle.Mark{
		lifecycle.MarkNone, lifecycle.MarkCandidate, lifecycle.MarkSelected, lifecycle.MarkDrained, lifecycle.MarkReady,
		lifecycle.MarkUpdated, lifecycle.MarkFailed,
	}
	answers := []lifecycle.Answer{lifecycle.AnswerNone, lifecycle.AnswerNone, lifecycle.AnswerDone, lifecycle.AnswerFailed}
	if r.Intn(2) == 0 {
		return lifecycle.Update{}
	}
	return lifecycle.Update{
		Candidate: r.Intn(4) > 0, Selected: r.Intn(2) == 0, Answer: answers[r.Intn(4)], Detail: "no space left",
		Mark: marks[r.Intn(len(marks))], Since: Now.Add(-time.Duration(r.Intn(10000)) * time.Second),
	}
}

// someKept is nothing in every second world.
func someKept(r *rand.Rand) lifecycle.Kept {
	if r.Intn(2) == 0 {
		return lifecycle.Kept{}
	}
	wishes := []lifecycle.Wish{
		lifecycle.WishNone, lifecycle.WishNot, lifecycle.WishNow, lifecycle.WishFailed, lifecycle.WishOwner, lifecycle.WishUnknown,
	}
	signs := []lifecycle.KeepSign{lifecycle.SignNone, lifecycle.SignKept, lifecycle.SignDraining, lifecycle.SignStopped}
	return lifecycle.Kept{Wish: wishes[r.Intn(6)], Fenced: r.Intn(2) == 0, FencedSince: Now.Add(-time.Hour), Sign: signs[r.Intn(4)]}
}

// effect is what the effect of a step may do to the world.
func effect(r *rand.Rand, s lifecycle.Step, w *lifecycle.World) {
	err := failure(r)
	switch s {
	case lifecycle.Create:
		w.Instances = []provider.Instance{someInstance(r)}
		if w.Retry = (lifecycle.Retry{}); err != nil {
			w.Instances, w.Retry = nil, lifecycle.Retry{Err: err, Step: s, At: Now, Failures: 1}
		}
	case lifecycle.Initialize:
		w.Instances[0].Uninitialized = false
		if err != nil {
			w.Instances[0].Uninitialized, w.Retry = true, lifecycle.Retry{Err: err, Step: s, At: Now, Failures: 1}
		}
	case lifecycle.Adopt:
		w.NodeStale, w.NodeErr, w.NodeLooked = false, err, err == nil
	case lifecycle.Drain:
		w.Drain = &drain.Decision{Done: err == nil && r.Intn(2) == 0, Message: "1 pod has to leave: a/b", Next: time.Second}
	case lifecycle.Terminate:
		terminated(r, err, w)
	case lifecycle.Forget:
		if w.Node = nil; err != nil {
			w.NodeErr, w.NodeLooked = err, false
		}
	}
}

func terminated(r *rand.Rand, err error, w *lifecycle.World) {
	switch {
	case err != nil:
		w.RemoveErr, w.Retry = err, lifecycle.Retry{Err: err, Step: lifecycle.Terminate, At: Now, Failures: 1}
	case r.Intn(2) == 0:
		w.Removal = lifecycle.RemovalUnderway
	default:
		w.Removal, w.Instances = lifecycle.RemovalDone, nil
	}
}

// copied has memory of its own wherever Record could take hold of it.
func copied(o lifecycle.Outcome) lifecycle.Outcome {
	o.World.Instances = slices.Clone(o.World.Instances)
	for i := range o.World.Instances {
		o.World.Instances[i].Addresses = slices.Clone(o.World.Instances[i].Addresses)
	}
	o.World.ProviderStatus = slices.Clone(o.World.ProviderStatus)
	o.World.Inherited = slices.Clone(o.World.Inherited)
	o.World.Node = o.World.Node.DeepCopy()
	return o
}
