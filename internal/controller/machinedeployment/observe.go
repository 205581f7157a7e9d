package machinedeployment

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// The field indexes that this controller lists by, besides [index.Owner] over machines.
const (
	// SetIndex is over sets: the UID of the set's controller, or
	// [index.NoOwner]. [index.OwnerKeys] computes it.
	SetIndex = "millwright.dev/deployment-uid"
	// NodeIndex is over machines: the name of the machine's node.
	// [Reconciler.IndexNode] computes it.
	NodeIndex = "millwright.dev/node-name"
)

// IndexNode computes [NodeIndex].
func (r *Reconciler[D, S]) IndexNode(m client.Object) []string {
	if name := r.lens.Machines().View(m, dialect.NoNode).Node; name != "" {
		return []string{name}
	}
	return nil
}

// observation has the objects of a deployment, as they were read and then written.
type observation[D, S client.Object] struct {
	*scope[D, S]
	// sets are the deployment's, as last read or written; machines are those that the sets control, by UID;
	// nodes are the nodes of these machines, by name; view has all of it as facts. Objects that were read
	// are shared with the cache and must not be changed.
	sets     []S
	machines map[types.UID]client.Object
	nodes    map[string]*corev1.Node
	view     []rollout.Set
}

// observe lists the deployment's sets and those without a controller, settles which of them are the
// deployment's, and reads their machines and nodes. It returns false if the cache has to catch up first.
func (r *observation[D, S]) observe(ctx context.Context) (bool, error) {
	owned, err := r.listSets(ctx, string(r.facts.UID))
	if err != nil {
		return false, err
	}
	free, err := r.listSets(ctx, index.NoOwner)
	if err != nil {
		return false, err
	}
	r.awaited.Observe(known(owned))
	for _, s := range owned {
		if s.GetDeletionTimestamp() == nil { // as expectations.Live
			r.expectations.CreationKnown(s.GetName())
		}
	}
	if r.sets, err = r.claim(ctx, slices.Concat(owned, free)); err != nil {
		return false, err
	}
	if ok, err := r.settle(ctx, owned); err != nil || !ok {
		return false, err
	}
	if err := r.observeMachines(ctx, r.cachedMachines); err != nil {
		return false, err
	}
	r.memory.machines.Store(int64(len(r.machines)))
	return true, nil
}

// settle reports whether these sets are complete, and no older than the last writes. As long as that is
// unknown, it asks the API server. It always asks for a deployment under deletion: the garbage collector
// may just have orphaned its sets, which the deployment must then leave alone.
func (r *observation[D, S]) settle(ctx context.Context, cached []S) (bool, error) {
	overdue, left := r.awaited.Overdue(r.now)
	switch {
	case overdue || !r.agreed || r.facts.Deleting:
		return true, r.observeLive(ctx, cached)
	case !r.awaited.Satisfied():
		r.again(left)
		return false, nil
	}
	return true, nil
}

// observeLive replaces the sets by those of the API server.
func (r *observation[D, S]) observeLive(ctx context.Context, cached []S) error {
	list := r.lens.Sets().Lens().Traits().Sets()
	opts := []client.ListOption{client.InNamespace(r.facts.Namespace)}
	if !r.facts.Deleting {
		opts = append(opts, client.MatchingLabelsSelector{Selector: r.selector})
	}
	if err := r.Live.List(ctx, list, opts...); err != nil {
		return fmt.Errorf("list sets live: %w", err)
	}
	all, err := items[S](list)
	if err != nil {
		return err
	}
	live := r.only(all)
	r.agreed = same(live, r.sets)
	r.sets = live
	r.awaited.Live(r.now, known(live), known(r.only(cached)))
	r.expectations.Live(known(live))
	return nil
}

// same reports whether both are the same versions of the same objects.
func same[S client.Object](a, b []S) bool {
	if len(a) != len(b) {
		return false
	}
	versions := make(map[types.UID]string, len(a))
	for _, s := range a {
		versions[s.GetUID()] = s.GetResourceVersion()
	}
	for _, s := range b {
		if versions[s.GetUID()] != s.GetResourceVersion() {
			return false
		}
	}
	return true
}

// only keeps the deployment's objects.
func (r *observation[D, S]) only(all []S) (out []S) {
	for _, s := range all {
		if replicas.Claim(r.tie(s)) == replicas.IsMember {
			out = append(out, s)
		}
	}
	return out
}

// observeMachines reads the machines that the sets control, and those that they have yet to take over:
// after a restore all machines may be without an owner, and a set that waits for its own machines has not
// lost them. A machine that was moved a moment ago may still be listed with its former set.
func (r *observation[D, S]) observeMachines(ctx context.Context, list func(context.Context) ([]client.Object, error)) error {
	r.machines, r.nodes, r.view = map[types.UID]client.Object{}, map[string]*corev1.Node{}, nil
	place, alarm := make(map[types.UID]int, len(r.sets)), r.look(ctx)
	for i, s := range r.sets {
		place[s.GetUID()] = i
		view := r.lens.Sets().View(r.object, s)
		view.Alarm = alarm(s)
		r.view = append(r.view, view)
	}
	machines, err := list(ctx)
	if err != nil {
		return err
	}
	for _, m := range machines {
		i, ours := r.setOf(m, place)
		if !ours {
			continue
		}
		v, err := r.withNode(ctx, m)
		if err != nil {
			return err
		}
		r.machines[m.GetUID()] = m
		r.view[i].Machines = append(r.view[i].Machines, v)
	}
	return nil
}

// setOf is the index of the set that has m, or is to take it over.
func (r *observation[D, S]) setOf(m client.Object, place map[types.UID]int) (int, bool) {
	if ref := metav1.GetControllerOfNoCopy(m); ref != nil {
		i, ours := place[ref.UID]
		return i, ours
	}
	lens := r.lens.Sets().Lens()
	i := slices.IndexFunc(r.sets, func(s S) bool { return dialect.Claims(lens.View(s).Selector, s, m) })
	return i, i >= 0
}

// withNode returns a machine as facts, its node included.
func (r *observation[D, S]) withNode(ctx context.Context, m client.Object) (v rollout.Machine, err error) {
	v = r.lens.Machines().View(m, func(name string) (n *corev1.Node) {
		n, err = r.node(ctx, name)
		return n
	})
	return v, err
}

func (r *observation[D, S]) node(ctx context.Context, name string) (*corev1.Node, error) {
	if r.Nodes == nil {
		return nil, nil
	}
	n := &corev1.Node{}
	err := r.Nodes.Get(ctx, client.ObjectKey{Name: name}, n, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read node %s: %w", name, err)
	}
	r.nodes[name] = n
	return n, nil
}

func (r *observation[D, S]) listSets(ctx context.Context, owner string) ([]S, error) {
	list := r.lens.Sets().Lens().Traits().Sets()
	err := r.Client.List(ctx, list, client.InNamespace(r.facts.Namespace),
		client.MatchingFields{SetIndex: owner}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list sets by owner: %w", err)
	}
	return items[S](list)
}

// cachedMachines are those that the cache lists with the sets.
func (r *observation[D, S]) cachedMachines(ctx context.Context) (out []client.Object, err error) {
	owners := []string{index.NoOwner}
	for _, s := range r.sets {
		owners = append(owners, string(s.GetUID()))
	}
	for _, owner := range owners {
		list := r.lens.Sets().Lens().Traits().Machines()
		err := r.Client.List(ctx, list, client.InNamespace(r.facts.Namespace),
			client.MatchingFields{index.Owner: owner}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, fmt.Errorf("list machines by owner: %w", err)
		}
		machines, err := items[client.Object](list)
		if err != nil {
			return nil, err
		}
		out = append(out, machines...)
	}
	return out, nil
}

// liveMachines are those of the API server, and, from the cache, those that the deployment's labels do not
// find: an adopted set may create such machines.
func (r *observation[D, S]) liveMachines(ctx context.Context) ([]client.Object, error) {
	list := r.lens.Sets().Lens().Traits().Machines()
	err := r.Live.List(ctx, list, client.InNamespace(r.facts.Namespace), client.MatchingLabelsSelector{Selector: r.selector})
	if err != nil {
		return nil, fmt.Errorf("list machines live: %w", err)
	}
	live, err := items[client.Object](list)
	if err != nil {
		return nil, err
	}
	cached, err := r.cachedMachines(ctx)
	if err != nil {
		return nil, err
	}
	listed := sets.New[types.UID]()
	for _, m := range live {
		listed.Insert(m.GetUID())
	}
	found := func(m client.Object) bool {
		return listed.Has(m.GetUID()) || r.selector.Matches(labels.Set(m.GetLabels()))
	}
	return append(live, slices.DeleteFunc(cached, found)...), nil
}

func items[O client.Object](list client.ObjectList) (out []O, err error) {
	err = meta.EachListItem(list, func(o runtime.Object) error {
		out = append(out, o.(O))
		return nil
	})
	return out, err
}

// known returns the same objects as client.Objects.
func known[S client.Object](all []S) []client.Object {
	out := make([]client.Object, 0, len(all))
	for _, s := range all {
		out = append(out, s)
	}
	return out
}
