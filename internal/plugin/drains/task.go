package drains

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/plugin/budgets"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// task is one drain.
type task struct {
	Order
	manager  *Manager
	stop     context.CancelFunc
	done     chan struct{}
	cluster  *node.Cluster
	progress Progress // under the lock of the manager
	// begun says that the node was cordoned: machine disruption budgets are not asked any more.
	begun bool
	// seen are the pods that had to leave, in the order in which they were seen.
	seen []types.NamespacedName
}

func newTask(m *Manager, o Order, stop context.CancelFunc) *task {
	return &task{
		Order: o, manager: m, stop: stop, done: make(chan struct{}), cluster: node.New(o.Target, o.Target, m.clock),
		progress: Progress{Node: o.Node.Name, State: Waiting, Begun: m.clock.Now(), Pods: []Pod{}},
	}
}

const (
	// askEvery is how often machine disruption budgets are asked, and failures are retried.
	askEvery = 5 * time.Second
	// lookEvery is the longest time between two looks at the pods.
	lookEvery = 10 * time.Second
)

// drain makes one pass after another until the drain is over.
func (r *task) drain(ctx context.Context) {
	defer close(r.done)
	defer r.stop()
	for {
		p, after := r.pass(ctx)
		if ctx.Err() != nil {
			r.set(Progress{State: Ended, Message: "with the server of the page"})
			break
		}
		if r.set(p); p.State.Over() {
			break
		}
		select {
		case <-ctx.Done():
		case <-r.manager.clock.After(after):
		}
	}
	r.manager.mu.Lock()
	p := r.progress
	r.manager.mu.Unlock()
	r.Log(strings.ToLower(string(p.State)) + ", " + p.Message)
}

// set stores the progress, unless the drain is over.
func (r *task) set(p Progress) bool {
	r.manager.mu.Lock()
	was := r.progress
	if was.State.Over() {
		r.manager.mu.Unlock()
		return false
	}
	p.Node, p.Begun = was.Node, was.Begun
	if p.Pods == nil {
		p.Pods = was.Pods
	}
	if p.State.Over() {
		p.Over = r.manager.clock.Now()
	}
	r.progress = p
	r.manager.mu.Unlock()
	r.manager.changed(r.Machine)
	return true
}

// pass makes one pass, and returns the time until the next one.
func (r *task) pass(ctx context.Context) (Progress, time.Duration) {
	n := &corev1.Node{}
	switch err := r.Target.Get(ctx, client.ObjectKeyFromObject(r.Node), n); {
	case apierrors.IsNotFound(err), err == nil && n.UID != r.Node.UID:
		return Progress{State: Ended, Message: "the node does not exist any more"}, 0
	case err != nil:
		return r.failed("read the node", err)
	}
	if p, after := r.permitted(ctx); p != nil {
		return *p, after
	}
	n, held, err := r.cluster.Cordon(ctx, n, node.Want{})
	switch {
	case err != nil:
		return r.failed("cordon the node", err)
	case held != "":
		return Progress{State: Waiting, Message: held}, askEvery
	}
	if !r.begun {
		if p := r.unmanaged(ctx, n); p != nil {
			return *p, askEvery
		}
		r.begun = true
	}
	d, err := r.cluster.Drain(ctx, n, policyOf(r.Machine))
	if err != nil {
		return r.failed("drain the node", err)
	}
	p := Progress{State: Draining, Message: d.Message, Pods: r.pods(d)}
	if d.Done {
		p.State, p.Message = Done, left(len(p.Pods))
	}
	return p, min(max(d.Next, time.Second), lookEvery)
}

func left(pods int) string {
	if pods == 1 {
		return "1 pod has left the node"
	}
	return fmt.Sprintf("%d pods have left the node", pods)
}

// permitted asks the machine disruption budgets before the drain begins; nil: they permit it. A drain that has begun continues, as
// those of machine controllers do.
func (r *task) permitted(ctx context.Context) (*Progress, time.Duration) {
	m := r.Machine.DeepCopyObject().(client.Object)
	switch err := r.Control.Get(ctx, client.ObjectKeyFromObject(r.Machine), m); {
	case apierrors.IsNotFound(err), err == nil && m.GetUID() != r.Machine.GetUID():
		return &Progress{State: Ended, Message: "the machine does not exist any more"}, 0
	case err != nil:
		p, after := r.failed("read the machine", err)
		return &p, after
	case m.GetDeletionTimestamp() != nil:
		return &Progress{State: Ended, Message: "the machine is in deletion: its controller drains the node"}, 0
	}
	if r.begun {
		return nil, 0
	}
	all, err := budgets.Read(ctx, r.Control)
	if err != nil {
		p, after := r.failed("ask the machine disruption budgets", err)
		return &p, after
	}
	now := r.manager.clock.Now()
	a := budgets.Ask(now, all, budgets.Machine{UID: m.GetUID(), Labels: m.GetLabels()}, v1alpha1.ReasonManual)
	if a.Granted {
		return nil, 0
	}
	return &Progress{State: Waiting, Message: "waits for " + a.Message}, askEvery
}

// unmanaged ends the drain if it would delete pods for good; nil: it would not. The node is cordoned, so that no such pod comes later.
func (r *task) unmanaged(ctx context.Context, n *corev1.Node) *Progress {
	pods, err := podsOn(ctx, r.Target, n.Name)
	if err != nil {
		p, _ := r.failed("look at the pods", err)
		return &p
	}
	if err := refused(drain.Facts{Node: n, Pods: pods}); err != nil {
		return &Progress{State: Failed, Message: err.Error()}
	}
	return nil
}

// failed returns the progress after a failure. A denied request is not tried again.
func (r *task) failed(doing string, err error) (Progress, time.Duration) {
	p := Progress{State: Waiting, Message: doing + ": " + err.Error()}
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		p.State = Failed
	case r.begun:
		p.State = Draining
	}
	return p, askEvery
}

// pods returns the pods that had to leave: those that are still there first.
func (r *task) pods(d drain.Decision) []Pod {
	left := map[types.NamespacedName]Pod{}
	for _, t := range slices.Concat(d.Evict, d.Delete) {
		r.see(t.Pod)
	}
	for _, b := range slices.Concat(d.Blocked, d.Waiting) {
		if _, known := left[b.Pod]; known || b.Pod.Name == "" {
			continue
		}
		r.see(b.Pod)
		p := Pod{Namespace: b.Pod.Namespace, Name: b.Pod.Name, Reason: string(b.Reason), Detail: b.Detail, Since: b.Since}
		if b.Budget.Name != "" {
			p.Budget = b.Budget.String()
		}
		left[b.Pod] = p
	}
	out := []Pod{}
	for _, name := range r.seen {
		if p, is := left[name]; is {
			out = append(out, p)
		}
	}
	for _, name := range r.seen {
		if _, is := left[name]; !is {
			out = append(out, Pod{Namespace: name.Namespace, Name: name.Name})
		}
	}
	return out
}

func (r *task) see(pod types.NamespacedName) {
	if !slices.Contains(r.seen, pod) {
		r.seen = append(r.seen, pod)
	}
}
