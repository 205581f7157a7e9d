package dialecttest

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// DeploymentLaws describe a lens of deployments to check.
type DeploymentLaws[D, S client.Object] struct {
	Dialect dialect.Deployments[D, S]
	// Prepare changes a random deployment into one that the API server could hold, valid or not; Set, Machine
	// and Node do the same for a set, a machine and a node.
	Prepare func(d D, r *rand.Rand)
	Set     func(s S, r *rand.Rand)
	Machine func(m client.Object, r *rand.Rand)
	Node    func(n *corev1.Node, r *rand.Rand)
	// Fill are further randfill functions.
	Fill []any
	// Owned are the JSON paths that Record may change in a deployment, Amended those
	// that ApplyMetadata may, and Returned those that RollBack may.
	Owned, Amended, Returned []string
	// Applied are those that Apply may change in a set, Marked those that MarkForDeletion may in a machine,
	// none if the autoscaler marks them itself, and Moved those that Move and Unprotect may; none if machines
	// are not updated in place.
	Applied, Marked, Moved []string
	// Shows returns what the status of d shows in addition to its [rollout.Last], Tells what it must show
	// after Record with o for d.
	Shows func(d D) DeploymentShown
	Tells func(d D, o dialect.DeploymentOutcome[S]) DeploymentShown
}

// DeploymentShown has the checked fields of a deployment's status.
type DeploymentShown struct {
	Generation, Collisions int64
	Selector               string
	Kept, Unavailable      int
	// Conditions are "status reason" by type, except the Progressing one; Failed are the names of machines.
	Conditions map[string]string
	Failed     []string
}

// deploymentTrial is a deployment with its sets and machines, an outcome, and the deployment after Record.
type deploymentTrial[D, S client.Object] struct {
	r             *rand.Rand
	before, after D
	sets          []S
	machines      []client.Object
	node          *corev1.Node
	o             dialect.DeploymentOutcome[S]
}

// Check runs the laws on random deployments, sets, machines and nodes. The seed is fixed, so a failure is
// reproducible.
func (l DeploymentLaws[D, S]) Check(t *testing.T) {
	t.Helper()
	laws := []struct {
		name string
		hold func(deploymentTrial[D, S]) error
	}{
		{"shows", l.shows},
		{"owned", l.owned},
		{"idempotent", l.idempotent},
		{"unshared", l.unshared},
		{"amended", l.amended},
		{"rolled back", l.rolledBack},
		{"made", l.made},
		{"applied", l.applied},
		{"marked", l.marked},
		{"moved", l.moved},
		{"nodes", l.nodes},
	}
	came := map[string]int{}
	for seed := range int64(600) {
		c := l.trial(seed)
		for kind, is := range map[string]bool{
			"faulty": c.o.Plan.Status.Faulty, "complete": c.o.Plan.Status.Complete, "collided": c.o.Collided, "create error": c.o.CreateErr != nil,
			"scaling": len(c.o.Plan.Sets()) > 0, "failure": c.o.Plan.Status.Failure != nil, "progress": c.o.Plan.Status.Progress.Status != "",
		} {
			if is {
				came[kind]++
			}
		}
		for _, law := range laws {
			if err := law.hold(c); err != nil {
				t.Fatalf("law %q is broken (seed %d): %v\nplan: %+v", law.name, seed, err, c.o.Plan)
			}
		}
	}
	for _, kind := range []string{"faulty", "complete", "collided", "create error", "scaling", "failure", "progress"} {
		if came[kind] < 5 {
			t.Errorf("%d outcomes were about %s: the checks are blind to it", came[kind], kind)
		}
	}
}

func (l DeploymentLaws[D, S]) sets() dialect.DeployedSets[D, S] { return l.Dialect.Sets() }

// facts returns the engine's facts of d.
func (l DeploymentLaws[D, S]) facts(d D) rollout.Deployment { return l.Dialect.View(d, Now).Deployment }

// machine returns the engine's facts of m, whose node is n.
func (l DeploymentLaws[D, S]) machine(m client.Object, n *corev1.Node) rollout.Machine {
	return l.Dialect.Machines().View(m, dialect.OnNode(n))
}

func (l DeploymentLaws[D, S]) trial(seed int64) deploymentTrial[D, S] {
	r := rand.New(rand.NewSource(seed))
	c := deploymentTrial[D, S]{r: r, before: l.Dialect.New(), node: someNode(r)}
	filler(seed, l.Fill).Fill(c.before)
	meta(c.before, r, l.Dialect.Traits().Finalizer)
	l.Prepare(c.before, r)
	l.Node(c.node, r)
	var view []rollout.Set
	for i := range 1 + r.Intn(3) {
		s := l.sets().Lens().New()
		filler(seed*7+int64(i), l.Fill).Fill(s)
		meta(s, r, l.Dialect.Traits().Finalizer)
		s.SetName(fmt.Sprint("s-", i))
		s.SetUID(types.UID(s.GetName()))
		l.Set(s, r)
		v := l.sets().View(c.before, s)
		for range r.Intn(3) {
			m := l.sets().Lens().Traits().Machine()
			filler(seed*7+int64(len(c.machines)), l.Fill).Fill(m)
			meta(m, r, l.Dialect.Traits().Finalizer)
			m.SetName(fmt.Sprint("m-", len(c.machines)))
			m.SetUID(types.UID(m.GetName()))
			l.Machine(m, r)
			c.machines = append(c.machines, m)
			v.Machines = append(v.Machines, l.machine(m, c.node))
		}
		c.sets, view = append(c.sets, s), append(view, v)
	}
	c.o = l.outcome(c, view)
	c.after = clone(c.before)
	l.Dialect.Record(c.after, c.o)
	return c
}

// outcome returns the outcome of a pass over the deployment.
func (l DeploymentLaws[D, S]) outcome(c deploymentTrial[D, S], view []rollout.Set) dialect.DeploymentOutcome[S] {
	o := dialect.DeploymentOutcome[S]{Now: Now, Deployment: l.facts(c.before), Sets: c.sets}
	if len(o.Deployment.Faults) > 0 {
		view, o.Sets = nil, nil
	}
	o.Plan = rollout.Decide(Now, o.Deployment, view, l.Dialect.View(c.before, Now).Policy)
	switch faulty := o.Plan.Status.Faulty; {
	case faulty:
	case c.r.Intn(9) == 0:
		o.Collided = true
	case c.r.Intn(9) == 0:
		o.CreateErr = errors.New("the quota is used up")
	case c.r.Intn(4) == 0: // random machines seldom lead to that
		o.Plan.Status.Complete, o.Plan.Status.Enough = true, true
	}
	return o
}

// shows: View returns the counters and the progress of Record's outcome, and everything else as before; the
// rest of the status is the API's own.
func (l DeploymentLaws[D, S]) shows(c deploymentTrial[D, S]) error {
	if c.o.Plan.Finished() || c.o.Plan.RollBack() != nil {
		return nil // such a pass records nothing
	}
	was, is, st := l.facts(c.before), l.facts(c.after), c.o.Plan.Status
	want := was
	if !st.Faulty {
		want.Last = rollout.Last{Updated: st.Updated, Old: st.Replicas - st.Updated, Ready: st.Ready, Available: st.Available, Progress: want.Last.Progress}
	}
	if p := st.Progress; p.Status != "" {
		p.Since = p.Since.Truncate(time.Second)
		want.Last.Progress = p
	}
	if c.o.CreateErr != nil {
		want.Last.Progress = rollout.Progress{Status: rollout.False, Reason: rollout.SetCreateError, Message: c.o.CreateErr.Error(), Since: Now}
	}
	since := is.Last.Progress.Since
	if repeats := c.o.CreateErr != nil || st.Faulty; repeats && (since.Equal(Now) || since.Equal(was.Last.Progress.Since)) {
		want.Last.Progress.Since = since // a continuing problem keeps its time
	}
	if dialect.SelectsAll(was.Faults) && is.Last.Progress.Reason == rollout.SelectsAll {
		want.Last.Progress.Reason = rollout.SelectsAll // if the API distinguishes it
	}
	if d := cmp.Diff(want, is, cmpopts.EquateEmpty()); d != "" {
		return fmt.Errorf("View(Record(d, o)) (-what o says +what it shows)\n%s", d)
	}
	if d := cmp.Diff(l.Tells(c.before, c.o), l.Shows(c.after), cmpopts.EquateEmpty()); d != "" {
		return fmt.Errorf("the status (-what o says +what it shows)\n%s", d)
	}
	return nil
}

func (l DeploymentLaws[D, S]) owned(c deploymentTrial[D, S]) error {
	return changesOnly(c.before, c.after, l.Owned)
}

// idempotent: the same outcome an hour later costs no write. A collision is counted each time:
// each is another name.
func (l DeploymentLaws[D, S]) idempotent(c deploymentTrial[D, S]) error {
	again, o := clone(c.after), c.o
	o.Now, o.Collided = o.Now.Add(time.Hour), false
	if o.Plan.Status.Faulty { // every pass finds it again
		o.Plan.Status.Progress.Since = o.Now
	}
	l.Dialect.Record(again, o)
	return same("the second Record of one outcome", c.after, again)
}

// unshared: sets belong to the cache, and the deployment is written.
func (l DeploymentLaws[D, S]) unshared(c deploymentTrial[D, S]) error {
	d, o := clone(c.before), c.o
	o.Sets = nil
	for _, s := range c.o.Sets {
		o.Sets = append(o.Sets, clone(s))
	}
	l.Dialect.Record(d, o)
	for i, s := range o.Sets {
		if err := same("Record", c.o.Sets[i], s); err != nil {
			return err
		}
		overwrite(s)
	}
	if err := same("what was done to the sets", c.after, d); err != nil {
		return err
	}
	var was []S
	for _, s := range c.sets {
		was = append(was, clone(s))
	}
	d = clone(c.before)
	l.Dialect.Record(d, c.o)
	overwrite(d)
	return same("what was done to the deployment", was, c.sets)
}

// amended: revision and wishes show as they were planned.
func (l DeploymentLaws[D, S]) amended(c deploymentTrial[D, S]) error {
	d, p := clone(c.before), c.o.Plan.Amendment()
	l.Dialect.ApplyMetadata(d, c.sets, p)
	want, is := l.facts(c.before), l.facts(d)
	if p.Revision != 0 {
		want.Revision = p.Revision
	}
	if p.Rewish {
		want.Wishes = p.Wishes
	}
	byName := cmpopts.SortSlices(func(a, b rollout.Wish) bool {
		return a.Machine < b.Machine || a.Machine == b.Machine && a.At.Before(b.At)
	})
	if diff := cmp.Diff(want, is, byName, cmpopts.IgnoreFields(rollout.Wish{}, "Undated"), cmpopts.EquateEmpty()); diff != "" {
		return fmt.Errorf("(-planned +shown)\n%s", diff)
	}
	again := clone(d)
	l.Dialect.ApplyMetadata(again, c.sets, p)
	return errors.Join(same("ApplyMetadata, once more,", d, again), changesOnly(c.before, d, l.Amended))
}

// rolledBack: the deployment has the set's template, and no rollback request.
func (l DeploymentLaws[D, S]) rolledBack(c deploymentTrial[D, S]) error {
	cleared := clone(c.before)
	l.Dialect.RollBack(cleared, nil, rollout.RollBack{})
	if err := changesOnly(c.before, cleared, []string{"spec.rollbackTo"}); err != nil {
		return err
	}
	for i := range c.sets {
		d, s := clone(c.before), clone(c.sets[i])
		l.Dialect.RollBack(d, &s, rollout.RollBack{})
		switch {
		case l.facts(d).RollbackTo != nil:
			return errors.New("the request is not cleared")
		case !l.sets().View(d, s).Current:
			return errors.New("the set is not of the template")
		}
		was := clone(d)
		overwrite(s)
		if err := errors.Join(same("what was done to the set", was, d), changesOnly(c.before, d, l.Returned)); err != nil {
			return err
		}
	}
	return nil
}

// made: the set of the current template is current, valid, owned by the deployment, and as planned; after a
// collision it has another name.
func (l DeploymentLaws[D, S]) made(c deploymentTrial[D, S]) error {
	if len(l.facts(c.before).Faults) > 0 {
		return nil
	}
	c.before.SetUID("d-uid")
	d, w := clone(c.before), l.want(c, l.sets().Lens().New())
	w.Current = true
	s := l.sets().New(d, w)
	ref, v := metav1.GetControllerOf(s), l.sets().View(d, s)
	switch {
	case ref == nil || ref.UID != d.GetUID() || ref.Kind != l.Dialect.Traits().Kind.Kind:
		return fmt.Errorf("its controller is %+v", ref)
	case s.GetNamespace() != d.GetNamespace() || !l.Dialect.View(d, Now).Selector.Matches(labels.Set(s.GetLabels())):
		return fmt.Errorf("the deployment does not select %s with labels %v", client.ObjectKeyFromObject(s), s.GetLabels())
	case !v.Current || v.Replicas != w.Replicas || v.Revision != w.Revision || v.NoGrowth != w.NoGrowth:
		return fmt.Errorf("wanted %+v, made %+v", w, v)
	}
	for _, f := range l.sets().Lens().View(s).Faults {
		return fmt.Errorf("the set is at fault: %s", f)
	}
	collided := clone(c.before)
	l.Dialect.Record(collided, dialect.DeploymentOutcome[S]{Now: Now, Collided: true})
	if l.sets().New(collided, w).GetName() == s.GetName() || l.sets().New(d, w).GetName() != s.GetName() {
		return fmt.Errorf("%s does not follow from template and collisions alone", s.GetName())
	}
	return l.apart(d, s, func(d D) S { return l.sets().New(d, w) })
}

// apart: d and s, which was created from it, share no memory.
func (l DeploymentLaws[D, S]) apart(d D, s S, apply func(D) S) error {
	was, from := clone(s), clone(d)
	overwrite(d)
	if err := same("what was done to the deployment", was, s); err != nil {
		return err
	}
	d = clone(from)
	overwrite(apply(d))
	return same("what was done to the set", from, d)
}

// want returns a possible plan for s.
func (l DeploymentLaws[D, S]) want(c deploymentTrial[D, S], s S) rollout.SetWant {
	v, r := l.sets().View(c.before, s), c.r
	w := rollout.SetWant{UID: v.UID, Name: v.Name, Current: v.Current, Replicas: r.Intn(5), Revision: int64(r.Intn(3)), Avoided: r.Intn(2) == 0, NoGrowth: r.Intn(2) == 0}
	if n := r.Intn(9); n > 0 {
		w.Desired, w.Max = &n, &n
	}
	if r.Intn(2) == 0 {
		w.Notes = rollout.Notes{Failed: []string{"m-1~2026-01-02T03:04:05Z", "m-2"}, CanarySince: Now}
	}
	return w
}

// applied: the set has the wanted state, and all other fields as before.
func (l DeploymentLaws[D, S]) applied(c deploymentTrial[D, S]) error {
	for _, before := range c.sets {
		w := l.want(c, before)
		d, s := clone(c.before), clone(before)
		l.sets().Apply(d, s, w)
		want := l.sets().View(d, before)
		want.Replicas, want.Avoided, want.NoGrowth, want.Notes = w.Replicas, w.Avoided, w.NoGrowth, w.Notes
		if w.Desired != nil {
			want.Desired, want.Max = w.Desired, w.Max
		}
		if w.Revision != 0 {
			want.Revision = w.Revision
		}
		if diff := cmp.Diff(want, l.sets().View(d, s)); diff != "" {
			return fmt.Errorf("(-wanted +shown)\n%s", diff)
		}
		again := clone(s)
		l.sets().Apply(d, again, w)
		err := errors.Join(same("Apply", c.before, d), same("Apply, once more,", s, again), changesOnly(before, s, l.Applied))
		if err != nil {
			return err
		}
		err = l.apart(d, s, func(d D) S {
			s := clone(before)
			l.sets().Apply(d, s, w)
			return s
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// marked: a machine that was marked to be deleted first shows that, and the time of the mark if the API stores it.
func (l DeploymentLaws[D, S]) marked(c deploymentTrial[D, S]) error {
	marker, ok := dialect.As[dialect.VictimMarker](l.Dialect.Machines())
	if ok != (len(l.Marked) > 0) {
		return fmt.Errorf("the lens marks machines: %v", ok)
	}
	for _, before := range c.machines {
		if !ok {
			break
		}
		m, again := clone(before), clone(before)
		marker.MarkForDeletion(m, Now)
		want, is := l.machine(before, c.node), l.machine(m, c.node)
		if want.Asked = true; is.Marked.Equal(Now) {
			want.Marked = Now
		}
		want.Priority = min(want.Priority, is.Priority) // where sets know it by that
		if diff := cmp.Diff(want, is); diff != "" {
			return fmt.Errorf("(-wanted +shown)\n%s", diff)
		}
		marker.MarkForDeletion(again, Now)
		marker.MarkForDeletion(again, Now)
		if err := errors.Join(same("marking once more", m, again), changesOnly(before, m, l.Marked)); err != nil {
			return err
		}
	}
	return nil
}

// moved: a machine that was handed over has its new set as its controller, is shielded until it is
// unprotected, and is otherwise unchanged.
func (l DeploymentLaws[D, S]) moved(c deploymentTrial[D, S]) error {
	mover, ok := dialect.As[dialect.Mover[S]](l.Dialect.Machines())
	if ok != (len(l.Moved) > 0) {
		return fmt.Errorf("the lens moves machines: %v", ok)
	}
	if !ok || len(c.sets) < 2 {
		return nil
	}
	for _, before := range c.machines {
		m, from, to := clone(before), c.sets[0], c.sets[1]
		mover.Move(m, from, to)
		if err := changesOnly(before, m, l.Moved); err != nil {
			return err
		}
		want, is := l.machine(before, c.node), l.machine(m, c.node)
		if want.Moved = true; cmp.Diff(want, is) != "" {
			return fmt.Errorf("(-wanted +shown)\n%s", cmp.Diff(want, is))
		}
		if ref := metav1.GetControllerOf(m); ref == nil || ref.UID != to.GetUID() {
			return fmt.Errorf("its controller is %+v", ref)
		}
		again, done := clone(m), clone(m)
		mover.Move(again, from, to)
		mover.Unprotect(done)
		if want.Moved = false; cmp.Diff(want, l.machine(done, c.node)) != "" {
			return fmt.Errorf("(-wanted +shown)\n%s", cmp.Diff(want, l.machine(done, c.node)))
		}
		if err := errors.Join(same("moving once more", m, again), changesOnly(m, done, l.Moved)); err != nil {
			return err
		}
	}
	return nil
}

// nodes: a node has the wanted marks, and the marks of other programs stay.
func (l DeploymentLaws[D, S]) nodes(c deploymentTrial[D, S]) error {
	r := c.r
	at := slices.IndexFunc(c.machines, func(m client.Object) bool {
		v := l.machine(m, nil)
		return v.Node != "" && !v.Preservation.Started()
	})
	if at < 0 {
		return nil
	}
	m := c.machines[at]
	w := rollout.NodeWant{Avoid: r.Intn(2) == 0, Stay: r.Intn(2) == 0}
	if updates := len(l.Moved) > 0; updates {
		w.Update = inplace.RequestOf(r.Intn(2) == 0, r.Intn(2) == 0).Kept()
		if r.Intn(4) == 0 {
			w.Update = inplace.WishRelease
		}
	}
	n := c.node.DeepCopy()
	l.Dialect.Machines().MarkNode(n, w)
	was, is := l.machine(m, c.node), l.machine(m, n)
	foreign := was.Marks.StayForeign || w.Stay && is.Marks.StayForeign // of a machine that is kept, the mark is shared
	released := w.Update == inplace.WishRelease
	marks := rollout.Marks{Avoid: w.Avoid && !released, Stay: w.Stay && !foreign, StayForeign: foreign}
	update := was.Update
	update.Request = w.Update.Request()
	if released {
		update.Answer, update.Detail = inplace.AnswerNone, ""
	}
	if diff := cmp.Diff(marks, is.Marks) + cmp.Diff(update, is.Update); diff != "" {
		return fmt.Errorf("%+v (-wanted +shown)\n%s", w, diff)
	}
	was.Marks, was.Update = is.Marks, is.Update
	if diff := cmp.Diff(was, is); diff != "" {
		return fmt.Errorf("marking the node changed more\n%s", diff)
	}
	again := n.DeepCopy()
	l.Dialect.Machines().MarkNode(again, w)
	return same("marking once more", n, again)
}
