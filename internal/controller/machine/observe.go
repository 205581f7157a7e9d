package machine

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// observe gathers the facts. What cannot be found out is a fact too: no
// failure here ends the pass.
func (p *pass[M]) observe(ctx context.Context) {
	deleting := !p.view.Deleted.IsZero()
	if !p.view.Held && deleting || !deleting && len(p.view.Faults) > 0 {
		return
	}
	p.world.Session = p.openSession(ctx)
	if p.infra.session != nil {
		p.world.Instances = p.lookForInstances(ctx)
		p.world.Unlisted = p.unlisted()
	}
	if p.world.Instances.Looked {
		p.world.Session.Inherited = p.infra.class.Inherited
	}
	p.world.Node = p.lookForNode(ctx)
	p.world.Instances.Doubt = p.doubt(ctx)
	p.world.Retry = p.mem.retry
}

// openSession resolves the class, and opens a session from it.
func (p *pass[M]) openSession(ctx context.Context) lifecycle.Session {
	class, err := p.Resolver.Class(ctx, p.m)
	p.mem.madeFrom(class)
	p.infra, err = openInfrastructure(ctx, p.Provider, class, err, !p.view.Deleted.IsZero())
	if err != nil {
		p.mem.failed(lifecycle.Await, err, p.Clock.Now())
		return lifecycle.Session{Err: err, UserDataErr: class.UserDataErr}
	}
	p.mem.openedFrom(p.infra.session)
	return lifecycle.Session{UserDataErr: class.UserDataErr, Origin: p.infra.place(), RebootPower: rebootPower(p.infra.session)}
}

// learnAccount finds out what the credentials open. It is asked where that
// matters: a machine at rest costs no question.
func (p *pass[M]) learnAccount(ctx context.Context) (err error) {
	if p.world.Session.Origin.Account == "" {
		p.world.Session.Origin.Account, err = p.infra.account(ctx)
	}
	return err
}

// elsewhere says why an empty answer is none: another account was asked, or it
// cannot be told which.
func (p *pass[M]) elsewhere(ctx context.Context, found lifecycle.Instances) error {
	if len(found.Owned()) > 0 || p.view.Recorded.Origin == nil || p.view.Recorded.Origin.Account == "" {
		return nil
	}
	if err := p.learnAccount(ctx); err != nil {
		return err
	}
	return p.view.Recorded.Origin.Elsewhere(p.world.Session.Origin.Account)
}

// noteAccount completes what the machine keeps of its origin.
func (p *pass[M]) noteAccount(ctx context.Context) {
	if p.view.Recorded.Origin != nil && p.view.Recorded.Origin.Account != "" {
		return
	}
	if err := p.learnAccount(ctx); err != nil {
		p.log.Error(err, "the machine's origin stays without an account")
	}
}

// lookForInstances asks the infrastructure about the machine's instances.
func (p *pass[M]) lookForInstances(ctx context.Context) lifecycle.Instances {
	found, err := p.find(ctx)
	if err != nil {
		err = p.infra.lacking(err)
		p.mem.failed(lifecycle.Await, err, p.Clock.Now())
		found.Looked, found.Err = false, err
		return found
	}
	p.mem.answered()
	if i := found.Of(p.view.Recorded.ProviderID); i != nil {
		found.ProviderStatus = p.sawInstance(ctx, *i)
	}
	return found
}

func (p *pass[M]) find(ctx context.Context) (found lifecycle.Instances, err error) {
	all, err := p.infra.session.Find(ctx, p.ref())
	if err == nil {
		found, err = p.claim(ctx, all)
	}
	if err == nil {
		err = p.elsewhere(ctx, found)
	}
	return found, err
}

// unlisted is what may exist although the session does not list it.
func (p *pass[M]) unlisted() (u lifecycle.Unlisted) {
	u.ReadLag = p.infra.readLag()
	now := p.Clock.Now()
	u.Arriving = p.Handover - now.Sub(p.began)
	if p.world.Instances.Looked {
		u.QuietFor, u.CreateErr = p.mem.quiet(now), p.mem.last.err
	}
	return u
}

// sawInstance takes down what the infrastructure says of the instance, and returns what
// the provider wants kept of that.
func (p *pass[M]) sawInstance(ctx context.Context, i provider.Instance) []byte {
	p.noteAccount(ctx)
	p.mem.instanceType, p.mem.zone = i.Type, i.Zone
	p.memory.saw(client.ObjectKeyFromObject(p.m), i)
	raw, err := p.infra.statusOf(i)
	if err != nil {
		p.log.Error(err, "cannot form the provider status")
		return nil
	}
	return raw
}

func (p *pass[M]) instance() *provider.Instance {
	return p.world.Instances.Of(p.view.Recorded.ProviderID)
}

func (p *pass[M]) ref() provider.Ref {
	return provider.Ref{UID: p.view.UID, Namespace: p.view.Namespace, Name: p.view.Name, ProviderID: p.view.Recorded.ProviderID}
}

// lookForNode finds the machine's node by all that is known of it: by what was
// recorded, else by what the instance says.
func (p *pass[M]) lookForNode(ctx context.Context) lifecycle.Node {
	if p.policy.Targetless {
		return lifecycle.Node{}
	}
	if p.world.Instances.RecordedIsForeign() { // what leads to its node leads to another machine's
		return lifecycle.Node{Looked: true, Taken: node.AnotherMachine}
	}
	if err := p.contested(ctx); err != nil {
		return p.looked(nil, err)
	}
	q, taken := p.nodeQuery(ctx), ""
	n, err := p.Nodes.Find(ctx, q)
	if err == nil && n == nil && p.world.Instances.Looked && p.instance() == nil {
		taken, err = p.Nodes.Taken(ctx, q)
	}
	f := p.looked(n, err)
	f.Taken = taken
	return p.bearsWitness(ctx, q, f)
}

// looked is what came of looking for the node.
func (p *pass[M]) looked(n *corev1.Node, err error) lifecycle.Node {
	if err != nil && !errors.Is(err, errUntold) && !p.view.Deleted.IsZero() {
		p.answered(err)
	}
	f := p.see(n)
	f.Looked, f.Err = err == nil, err
	return f
}

// bearsWitness reads the node past the cache where it is about to speak against
// the infrastructure, or, in a deletion, not to: a cache that has stopped shows a node
// as it was for ever.
func (p *pass[M]) bearsWitness(ctx context.Context, q node.Query, f lifecycle.Node) lifecycle.Node {
	w := p.world
	w.Node = f
	unlisted := !p.view.Deleted.IsZero() && w.Instances.Looked && len(w.Instances.Owned()) == 0 && !w.Instances.SeenToGo
	if f.Object == nil || !unlisted && w.Contradiction(p.view) == "" {
		return f
	}
	q.Name = f.Object.Name
	return p.looked(p.Nodes.Named(ctx, q))
}

// makeSure reads the node past the cache before the machine is given up for it, or its
// pods are forced off: that is final, and a cache that has stopped shows no node that
// joined, or came back, since.
func (p *pass[M]) makeSure(ctx context.Context) lifecycle.Node {
	was := p.world.Node
	if p.policy.Targetless || p.world.Instances.RecordedIsForeign() { // the node would be another machine's
		return was
	}
	if err := p.contested(ctx); err != nil {
		return p.looked(nil, err)
	}
	q := p.nodeQuery(ctx)
	if was.Object != nil {
		q.Name = was.Object.Name
	}
	f := p.looked(p.Nodes.Surely(ctx, q))
	f.Taken = was.Taken
	return f
}

// hostNames are the names of the machine's own instance, now and as recorded.
func (p *pass[M]) hostNames() []string {
	all := p.view.Recorded.Addresses
	if i := p.instance(); i != nil {
		all = slices.Concat(all, i.Addresses)
	}
	return namesIn(all)
}

// namesIn are the names of a host among its addresses.
func namesIn(all []corev1.NodeAddress) (out []string) {
	for _, a := range all {
		if a.Type == corev1.NodeInternalDNS || a.Type == corev1.NodeHostName {
			out = append(out, a.Address)
		}
	}
	return out
}

// drains reports whether the machine's deletion may still have to find pods, or to
// hear its node: nobody has asked its instance to go, which is there, or was.
func (p *pass[M]) drains() bool {
	if p.view.Deleted.IsZero() || p.world.Instances.SeenToGo {
		return false
	}
	i := p.instance()
	return i == nil && p.world.Instances.Looked && p.view.Recorded.Provisioned || i != nil && i.State != provider.Stopping
}

func (p *pass[M]) nodeQuery(ctx context.Context) node.Query {
	q := node.Query{
		Name: p.view.Recorded.NodeName, ProviderID: p.view.Recorded.ProviderID, MachineKey: p.view.Namespace + "/" + p.view.Name,
		Mark: p.want().Mark(), Created: p.view.Created,
		// A cache that has not seen the node yet must not spare it the drain, nor
		// end what the node asks for.
		Sure:        !p.view.Deleted.IsZero() || p.view.Preservation != (lifecycle.Preservation{}),
		Instance:    p.instance() != nil,
		Search:      p.drains(),
		InternalIPs: internalIPs(p.view.Recorded.Addresses),
		Same:        p.infra.same,
		Another:     func(n *corev1.Node) (bool, error) { return p.ofAnother(ctx, n) },
	}
	if i := p.instance(); i != nil {
		q = completed(q, *i)
		if i.ProviderID != "" && !p.world.Instances.Substitute {
			q.ProviderID = i.ProviderID // the API's own spelling, whatever was recorded
		}
	}
	return q
}

func completed(q node.Query, i provider.Instance) node.Query {
	if q.Name == "" {
		q.Name = i.NodeName
	}
	if q.ProviderID == "" {
		q.ProviderID = i.ProviderID
	}
	if len(q.InternalIPs) == 0 {
		q.InternalIPs = internalIPs(i.Addresses)
	}
	return q
}

func internalIPs(addresses []corev1.NodeAddress) (out []string) {
	for _, a := range addresses {
		if a.Type == corev1.NodeInternalIP {
			out = append(out, a.Address)
		}
	}
	return out
}

// see is what the node looks like now.
func (p *pass[M]) see(n *corev1.Node) lifecycle.Node {
	f := lifecycle.Node{Object: n, Looked: true}
	if n == nil || !p.view.Deleted.IsZero() {
		return f
	}
	if p.lens.updates != nil && p.policy.Update.InPlace {
		f.Update = p.lens.updates.Update(n)
	}
	if p.lens.preserves != nil && p.policy.Preserve.Supported {
		f.Preservation = p.lens.preserves.NodePreservation(n)
	}
	_, changed, err := node.Plan(n, p.want())
	if err != nil {
		p.log.Error(err, "cannot bring the node's metadata in step", "node", n.Name)
		return f
	}
	f.Stale = changed
	return f
}
