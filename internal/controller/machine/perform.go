package machine

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// perform carries out one step, puts what came of it into the facts, and reports whether
// there was anything to do. Choosing is lifecycle's work: the handlers have no policy of
// their own. An error ends the pass; what the engine has an answer to is a fact instead.
func (p *pass[M]) perform(ctx context.Context, d lifecycle.Decision) (did bool, err error) {
	switch did = true; d.Step {
	case lifecycle.AddFinalizer:
		err = p.addFinalizer(ctx, d)
	case lifecycle.RecordInstance:
		err = p.recordInstance(ctx, d)
	case lifecycle.Create:
		p.create(ctx)
	case lifecycle.Initialize:
		p.world.Retry = p.initialize(ctx)
	case lifecycle.Reboot:
		err = p.reboot(ctx, d)
	case lifecycle.SyncNode:
		err = p.syncNode(ctx)
	case lifecycle.MarkUpdate:
		err = p.markUpdate(ctx, d)
	case lifecycle.Fail:
		p.view.Stage = lifecycle.StageFailed
		p.world.Final = &d
	case lifecycle.Replace:
		p.world.Final = &d
		err = p.replace(ctx)
	case lifecycle.Drain:
		p.world.Drain.Result, p.world.Drain.Err = p.drain(ctx, d)
		p.answered(p.world.Drain.Err)
	case lifecycle.Terminate:
		p.world.Removal = p.terminate(ctx)
	case lifecycle.DeleteNode:
		p.world.Node = p.deleteNode(ctx)
	case lifecycle.RemoveFinalizer:
		p.world.Final = &d
	case lifecycle.DropToken:
		p.closes(d)
		did, err = p.dropToken(ctx)
	case lifecycle.StorePreservation:
		err = p.storePreservation(ctx, d)
	case lifecycle.WarnOfDrain, lifecycle.MarkPreserved, lifecycle.DrainPreserved, lifecycle.TellPreserved:
		did = p.preserve(ctx, d)
	default:
		err = fmt.Errorf("no handler for step %q", d.Step)
	}
	return did, err
}

// closes takes in that d is a step after the machine's life, about which this pass decides no
// more: the pass is recorded as of now.
func (p *pass[M]) closes(d lifecycle.Decision) {
	if p.world.Final == nil {
		p.world.Final = &d
	}
	if p.at.IsZero() {
		p.at, p.node = p.Clock.Now(), p.world.Node
	}
}

// addFinalizer saves the finalizer before anything is bought, and what it is made from.
// As long as the infrastructure cannot tell the account that it is bought in,
// nothing is bought: credentials of another account would buy it again.
func (p *pass[M]) addFinalizer(ctx context.Context, d lifecycle.Decision) error {
	if p.world.Session.Origin.Cluster == "" { // this pass has asked for the account before, in vain
		p.world.Session.Origin = p.infra.place()
	}
	if p.view.Recorded.Provisioned || len(p.world.Instances.Owned()) > 0 {
		p.noteAccount(ctx)
	} else if err := p.learnAccount(ctx); err != nil {
		p.world.Session.Origin = lifecycle.Origin{}
		p.world.Retry = p.mem.failed(lifecycle.Create, err, p.Clock.Now())
	}
	if err := p.recordNow(ctx, d, d); err != nil {
		return err
	}
	p.view.Held, p.world.Session.Inherited = true, nil
	p.view.Recorded.Origin, _ = dialect.Origin(p.m, p.view.Recorded.ProviderID != "")
	return nil
}

func (p *pass[M]) create(ctx context.Context) {
	userData, err := p.bootData(ctx)
	if err != nil {
		p.world.Session.UserDataErr = err
		return
	}
	want := provider.Want{UserData: userData, Role: p.infra.class.Role}
	i, err := p.market().buy(ctx, want)
	if err != nil {
		p.world.Retry = p.mem.failed(lifecycle.Create, p.infra.class.Objection(err), p.Clock.Now())
		return
	}
	made, err := p.claim(ctx, []provider.Instance{i})
	if err != nil {
		p.world.Retry = p.mem.failed(lifecycle.Create, err, p.Clock.Now())
		return
	}
	p.world.Retry = p.mem.succeeded()
	if len(made.Owned()) == 0 && i.UID == p.view.UID {
		// It was made by an earlier call whose reply was lost, and has died since.
		// It is recorded, or it would be asked for again and again.
		made.Own = []provider.Instance{i}
	}
	if p.world.Instances = made; len(made.Own) > 0 {
		p.world.Instances.ProviderStatus = p.sawInstance(ctx, i)
		p.world.Node = p.lookForNode(ctx)
	}
}

func (p *pass[M]) initialize(ctx context.Context) lifecycle.Retry {
	i := p.instance()
	if err := p.infra.initialize(ctx, p.ref(), *i); err != nil {
		return p.mem.failed(lifecycle.Initialize, err, p.Clock.Now())
	}
	i.Uninitialized = false
	return p.mem.succeeded()
}

// syncNode marks the node for the machine. What links the two is stored in the
// machine first: a mark alone could not be found again once the instance is
// gone.
func (p *pass[M]) syncNode(ctx context.Context) error {
	if i := p.instance(); p.view.Recorded.ProviderID == "" && i != nil && i.ProviderID != "" {
		if err := p.recordNow(ctx, lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonAwaitingNode, Stage: p.view.Stage}); err != nil {
			return err
		}
	}
	n, _, err := p.Nodes.Apply(ctx, p.world.Node.Object, p.want())
	if err != nil {
		p.world.Node.Err, p.world.Node.Looked = fmt.Errorf("bring node %s in step: %w", p.world.Node.Object.Name, err), false
		return nil
	}
	p.world.Node.Object, p.world.Node.Stale = n, false
	return nil
}

// recordNow stores what is known in mid-pass, and that steps were performed.
func (p *pass[M]) recordNow(ctx context.Context, d lifecycle.Decision, steps ...lifecycle.Decision) error {
	before := p.m.DeepCopyObject().(M)
	p.recordOwned()
	p.Dialect.Record(p.m, lifecycle.Outcome{Decision: d, Steps: steps, World: p.world, At: p.Clock.Now()})
	return p.save(ctx, before)
}

// replace deletes the machine object, as whoever deleted its node asked for.
// It asks the API server itself first: a cache that lost the node is no reason,
// nor is a machine that never knew its node's name.
func (p *pass[M]) replace(ctx context.Context) error {
	if p.view.Recorded.NodeName == "" {
		return nil
	}
	var n corev1.Node
	err := p.Nodes.Live.Get(ctx, client.ObjectKey{Name: p.view.Recorded.NodeName}, &n)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read node %s: %w", p.view.Recorded.NodeName, err)
	}
	if err == nil && n.DeletionTimestamp == nil {
		return nil
	}
	if err := p.explainReplacement(ctx); err != nil {
		return err
	}
	uid := p.m.GetUID()
	if err := p.Client.Delete(ctx, p.m, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete machine: %w", err)
	}
	return nil
}

// explainReplacement says why the machine is about to be deleted, once, where that
// outlives the moment: with the machine for its evidence, and in an event.
func (p *pass[M]) explainReplacement(ctx context.Context) error {
	why := fmt.Sprintf("node %s was deleted", p.view.Recorded.NodeName)
	if p.m.GetAnnotations()[dialect.DeletedBecauseAnnotation] == why {
		return nil
	}
	before := p.m.DeepCopyObject().(M)
	dialect.SetAnnotation(p.m, dialect.DeletedBecauseAnnotation, why)
	if err := p.save(ctx, before); err != nil {
		return err
	}
	note := "The machine is deleted, because " + why
	if o := metav1.GetControllerOfNoCopy(p.m); o != nil {
		note += "; " + o.Kind + " " + o.Name + " makes another in its place"
	}
	p.Recorder.Eventf(p.m, nil, corev1.EventTypeWarning, "NodeDeleted", "Replace", "%s", dialect.Note(note))
	return nil
}

func (p *pass[M]) drain(ctx context.Context, d lifecycle.Decision) (*drain.Decision, error) {
	if p.mem.drainSince.IsZero() && !p.view.Deleted.IsZero() {
		p.mem.drainSince = p.Clock.Now()
		if at := p.view.Since(lifecycle.DeletionDrain); !at.IsZero() { // an earlier process began it
			p.mem.drainSince = at
		}
	}
	came, err := p.drainOnce(ctx, d)
	if err != nil {
		came = drain.Decision{Message: err.Error(), Next: p.policy.Delays.Transient}
	} else if came.Refused() {
		err = errors.New(came.Message)
	}
	return &came, err
}

// answered takes in whether the cluster that machines join did what the
// machine's deletion asked of it.
func (p *pass[M]) answered(err error) { p.world.Drain.RefusedFor = p.mem.refused(err, p.Clock.Now()) }

// drainPolicy is the machine's, with what is true now. Volumes are taken away
// from a node only with its machine: one that stays may go on to use them. Only
// then does it matter, too, that the cloud takes the instance back.
func (p *pass[M]) drainPolicy(force bool) drain.Policy {
	policy := p.policy.Drain.Policy
	policy.Force = policy.Force || force
	policy.Connectivity = p.world.Connectivity
	policy.NodeUnreachable = lifecycle.Ready(p.world.Node.Object).Status == corev1.ConditionUnknown
	if p.view.Deleted.IsZero() {
		policy.RemoveAttachments = false
		return policy
	}
	return lifecycle.Hasten(p.Clock.Now(), p.world.Node.Object, policy, p.policy)
}

func (p *pass[M]) drainOnce(ctx context.Context, d lifecycle.Decision) (drain.Decision, error) {
	policy := p.drainPolicy(d.Force)
	with, moves, err := p.cordonWith(ctx, policy)
	if err != nil {
		return drain.Decision{}, err
	}
	n, held, err := p.Nodes.Cordon(ctx, p.world.Node.Object, with)
	if err != nil {
		return drain.Decision{}, fmt.Errorf("cordon node %s: %w", p.world.Node.Object.Name, err)
	}
	if p.nodeQuery(ctx).Anothers(n) { // by what a cache did not show
		p.world.Node = p.see(nil)
		return drain.Decision{
			Done: !p.view.Deleted.IsZero(), Message: "node " + n.Name + " is another machine's", Next: p.policy.Delays.Transient,
		}, nil
	}
	p.world.Node.Object = n
	if d.Force { // the answer shows the node as it is now
		policy = p.drainPolicy(lifecycle.DecideLife(p.Clock.Now(), p.view, p.world, p.policy).Force)
	}
	if held != "" && !policy.Past(p.Clock.Now()) {
		return drain.Decision{Message: held, Next: p.policy.Delays.Transient}, nil
	}
	if moves {
		p.announce(ctx)
	}
	return p.Nodes.Drain(ctx, p.world.Node.Object, policy)
}

// cordonWith is what happens to the node with the cordon, and whether the drain
// has something to move from a node that leaves. Nothing happens to one that
// stays. Where it leaves, its finalizer goes along, which saves a write later,
// only where nobody can miss it: with the node object gone there would be
// nothing left to drain.
func (p *pass[M]) cordonWith(ctx context.Context, policy drain.Policy) (w node.Want, moves bool, err error) {
	if p.view.Deleted.IsZero() {
		return w, false, nil
	}
	w = p.Dialect.Want(p.m, p.infra.class).Leave()
	if p.view.Deletion.Drained {
		w.MarkAnnotations = map[string]string{lifecycle.DrainedAgainAnnotation: "true"}
	}
	if w.DropFinalizer == "" {
		return w, true, nil
	}
	vacant, err := p.Nodes.Vacant(ctx, p.world.Node.Object, policy)
	if !vacant {
		w.DropFinalizer = ""
	}
	return w, !vacant, err
}

// announce lets the node tell why it is drained. Conditions are not written
// together with the cordon, so that this costs a write, which a node that
// nothing has to leave is spared. A drain does not fail by it.
func (p *pass[M]) announce(ctx context.Context) {
	if p.lens.narrates == nil {
		return
	}
	want := p.lens.narrates.Leaving(p.world.Node.Object, lifecycle.Unwell(p.view, p.world.Node.Object, p.policy))
	n, err := p.Nodes.Condition(ctx, p.world.Node.Object, want)
	if err != nil {
		p.log.Error(err, "cannot tell on the node why it is drained", "node", p.world.Node.Object.Name)
		return
	}
	p.world.Node.Object = n
}

func (p *pass[M]) terminate(ctx context.Context) lifecycle.Removal {
	done, err := p.infra.remove(ctx, p.ref(), p.world.Instances.Owned())
	// A request that was refused, or never sent, ends nothing, and one without a reply
	// may be either.
	if p.instance() != nil && !p.world.Instances.Substitute && err == nil {
		p.mem.seenToGo, p.world.Instances.SeenToGo = true, true
	}
	now := p.Clock.Now()
	switch {
	case err != nil:
		p.world.Retry = p.mem.failed(lifecycle.Terminate, err, now)
		return lifecycle.Removal{Err: err}
	case done:
		p.world.Instances.Removed = p.instance()
		p.world.Instances.Own, p.world.Instances.Duplicates = nil, nil
		p.mem.succeeded()
		return lifecycle.Removal{State: lifecycle.RemovalDone}
	}
	return lifecycle.Removal{State: lifecycle.RemovalUnderway, For: p.mem.removing(now)}
}

// deleteNode deletes the node, unless another instance goes by its name: it may be that of one
// whose object came back under another UID.
func (p *pass[M]) deleteNode(ctx context.Context) lifecycle.Node {
	f := p.world.Node
	shared, err := p.shared(ctx, f.Object)
	if shared || err != nil {
		return p.looked(nil, err)
	}
	err = p.Nodes.Delete(ctx, f.Object, p.Dialect.Want(p.m, p.infra.class).Leave().DropFinalizer)
	p.answered(err)
	if err != nil {
		f.Looked, f.Err = false, fmt.Errorf("delete node %s: %w", f.Object.Name, err)
		return f
	}
	f.Object = nil
	return f
}
