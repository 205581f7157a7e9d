// Package nodelink links nodes to machines where the machine controller does not: it records in a machine
// which node belongs to it, and puts on the node the labels, annotations and taints of the machine.
//
// It works beside the machine controller of a foreign provider, and beside Millwright's own, which does the
// same by itself: the second of the two finds nothing to write. One pass is about one node. It reads the
// machines that may have the node, decides ([Decide]), records the node in the machine under the version
// that it read, and brings the node up to date. Passes over one node follow one another, and two nodes
// cannot both write the same version of a machine, so a machine has one node and a node one machine.
package nodelink

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// Name is the name of the original's program, which is also the source of its events. Both use the same
// lease, [apis.API.LinkLease], so the two never act at the same time.
const Name = "nodelink-controller"

// Options are what a [Reconciler] works with.
type Options struct {
	// Client reads machines from a cache with the index of [Reconciler.Index], and writes
	// their status. Live reads them from the API server itself. Both are required.
	Client client.Client
	Live   client.Reader
	// Nodes reads nodes from a cache with the indexes of [Reconciler.Index], and writes them. NodesLive
	// reads them from the API server itself. Nil: nodes are in the same cluster as the machines.
	Nodes     client.Client
	NodesLive client.Reader
	// Clock is the real one by default.
	Clock clock.PassiveClock
	// Recorder records the events, which are about machines. Required.
	Recorder events.EventRecorder
}

// Reconciler links nodes to machines of kind M. Passes over different nodes may run in
// parallel, those over one node must not.
type Reconciler[M client.Object] struct {
	Options
	lens  dialect.Machines[M]
	links dialect.Linker[M]
	// mark is the key under which nodes name machines of this API.
	mark string
	// writes are the machines and nodes that were written.
	writes readyourwrites.Writes

	mu       sync.Mutex
	memories map[string]memory // by the name of the node
}

// memory is what a reconciler knows about one node between passes. Losing it costs at most one write and
// one repeated event.
type memory struct {
	uid types.UID
	// machine is the UID of the node's machine, seen the state of both at the last pass.
	machine string
	seen    *sight
	// told is the refusal, or the failure, that was last reported.
	told string
}

// New returns a reconciler of the nodes of machines that lens reads. It fails if machines of that API do
// not record their node.
func New[M client.Object](lens dialect.Machines[M], o Options) (*Reconciler[M], error) {
	links, ok := dialect.As[dialect.Linker[M]](lens)
	if !ok {
		return nil, fmt.Errorf("machines of %s do not record their node: there is nothing to link", lens.API())
	}
	if o.Nodes == nil {
		o.Nodes, o.NodesLive = o.Client, o.Live
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Reconciler[M]{
		Options: o, lens: lens, links: links, mark: node.MarkOf(lens.Want(lens.New(), dialect.Class{})), memories: map[string]memory{},
	}, nil
}

// conflictDelay is how long caches may catch up after another client wrote first. The event of that write
// usually comes sooner.
const conflictDelay = 100 * time.Millisecond

// refusedAgain is the pause before a node is reconciled again that looks like a machine's and was not
// linked to it. A change that matters usually wakes it sooner.
const refusedAgain = 10 * time.Minute

// Reconcile makes one pass over the node that req names.
func (r *Reconciler[M]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	p := r.pass()
	after, err := p.run(ctx, req.Name)
	now := r.Clock.Now()
	hidden := lifecycle.Earlier(p.machines.Settle(ctx, now), p.nodes.Settle(ctx, now))
	switch {
	case apierrors.IsConflict(err): // another client wrote first
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	case client.IgnoreNotFound(err) != nil: // an object that was deleted meanwhile wakes the objects that wait for that
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: lifecycle.Earlier(after, hidden)}, nil
}

// pass is one reconciliation of one node.
type pass[M client.Object] struct {
	*Reconciler[M]
	machines, nodes *readyourwrites.Client
}

func (r *Reconciler[M]) pass() *pass[M] {
	return &pass[M]{
		Reconciler: r,
		machines:   &readyourwrites.Client{Client: r.Client, Live: r.Live, Writes: &r.writes, Clock: r.Clock},
		nodes:      &readyourwrites.Client{Client: r.Nodes, Live: r.NodesLive, Writes: &r.writes, Clock: r.Clock},
	}
}

// run returns when to look again.
func (p *pass[M]) run(ctx context.Context, name string) (time.Duration, error) {
	n, err := node.Read(ctx, p.nodes, name)
	if err != nil {
		return 0, err
	}
	if n == nil || n.DeletionTimestamp != nil {
		p.forget(name)
		return 0, nil
	}
	l := look[M]{Reconciler: p.Reconciler, machines: p.machines, nodes: p.nodes}
	f, err := l.around(ctx, n)
	if err != nil {
		return 0, fmt.Errorf("look whose node %s is: %w", name, err)
	}
	v, err := l.whose(ctx, n, f)
	if err != nil {
		return 0, fmt.Errorf("look whose node %s is: %w", name, err)
	}
	mem, after := p.remember(n), time.Duration(0)
	if v.Machine != nil {
		err = p.link(ctx, n, f.object(*v.Machine), v, &mem)
	} else {
		after = p.refuse(ctx, n, f, v, &mem)
	}
	p.keep(n, mem)
	return after, err
}

// link records the node in its machine, and then brings the node up to date: a controller that reads the
// node finds a machine that has recorded it.
func (p *pass[M]) link(ctx context.Context, n *corev1.Node, m M, v Verdict, mem *memory) error {
	if mem.machine != v.Machine.UID {
		mem.machine, mem.seen, mem.told = v.Machine.UID, nil, ""
	}
	if err := p.record(ctx, n, m, mem); err != nil {
		return fmt.Errorf("record node %s in machine %s: %w", n.Name, key(*v.Machine), err)
	}
	cluster := node.New(p.nodes, p.NodesLive, p.Clock)
	_, _, err := cluster.Apply(ctx, n, p.lens.Want(m, dialect.Class{}))
	if err == nil {
		mem.told = ""
		return nil
	}
	err = fmt.Errorf("bring node %s in step with machine %s: %w", n.Name, key(*v.Machine), err)
	refused := apierrors.IsInvalid(err) || apierrors.IsForbidden(err) // the machine may have an invalid label or taint
	if refused && mem.told != err.Error() {
		mem.told = err.Error()
		p.tell(m, "NodeNotUpdated", mem.told)
	}
	return err
}

// record writes into the machine its node and the change of readiness, if the machine lacks either.
func (p *pass[M]) record(ctx context.Context, n *corev1.Node, m M, mem *memory) error {
	ready := lifecycle.Ready(n)
	now := sight{ready: ready.Status == corev1.ConditionTrue, stamped: p.links.Stamped(m)}
	after := m.DeepCopyObject().(M)
	linked := p.links.Link(after, n)
	if linked || unheard(mem.seen, now, ready.LastTransitionTime.Time) {
		p.links.Stamp(after, p.Clock.Now())
		patch := client.MergeFromWithOptions(m, client.MergeFromWithOptimisticLock{})
		if err := p.machines.Status().Patch(ctx, after, patch); err != nil {
			return err
		}
		now.stamped = p.links.Stamped(after)
	}
	if linked {
		log.FromContext(ctx).Info("linked", "node", n.Name, "machine", client.ObjectKeyFromObject(m))
	}
	mem.seen = &now
	return nil
}

// refuse reports to the machines that the node looks like why it is not linked to them. It returns when to
// look again.
func (p *pass[M]) refuse(ctx context.Context, n *corev1.Node, f found[M], v Verdict, mem *memory) (after time.Duration) {
	if len(v.Refused) > 0 {
		after = refusedAgain
	}
	mem.machine, mem.seen = "", nil
	if mem.told == v.Message {
		return after
	}
	logger := log.FromContext(ctx)
	if len(v.Refused) == 0 {
		logger = logger.V(1) // many nodes may not belong to any machine
	}
	logger.Info("not linked", "node", n.Name, "reason", v.Reason, "why", v.Message)
	for _, m := range v.Refused {
		p.tell(f.object(m), "NodeNotLinked", v.Message)
	}
	mem.told = v.Message
	return after
}

// tell records a warning event on a machine.
func (p *pass[M]) tell(m M, reason, text string) {
	p.Recorder.Eventf(m, nil, corev1.EventTypeWarning, reason, "Link", "%s", dialect.Note(text))
}

// remember returns the memory of the node; a node that replaced another of the same name is a new one.
func (r *Reconciler[M]) remember(n *corev1.Node) memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.memories[n.Name]; m.uid == n.UID {
		return m
	}
	return memory{uid: n.UID}
}

func (r *Reconciler[M]) keep(n *corev1.Node, m memory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memories[n.Name] = m
}

func (r *Reconciler[M]) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.memories, name)
}
