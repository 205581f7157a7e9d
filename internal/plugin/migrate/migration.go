package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Migration moves the set with a name from one API to the other.
type Migration struct {
	client   client.Client
	key      client.ObjectKey
	from, to half
}

// snapshot has the objects of a migration, as read at one time.
type snapshot struct {
	State
	// pool is the content of the new objects, in the form of the other API.
	pool           Pool
	source, target client.Object
	machines       map[string][2]client.Object
	views          map[string]lifecycle.Machine // of the source
}

// read reads all objects from the API server.
func (g *Migration) read(ctx context.Context) (s snapshot, err error) {
	if s.source, err = g.get(ctx, g.from.newSet()); err != nil {
		return s, err
	}
	if s.target, err = g.get(ctx, g.to.newSet()); err != nil {
		return s, err
	}
	if err := g.readMachines(ctx, &s); err != nil {
		return s, err
	}
	s.Source, s.Target = g.facts(g.from, s.source), g.facts(g.to, s.target)
	if s.source == nil && !s.anySource() {
		return s, nil
	}
	if err := g.readPool(ctx, &s); err != nil {
		return s, err
	}
	return s, g.compare(ctx, &s)
}

// readPool reads the content of the new objects: from the source set, or from the new set if the source set does not exist any more.
func (g *Migration) readPool(ctx context.Context, s *snapshot) (err error) {
	if s.source == nil {
		if s.target == nil {
			return fmt.Errorf("neither API has the machine set %s", g.key)
		}
		s.pool, err = g.to.pool(ctx, g.client, s.target)
		return err
	}
	if s.pool, err = g.from.pool(ctx, g.client, s.source); err != nil {
		return err
	}
	for _, p := range s.Pairs {
		if o := s.views[p.Name].Recorded.Origin; o != nil && s.pool.Cluster == "" {
			s.pool.Cluster = o.Cluster
		}
	}
	s.pool, err = s.pool.translated(g.to)
	return err
}

// get returns the object with the key of the migration; nil if it does not exist.
func (g *Migration) get(ctx context.Context, o client.Object) (client.Object, error) {
	switch err := g.client.Get(ctx, g.key, o); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read machine set %s: %w", g.key, err)
	}
	return o, nil
}

func (g *Migration) facts(h half, o client.Object) *Set {
	if o == nil {
		return nil
	}
	wanted, ready := h.counts(o)
	return &Set{Replicas: wanted, Observed: ready, Held: h.held(o), Deleting: o.GetDeletionTimestamp() != nil}
}

// readMachines pairs the machines of both sets by name.
func (g *Migration) readMachines(ctx context.Context, s *snapshot) error {
	s.machines, s.views = map[string][2]client.Object{}, map[string]lifecycle.Machine{}
	sources, err := g.list(ctx, g.from)
	if err != nil {
		return err
	}
	targets, err := g.list(ctx, g.to)
	if err != nil {
		return err
	}
	for name, m := range sources {
		if owned(m, s.source) || s.source == nil && m.GetAnnotations()[millwright.MovedTo] == movedTo(g.to, m) && owned(targets[name], s.target) {
			s.machines[name] = [2]client.Object{m, targets[name]}
		}
	}
	for name, m := range targets {
		if _, paired := s.machines[name]; !paired && owned(m, s.target) {
			s.machines[name] = [2]client.Object{nil, m}
		}
	}
	for name, both := range s.machines {
		p := Pair{Name: name}
		if both[0] != nil {
			s.views[name] = g.from.api().Machines.View(both[0])
			p.Source = g.machine(g.from, both[0])
		}
		if both[1] != nil {
			p.Target = g.machine(g.to, both[1])
		}
		s.Pairs = append(s.Pairs, p)
	}
	slices.SortFunc(s.Pairs, func(a, b Pair) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// list returns the machines of the namespace, by name.
func (g *Migration) list(ctx context.Context, h half) (map[string]client.Object, error) {
	all := h.newMachines()
	if err := g.client.List(ctx, all, client.InNamespace(g.key.Namespace)); err != nil {
		return nil, fmt.Errorf("list the machines of %s: %w", h.api().Name, err)
	}
	out := map[string]client.Object{}
	err := meta.EachListItem(all, func(o runtime.Object) error {
		m := o.(client.Object)
		out[m.GetName()] = m
		return nil
	})
	return out, err
}

// owned reports whether the set is the controller of the machine.
func owned(m, set client.Object) bool {
	return m != nil && set != nil && metav1.IsControlledBy(m, set)
}

// machine returns the facts about a Machine.
func (g *Migration) machine(h half, o client.Object) *Machine {
	v := h.api().Machines.View(o)
	m := &Machine{
		Moved: v.MovedTo != "", Deleting: !v.Deleted.IsZero(), Running: v.Stage == lifecycle.StageRunning, ProviderID: v.Recorded.ProviderID,
		Recorded: v.HasFinalizer && v.Recorded.ProviderID != "",
	}
	switch hooks := len(v.Deletion.PreDrain) + len(v.Deletion.PreTerminate); {
	case m.ProviderID == "":
		m.Unfit = "has no instance yet"
	case len(v.Faults) > 0:
		m.Unfit = "is invalid: " + lifecycle.Describe(v.Faults)
	case hooks > 0:
		m.Unfit = "has lifecycle hooks, which the other API does not have"
	case m.Deleting:
		m.Unfit = "is being deleted"
	case !m.Running:
		m.Unfit = fmt.Sprintf("is not Running, but %s", v.Stage)
	}
	return m
}

// compare sets whether the class exists. It returns an error for an object of the other API that this migration did not create.
func (g *Migration) compare(ctx context.Context, s *snapshot) error {
	want := g.to.build().class(s.pool)
	s.Class = want == nil || s.source == nil
	if s.Class {
		return nil
	}
	have := want.DeepCopyObject().(client.Object)
	switch err := g.client.Get(ctx, client.ObjectKeyFromObject(want), have); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read machineclass %s: %w", want.GetName(), err)
	case s.target == nil && !sameContent(have, want):
		return fmt.Errorf("machineclass %s exists and differs from the one to create: rename or delete it", want.GetName())
	}
	s.Class = true
	return nil
}

// sameContent compares objects without the metadata that API servers set.
func sameContent(a, b client.Object) bool {
	plain := func(o client.Object) string {
		o = o.DeepCopyObject().(client.Object)
		o.SetResourceVersion("")
		o.SetUID("")
		o.SetManagedFields(nil)
		o.SetCreationTimestamp(metav1.Time{})
		o.SetGeneration(0)
		o.SetFinalizers(nil)
		o.GetObjectKind().SetGroupVersionKind(b.GetObjectKind().GroupVersionKind())
		return string(encoded(o))
	}
	return plain(a) == plain(b)
}

// perform carries out a step.
func (g *Migration) perform(ctx context.Context, s snapshot, step Step) error {
	both := s.machines[step.Machine]
	switch step.Action {
	case CreateClass:
		return g.client.Create(ctx, g.to.build().class(s.pool))
	case CreateSet:
		set := g.to.build().set(s.pool)
		g.to.hold(set, true)
		return g.client.Create(ctx, set)
	case HoldSource:
		return g.patch(ctx, s.source, func(o client.Object) { g.from.hold(o, true) })
	case MarkSource:
		return g.patch(ctx, both[0], func(o client.Object) { dialect.SetAnnotation(o, millwright.MovedTo, movedTo(g.to, o)) })
	case CreateMachine:
		return g.client.Create(ctx, successor(s.pool, g.to, both[0], s.views[step.Machine], s.target))
	case UnmarkTarget:
		return g.patch(ctx, both[1], func(o client.Object) { dialect.SetAnnotation(o, millwright.MovedTo, "") })
	case DeleteSource:
		return g.delete(ctx, both[0])
	case ReleaseTarget:
		return g.patch(ctx, s.target, func(o client.Object) { g.to.hold(o, false) })
	case DeleteSet:
		return g.delete(ctx, s.source)
	}
	return nil
}

// patch changes an object that was read, and fails if another program has changed it since.
func (g *Migration) patch(ctx context.Context, o client.Object, change func(client.Object)) error {
	changed := o.DeepCopyObject().(client.Object)
	change(changed)
	return g.client.Patch(ctx, changed, client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{}))
}

// delete deletes an object that was read, and not one of the same name that was created or changed since.
func (g *Migration) delete(ctx context.Context, o client.Object) error {
	uid, version := o.GetUID(), o.GetResourceVersion()
	return client.IgnoreNotFound(g.client.Delete(ctx, o, client.Preconditions{UID: &uid, ResourceVersion: &version}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// errOwned is the reason why a set of a deployment is not migrated.
var errOwned = errors.New("the set belongs to a MachineDeployment, which would create it again: only sets without one can be migrated")

// checkOwner returns an error for a set that another object controls.
func checkOwner(set client.Object) error {
	if set != nil && metav1.GetControllerOf(set) != nil {
		return errOwned
	}
	return nil
}
