package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/runtime/serverclock"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// role is the controller that a process runs.
type role string

// The roles. Each is a process of its own, with its own caches.
const (
	machineRole role = "machines"
	setRole     role = "sets"
	fleetRole   role = "deployments"
	orphanRole  role = "orphans"
	nodeRole    role = "nodes"
	healthRole  role = "health"
	// oldHealthRole is the controller of health checks of the older API.
	oldHealthRole role = "old health"
	helperRole    role = "aides"
)

// process is one controller process.
type process struct {
	w    *World
	role role
	// adapter is the API that the process is for.
	adapter *adapter
	// number is its number in names, serial its unique number.
	number, serial int
	views          []*store.View
	byKind         map[*store.Kind]*store.View
	// client and live are the clients of the machines' cluster, target and targetLive the clients of the target cluster.
	client, target   client.Client
	live, targetLive client.Reader
	queue            queue
	tasks            []*task
	// running is the task that is executing, asking the task that asks the disruption budgets.
	running, asking *task

	reconcile func(context.Context, reconcile.Request) (reconcile.Result, error)
	// wakes returns the keys that a change wakes, with their delays.
	wakes func(e store.Event) []enqueue.Request

	// plans says which part of a write was not decided; nil: the simulator does not repeat these decisions. wrote is the
	// process's last write, by UID. doubted are deletions of machines whose outcome is unknown. recalls are writes that the
	// process may still rely on although a restore of the server has undone them.
	plans   func(t *task, old, now client.Object) string
	wrote   map[types.UID]client.Object
	doubted map[request]time.Time
	recalls recalls
	// stalled are the views whose watch has stopped, with the time at which each watch ends.
	stalled map[*store.View]time.Time

	// writes counts the process's writes. doomed: it has crashed and must be restarted.
	writes int
	doomed bool
	// deposed is the time at which another process became the leader. Requests on the wire still arrive.
	deposed    *time.Time
	leadership leadership
	// seen is the process's knowledge of its own connectivity, nextLook the time of its next probe.
	seen     connectivity.State
	nextLook time.Time
	// born is the start of the process. ahead is the error of its wall clock; it uses the other clock.
	born  time.Time
	ahead time.Duration
	clock *serverclock.Clock
	// earlier: the process is of the earlier version.
	earlier bool
}

// task is one call of Reconcile. It is a coroutine that stops wherever the rest of the world may continue meanwhile.
type task struct {
	by      *process
	hang    hang
	key     reconcile.Request
	on      *routine // nil: the pass has ended, or its process was killed
	started time.Time
	result  reconcile.Result
	err     error
	// before is the knowledge of the process at the beginning of the pass.
	before *judge.Pass
	// saw are the objects on which the pass bases its decision; nil for controllers whose decisions the simulator does not repeat.
	saw *observed
	// waitsFor is the task that asks the disruption budgets before this one.
	waitsFor *task
	// removals counts the orphans whose removal this pass was the first to request, by place.
	removals map[string]int
}

// start starts a process, whose first listings may be behind.
func (w *World) start(r role, of *adapter, behind int) {
	p := &process{w: w, role: r, adapter: of, number: len(w.procs) + 1, byKind: map[*store.Kind]*store.View{}, wrote: map[types.UID]client.Object{}, recalls: recalls{}, doubted: map[request]time.Time{}, stalled: map[*store.View]time.Time{}}
	w.serials++
	p.queue, p.born, p.ahead, p.serial = newQueue(), w.now, w.aheadOf(), w.serials
	p.clock = serverclock.New(ownClock{p: p}, logr.Discard())
	p.hearsTime()
	p.opens()
	p.client, p.live = p.connect(w.store, behind)
	p.ages()
	p.target, p.targetLive = p.client, p.live
	if w.target != w.store {
		p.target, p.targetLive = p.connect(hazardEffects{w}.reached(), behind)
	}
	switch r {
	case machineRole:
		of.runMachines(p)
	case setRole:
		of.runSets(p)
	case orphanRole:
		runCollector(p)
	case nodeRole:
		of.runNodes(p)
	case healthRole:
		runChecks(p, openshift.HealthChecks{}, "Machine", "Node")
	case oldHealthRole:
		runChecks(p, openshift.OldHealthChecks{}, "Machine", "Node", "ConfigMap")
	case helperRole:
		of.runHelpers(p)
	case fleetRole:
		of.fleet.run(p)
		if behind > 0 {
			clear(w.owners.chosen) // the new process may not see which machines were chosen
		}
	}
	for _, v := range p.views {
		for _, o := range v.All() {
			p.hear(store.Event{Kind: v.Kind(), New: o})
		}
	}
	w.procs = append(w.procs, p)
	w.tracef(p.name(), "starts, up to %d changes behind", behind)
}

func (p *process) name() string { return fmt.Sprintf("%s-%d", p.role, p.number) }

// hear queues the keys that a change wakes.
func (p *process) hear(e store.Event) {
	for _, wk := range p.wakes(e) {
		if wk.After == 0 {
			p.queue.add(wk.Request)
		} else {
			p.queue.addAt(wk.Request, p.w.now.Add(wk.After))
		}
	}
}

// advance lets a view see up to n more changes.
func (p *process) advance(v *store.View, n int) {
	for range min(n, v.Behind()) {
		e := v.Advance()
		p.w.tracef(p.name(), "sees %s", describe(e))
		p.hear(e)
	}
}

func describe(e store.Event) string {
	o := e.Object()
	verb := "changed"
	switch {
	case e.Old == nil:
		verb = "created"
	case e.New == nil:
		verb = "gone"
	case e.New.GetDeletionTimestamp() != nil && e.Old.GetDeletionTimestamp() == nil:
		verb = "deleting"
	}
	return fmt.Sprintf("%s %s %s (version %s)", e.Kind.Kind, o.GetName(), verb, o.GetResourceVersion())
}

// startable are the keys for which a pass can begin. The node controller has one worker, which holds a lock while it
// reads.
func (p *process) startable() []reconcile.Request {
	if p.role == nodeRole && len(p.tasks) > 0 {
		return nil
	}
	return p.queue.startable()
}

// begin begins a pass for the key and runs it to its first stop.
func (p *process) begin(key reconcile.Request) {
	if p.doomed {
		return
	}
	p.queue.take(key)
	t := &task{by: p, key: key, started: p.w.now, before: p.sees(key), removals: map[string]int{}}
	if p.plans != nil {
		t.saw = p.observes()
		p.happened(t)
	}
	t.on = p.w.routine(func() {
		t.result, t.err = p.reconcile(log.IntoContext(context.Background(), logr.Discard()), key)
	})
	p.tasks = append(p.tasks, t)
	p.w.counts.reconciles++
	p.w.tracef(p.name(), "reconciles %s", key)
	p.run(t)
}

// run resumes a task up to its next stop, or its end.
func (p *process) run(t *task) {
	p.running = t
	ended := t.on == nil || t.on.resume()
	p.running = nil
	if !ended {
		return
	}
	if t.on != nil {
		p.w.spare, t.on = append(p.w.spare, t.on), nil
	}
	p.tasks = slices.DeleteFunc(p.tasks, func(o *task) bool { return o == t })
	p.queue.done(t.key, t.result, t.err, p.w.now)
	if t.err != nil {
		p.w.tracef(p.name(), "reconciled %s: error: %v", t.key, t.err)
	} else {
		p.w.tracef(p.name(), "reconciled %s: again after %v", t.key, t.result.RequeueAfter)
	}
	p.checkPass(t)
	p.restartIfCrashed()
}

// pause lets the rest of the world continue while the running task stops.
func (p *process) pause() {
	t := p.running
	p.checkLeadership()
	if !p.w.chance(p.w.profile.pausePercent) || p.w.step < 0 {
		return
	}
	if !t.on.pause() {
		panic(killed{})
	}
	if t.saw != nil {
		t.saw.overtaken = true
	}
}

// kill ends a process at once. Its requests on the wire are lost.
func (p *process) kill() {
	for _, t := range p.tasks {
		p.running = t
		t.on.stop()
		t.on = nil
	}
	p.running, p.tasks = nil, nil
	w := p.w
	w.late = slices.DeleteFunc(w.late, func(l lateEffect) bool { return l.by == p })
	w.procs = slices.DeleteFunc(w.procs, func(o *process) bool { return o == p })
}

func (w *World) shutdown() {
	for len(w.procs) > 0 {
		w.procs[0].kill()
	}
	for _, r := range w.spare {
		r.stop()
	}
	w.spare = nil
}

// recorder records events. They count as writes.
type recorder struct{ p *process }

// Eventf implements events.EventRecorder.
func (r recorder) Eventf(about, _ runtime.Object, kind, reason, _, note string, args ...any) {
	name := ""
	if o, ok := about.(client.Object); ok {
		name = o.GetName()
	}
	r.p.w.counts.writes++
	if kind == "Warning" {
		r.p.w.told[name] = r.p.w.now
	}
	r.p.w.tracef(r.p.name(), "event %s %s about %s: %s", kind, reason, name, fmt.Sprintf(note, args...))
}
