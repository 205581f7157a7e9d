package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// Exit has the facts about the deletion of a machine.
type Exit struct {
	Machine lifecycle.Machine
	Policy  lifecycle.Policy
	// Node is the machine's node; nil if it does not exist, or if NodeUnread says why it is unknown.
	Node       *corev1.Node
	NodeUnread string
	// Pods are the pods of the node with the budgets of their namespaces, and the volumes on it. Unread says
	// which pods and budgets could not be read, VolumesUnread which volumes.
	Pods                  drain.Facts
	Unread, VolumesUnread string
	// Labels are those of the machine, Owner has the facts about its set: machine disruption budgets depend on both.
	Labels map[string]string
	Owner  Owner
}

// Leave is the course of a machine's deletion.
type Leave struct {
	// Drains says that the node is drained, Pods how many pods that evicts; meaningless if Unknown says what
	// could not be read.
	Drains  bool   `json:"drains"`
	Pods    int    `json:"pods"`
	Unknown string `json:"unknown,omitempty"`
	// Hooks are the lifecycle hooks that have to be removed first.
	Hooks []string `json:"hooks,omitempty"`
	// Volumes have to be detached from the node after the pods have left; VolumesUnknown says why they are unknown.
	Volumes        []string `json:"volumes,omitempty"`
	VolumesUnknown string   `json:"volumesUnknown,omitempty"`
	// Budgets are the disruption budgets that cover pods of the node.
	Budgets []Block `json:"budgets,omitempty"`
	// Blocked are the budgets and pods that stand in the way.
	Blocked []Block `json:"blocked,omitempty"`
	// Stays is why the machine stays until a user acts; Slow is why its deletion takes longer than usual.
	Stays string `json:"stays,omitempty"`
	Slow  string `json:"slow,omitempty"`
	// Forced is the time after which the drain is forced; zero: never.
	Forced time.Duration `json:"forced,omitempty"`
}

// Block is something in the way of a drain.
type Block struct {
	// Pod is the first that has to stay; empty if the budget allows some evictions at a time.
	Pod    string `json:"pod,omitempty"`
	Budget string `json:"budget,omitempty"`
	// Allowed is how many evictions the budget allows now, Covered is how many of the node's pods it covers.
	Allowed int `json:"allowed"`
	Covered int `json:"covered,omitempty"`
	// Endless says that waiting alone does not help.
	Endless bool   `json:"endless,omitempty"`
	Message string `json:"message"`
}

// leave computes the course of a deletion at now with the lifecycle and drain engines.
func leave(now time.Time, e Exit) Leave {
	m := e.Machine
	if m.Deleted.IsZero() {
		m.Deleted = now
	}
	w := lifecycle.World{Node: lifecycle.Node{Object: e.Node, Looked: e.NodeUnread == ""}, Instances: lifecycle.Instances{Looked: true}}
	if m.Recorded.ProviderID != "" {
		w.Instances.Own = []provider.Instance{{ID: m.Recorded.ProviderID, State: provider.Running}}
	}
	var out Leave
	for _, h := range slices.Concat(m.Deletion.PreDrain, m.Deletion.PreTerminate) {
		out.Hooks = append(out.Hooks, fmt.Sprintf("%s (%s)", h.Name, h.Owner))
	}
	if len(out.Hooks) > 0 {
		out.Stays = "it waits until these hooks are removed: " + strings.Join(out.Hooks, ", ")
	}
	if e.NodeUnread != "" {
		out.Unknown = e.NodeUnread
		return out
	}
	m.Deletion.PreDrain, m.Deletion.PreTerminate = nil, nil
	d := lifecycle.DecideLife(now, m, w, e.Policy)
	if out.Drains = d.Step == lifecycle.Drain; !out.Drains {
		return out
	}
	if e.Unread != "" {
		out.Unknown = e.Unread
		return out
	}
	out.drain(now, e, d.Force)
	return out
}

// Drained is the course of a drain that a user orders for a node with these pods. No timeout ends it.
func Drained(now time.Time, n *corev1.Node, pods drain.Facts) Leave {
	out := Leave{Drains: true}
	out.drain(now, Exit{Node: n, Pods: pods}, false)
	return out
}

// drain adds the pods that the drain of the node evicts, and its obstacles.
func (l *Leave) drain(now time.Time, e Exit, force bool) {
	p := e.Policy.Drain.Policy
	p.Force = p.Force || force
	p.NodeUnreachable = lifecycle.Ready(e.Node).Status == corev1.ConditionUnknown
	p = lifecycle.Hasten(now, e.Node, p, e.Policy)
	p.CordonLead = 0
	f := e.Pods
	f.Node = e.Node
	d := drain.Decide(now, f, drain.Memory{}, p)
	asked := map[types.NamespacedName]bool{}
	for _, t := range slices.Concat(d.Evict, d.Delete) {
		asked[t.Pod] = true
	}
	for _, b := range slices.Concat(d.Waiting, d.Blocked) {
		if b.Pod.Name != "" && b.Volume == "" {
			asked[b.Pod] = true
		}
	}
	l.Pods = len(asked)
	if l.volumes(now, f, asked, p); p.VolumesOneByOne {
		l.VolumesUnknown = e.VolumesUnread
	}
	for _, o := range drain.Foresee(f, p) {
		l.foresee(o)
	}
	if !p.Force {
		l.budgets(f, asked)
	}
	l.judge(e.Policy)
}

// volumes adds the volumes for which the drain waits after these pods have left.
func (l *Leave) volumes(now time.Time, f drain.Facts, leaving map[types.NamespacedName]bool, p drain.Policy) {
	m := drain.Memory{}.Seen(now, f, p)
	f.Pods = slices.DeleteFunc(slices.Clone(f.Pods), func(o corev1.Pod) bool {
		return leaving[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}]
	})
	d := drain.Decide(now, f, m, p)
	for _, b := range slices.Concat(d.Waiting, d.Blocked) {
		if b.Volume != "" {
			l.Volumes = append(l.Volumes, b.Volume)
		}
	}
	slices.Sort(l.Volumes)
	l.Volumes = slices.Compact(l.Volumes)
}

func (l *Leave) foresee(o drain.Obstacle) {
	if o.Reason != drain.ReasonBudgetNever && o.Reason != drain.ReasonBudgets {
		return
	}
	b := Block{Pod: o.Pod.String(), Endless: o.Endless, Message: o.Message}
	if o.Budget.Name != "" {
		b.Budget = o.Budget.String()
	}
	same := func(o Block) bool { return o.Budget == b.Budget && o.Message == b.Message }
	if i := slices.IndexFunc(l.Blocked, same); i >= 0 {
		l.Blocked[i].Covered++
		return
	}
	b.Covered = 1
	l.Blocked = append(l.Blocked, b)
}

// budgets adds the budgets that allow fewer evictions now than the node has pods of them.
func (l *Leave) budgets(f drain.Facts, asked map[types.NamespacedName]bool) {
	covered := map[string]int{}
	for _, pod := range f.Pods {
		if !asked[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] || unprotected(pod) {
			continue
		}
		for _, b := range drain.Covering(pod, f.Budgets) {
			covered[b.Namespace+"/"+b.Name]++
		}
	}
	for i := range f.Budgets {
		b := &f.Budgets[i]
		name := b.Namespace + "/" + b.Name
		n, room := covered[name], drain.Room(b)
		known := slices.ContainsFunc(l.Blocked, func(o Block) bool { return o.Budget == name })
		if n == 0 || known {
			continue
		}
		l.Budgets = append(l.Budgets, Block{Budget: name, Allowed: room, Covered: n, Message: covers(name, n, "its pods", room)})
		if n > room {
			l.Blocked = append(l.Blocked, l.Budgets[len(l.Budgets)-1])
		}
	}
	slices.SortFunc(l.Blocked, func(a, b Block) int { return cmp.Or(cmp.Compare(a.Budget, b.Budget), cmp.Compare(a.Pod, b.Pod)) })
}

// covers returns "disruption budget web/web covers 2 of its pods and allows 1 disruption now".
func covers(budget string, n int, of string, room int) string {
	return fmt.Sprintf("disruption budget %s covers %d of %s and allows %s now", budget, n, of, count(room, "disruption"))
}

// together returns the budgets that allow the pods of all machines to leave only a few at a time, though no
// single machine has too many.
func together(machines []Subject) (out []Block) {
	sum := map[string]*Block{}
	var names []string
	for _, m := range machines {
		if m.Exit == nil {
			continue
		}
		for _, b := range m.Exit.Budgets {
			if sum[b.Budget] == nil {
				sum[b.Budget] = &Block{Budget: b.Budget, Allowed: b.Allowed}
				names = append(names, b.Budget)
			}
			sum[b.Budget].Covered += b.Covered
		}
	}
	alone := func(name string) bool {
		return slices.ContainsFunc(machines, func(m Subject) bool {
			return m.Exit != nil && slices.ContainsFunc(m.Exit.Blocked, func(b Block) bool { return b.Budget == name })
		})
	}
	slices.Sort(names)
	for _, name := range names {
		if b := sum[name]; b.Covered > b.Allowed && !alone(name) {
			b.Message = covers(name, b.Covered, "the pods of these machines", b.Allowed)
			out = append(out, *b)
		}
	}
	return out
}

// unprotected reports whether the API server evicts the pod regardless of its budgets.
func unprotected(p corev1.Pod) bool {
	switch p.Status.Phase {
	case corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed:
		return true
	}
	return p.DeletionTimestamp != nil
}

// judge sets how the obstacles delay the deletion.
func (l *Leave) judge(p lifecycle.Policy) {
	for _, b := range l.Blocked {
		switch {
		case b.Endless && p.Drain.Timeout == 0 && l.Stays == "":
			l.Stays = "pod " + b.Pod + ": " + b.Message
		case l.Slow == "":
			l.Slow = b.Message
		}
	}
	if l.Slow != "" && p.Drain.Timeout > 0 && slices.ContainsFunc(l.Blocked, func(b Block) bool { return b.Endless }) {
		l.Forced = p.Drain.Timeout
	}
}
