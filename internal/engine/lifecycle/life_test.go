package lifecycle_test

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// life is a machine in its world: a cloud with at most one instance and a cluster with at most one node. A
// pass over it is like that of the controller, with effects that happen at once.
type life struct {
	now time.Time
	m   lifecycle.Machine
	p   lifecycle.Policy

	instance                                *provider.Instance
	node                                    *corev1.Node
	watched                                 time.Time // when a watch saw the deletion of the node
	update                                  inplace.Node
	pods                                    []string
	classErr, findErr, createErr, deleteErr error
	replyLost                               bool
	killed                                  bool // the process is killed before it records the result of Create
	behind                                  bool // listings do not show the instance
	deletions                               int  // Delete calls until the instance is terminated
	readLag                                 time.Duration

	retry                      lifecycle.Retry
	missingSince, removedSince time.Time
	created                    int // instances ever created
	seenToGo                   bool
	story                      strings.Builder
}

func newLife(p lifecycle.Policy) *life {
	return &life{now: born, p: p, m: lifecycle.Machine{UID: "uid-1", Namespace: "ns", Name: "m-1", Created: born}}
}

// tell writes an event of the world.
func (l *life) tell(format string, args ...any) {
	fmt.Fprintf(&l.story, "%-11s %s\n", "+"+l.now.Sub(born).String(), fmt.Sprintf(format, args...))
}

// after lets time pass.
func (l *life) after(d time.Duration) *life { l.now = l.now.Add(d); return l }

// pass makes one pass and writes the decision.
func (l *life) pass() lifecycle.Decision {
	w := l.observe()
	for i := range maxSteps {
		d := lifecycle.Decide(l.now, l.m, w, l.p)
		l.write(i == 0, d)
		if d.Waits() {
			l.record(d, w)
			return d
		}
		l.perform(d, &w)
		if l.killed && d.Step == lifecycle.Create {
			l.killed, l.retry = false, lifecycle.Retry{}
			l.tell("the process is killed")
			return d
		}
		if d.Step == lifecycle.Fail || d.Step == lifecycle.Replace || d.Step == lifecycle.RemoveFinalizer {
			l.record(d, w)
			return d
		}
	}
	panic("a pass without an end:\n" + l.story.String())
}

func (l *life) write(first bool, d lifecycle.Decision) {
	at := ""
	if first {
		at = "+" + l.now.Sub(born).String()
	}
	what := []string{string(d.Step), string(d.Reason)}
	if d.Waits() || d.Step == lifecycle.Fail {
		what = append(what, "and is "+string(d.Stage))
	}
	if d.Step == lifecycle.MarkUpdate {
		what = append(what, fmt.Sprintf("the node is %q", d.Mark))
	}
	if d.Uncordon {
		what = append(what, "uncordoned")
	}
	if d.Force {
		what = append(what, "forced")
	}
	if d.After > 0 {
		what = append(what, "again in "+d.After.String())
	}
	line := fmt.Sprintf("%-11s   %s", at, strings.Join(what, ", "))
	if d.Message != "" {
		line += ": " + d.Message
	}
	l.story.WriteString(line + "\n")
}

func (l *life) observe() lifecycle.World {
	w := lifecycle.World{Instances: lifecycle.Instances{SeenToGo: l.seenToGo}, Session: lifecycle.Session{Err: l.classErr}, Retry: l.retry, Requests: l.m.Recorded.Requests, Unlisted: lifecycle.Unlisted{For: l.readLag}, MayFail: true, Node: lifecycle.Node{Looked: true, Object: l.node, Update: l.update, DeletedAt: l.watched}}
	if l.classErr != nil {
		return w
	}
	if w.Instances.Err = l.findErr; l.findErr != nil {
		return w
	}
	w.Instances.Looked = true
	if l.instance == nil || l.behind {
		l.missingSince = cmp.Or(l.missingSince, l.now)
		w.Unlisted.For = l.readLag - l.now.Sub(l.missingSince)
		return w
	}
	l.missingSince = time.Time{}
	if f := l.instance.Fault; f != nil {
		w.Instances.Fault = f
	}
	if l.instance.Exists() {
		w.Instances.Own = []provider.Instance{*l.instance}
	}
	l.m.Recorded.Provisioned = true
	return w
}

func (l *life) perform(d lifecycle.Decision, w *lifecycle.World) {
	switch d.Step {
	case lifecycle.AddFinalizer:
		l.m.HasFinalizer, l.m.Recorded.Origin, l.m.Recorded.Requests, w.Requests = true, inBlue(), asked(), asked()
	case lifecycle.Create:
		l.create(w)
	case lifecycle.MarkUpdate:
		l.enter(d.Stage)
		l.update.Mark, l.update.Since = d.Mark, l.now
		w.Node.Update = l.update
	case lifecycle.Drain:
		w.Drain.Result = &drain.Decision{Done: len(l.pods) == 0}
		if len(l.pods) > 0 {
			w.Drain.Result.Message, w.Drain.Result.Next = "still there: "+strings.Join(l.pods, ", "), 20*time.Second
		}
	case lifecycle.Terminate:
		l.terminate(w)
	case lifecycle.DeleteNode:
		l.node, w.Node.Object = nil, nil
	case lifecycle.Replace:
		l.m.Deleted = l.now
	}
}

func (l *life) create(w *lifecycle.World) {
	if l.createErr != nil {
		l.retry = lifecycle.Retry{Err: l.createErr, Step: lifecycle.Create, At: l.now, Failures: l.retry.Failures + 1}
	}
	if l.instance != nil {
		l.behind = false // Create returns the existing instance of the machine's UID
	} else if l.createErr == nil || l.replyLost {
		l.created++
		l.instance = &provider.Instance{ID: "i-1", ProviderID: "cloud:///i-1", State: provider.Pending, Created: l.now, Addresses: address}
	}
	if l.createErr == nil {
		l.retry = lifecycle.Retry{}
		w.Instances.Own = []provider.Instance{*l.instance}
	}
	w.Retry = l.retry
}

func (l *life) terminate(w *lifecycle.World) {
	if w.Removal.Err = l.deleteErr; l.deleteErr != nil {
		l.retry = lifecycle.Retry{Err: l.deleteErr, Step: lifecycle.Terminate, At: l.now, Failures: l.retry.Failures + 1}
		w.Retry = l.retry
		return
	}
	l.seenToGo = l.seenToGo || len(w.Instances.Own) > 0
	w.Instances.SeenToGo = l.seenToGo
	if l.deletions > 0 {
		l.deletions--
		l.removedSince = cmp.Or(l.removedSince, l.now)
		w.Removal.State, w.Removal.For = lifecycle.RemovalUnderway, l.now.Sub(l.removedSince)
		if l.instance != nil {
			l.instance.State = provider.Stopping
		}
		return
	}
	l.instance, w.Instances.Own, w.Removal.State = nil, nil, lifecycle.RemovalDone
}

// record stores the fields that a lens stores, without their API form.
func (l *life) record(d lifecycle.Decision, w lifecycle.World) {
	l.enter(d.Stage)
	if i := w.Instances.Of(l.m.Recorded.ProviderID); i != nil {
		l.m.Recorded.ProviderID, l.m.Recorded.Provisioned = i.ProviderID, true
	}
	if w.Node.Object != nil {
		l.m.Recorded.NodeName = w.Node.Object.Name
	}
	if d.Step == lifecycle.RemoveFinalizer {
		l.m.HasFinalizer = false
	}
}

func (l *life) enter(s lifecycle.Stage) {
	if s != l.m.Stage {
		l.m.Stage, l.m.StageSince = s, l.now
	}
}

// runs lets the instance come up, joins lets its node appear and be Ready.
func (l *life) runs() {
	l.instance.State = provider.Running
	l.tell("the instance runs")
}

// givesUp lets the infrastructure fail the accepted instance.
func (l *life) givesUp(s provider.State, why *provider.Error) {
	l.instance.State, l.instance.Fault = s, why
	l.tell("the instance is %s: %v", s, why)
}

func (l *life) joins() {
	l.node = &corev1.Node{}
	l.node.Name, l.node.Spec.ProviderID = "node-1", l.instance.ProviderID
	l.reports(corev1.ConditionTrue)
}

func (l *life) reports(ready corev1.ConditionStatus) {
	n := l.node.DeepCopy()
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Reason: "KubeletSays"}}
	n.Status.Conditions[0].LastTransitionTime.Time = l.now
	l.node = n
	l.tell("the node reports Ready %s", ready)
}

// asks writes other actors' requests for, and answers about, the node's update.
func (l *life) asks(what string, edit func(*inplace.Node)) {
	edit(&l.update)
	l.tell("%s", what)
}

func (l *life) delete() {
	l.m.Deleted = l.now
	l.tell("the machine is deleted")
}

// settle brings a new machine to Running.
func (l *life) settle() {
	l.tell("the machine is created")
	l.pass()
	l.after(8 * time.Second).runs()
	l.pass()
	l.after(30 * time.Second).joins()
	l.pass()
}
