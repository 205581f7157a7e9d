package dialecttest

import (
	"errors"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// SetLaws describe a lens of sets to check.
type SetLaws[S client.Object] struct {
	Dialect dialect.Sets[S]
	// Prepare changes a random set into one that the API server could hold, valid or not; Machine does the
	// same for a machine.
	Prepare func(s S, r *rand.Rand)
	Machine func(m client.Object, r *rand.Rand)
	// Fill are further randfill functions.
	Fill []any
	// Owned are the JSON paths that Record may change in a set, Handed those that
	// Propagate may change in a machine, Kept those that PreserveMachine may, and Frozen those
	// that Freeze may change in a set.
	Owned, Handed, Kept, Frozen []string
	// Shows returns what the status of s shows, Tells what it must show after Record with o for s.
	Shows func(s S) SetShown
	Tells func(s S, o dialect.SetOutcome) SetShown
}

// SetShown has the checked fields of a set's status.
type SetShown struct {
	Generation int64
	Tally      replicas.Tally
	// Selector is that of its machines, as text.
	Selector string
	// Troubles are messages by their subject.
	Troubles map[string]string
}

// setTrial is a set with its machines, an outcome, and the set after Record.
type setTrial[S client.Object] struct {
	r             *rand.Rand
	before, after S
	machines      []client.Object
	o             dialect.SetOutcome
}

// Check runs the laws on random sets and machines. The seed is fixed, so a failure is reproducible.
func (l SetLaws[S]) Check(t *testing.T) {
	t.Helper()
	laws := []struct {
		name string
		hold func(setTrial[S]) error
	}{
		{"shows", l.shows},
		{"owned", l.owned},
		{"idempotent", l.idempotent},
		{"unshared", l.unshared},
		{"member", l.member},
		{"made", l.made},
		{"propagated", l.propagated},
		{"preserved", l.preserved},
		{"frozen", l.frozen},
	}
	came := map[string]int{}
	for seed := range int64(800) {
		c := l.trial(seed)
		came[kindOf(c.o)]++
		for _, law := range laws {
			if err := law.hold(c); err != nil {
				t.Fatalf("law %q is broken (seed %d): %v\noutcome: %+v", law.name, seed, err, c.o)
			}
		}
	}
	for _, kind := range []string{"at fault", "unjudged", "failure", "held", "well"} {
		if came[kind] < 10 {
			t.Errorf("%d outcomes of kind %q, want at least 10: the laws hardly test it", came[kind], kind)
		}
	}
}

func kindOf(o dialect.SetOutcome) string {
	switch {
	case len(o.Faults) > 0:
		return "at fault"
	case !o.Judged:
		return "unjudged"
	case o.Failure != nil:
		return "failure"
	case o.Withheld != "":
		return "held"
	}
	return "well"
}

func (l SetLaws[S]) trial(seed int64) setTrial[S] {
	r := rand.New(rand.NewSource(seed))
	c := setTrial[S]{r: r, before: l.Dialect.New()}
	filler(seed, l.Fill).Fill(c.before)
	meta(c.before, r, l.Dialect.Traits().Finalizer)
	l.Prepare(c.before, r)
	for i := range r.Intn(4) {
		c.machines = append(c.machines, l.machine(seed*10+int64(i), r))
	}
	c.o = l.outcome(c)
	c.after = clone(c.before)
	l.Dialect.Record(c.after, c.o)
	return c
}

func filler(seed int64, own []any) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(.3).NumElements(0, 3).MaxDepth(12).Funcs(append(fillers(), own...)...)
}

func (l SetLaws[S]) machine(seed int64, r *rand.Rand) client.Object {
	m := l.Dialect.Traits().Machine()
	filler(seed, l.Fill).Fill(m)
	meta(m, r, l.Dialect.Traits().Finalizer)
	m.SetName(fmt.Sprint("m-", seed))
	l.Machine(m, r)
	return m
}

// outcome returns the outcome of a pass over the set: the engine counts and decides, and its writes succeed
// or fail at random.
func (l SetLaws[S]) outcome(c setTrial[S]) dialect.SetOutcome {
	o := dialect.SetOutcome{Now: Now}
	v := l.Dialect.View(c.before)
	set, policy := v.Set, v.Policy
	if o.Faults = set.Faults; len(o.Faults) > 0 {
		return o
	}
	var members []replicas.Member
	for _, m := range c.machines {
		members = append(members, l.Dialect.Member(c.before, m, someNodes(c.r)))
	}
	o.Tally, o.Machines, o.Judged = replicas.Count(Now, members, policy), c.machines, c.r.Intn(4) > 0
	if c.r.Intn(2) == 0 {
		o.Frozen = "5 machines, of 2 wanted"
	}
	if !o.Judged {
		return o
	}
	if o.Withheld = replicas.Decide(Now, set, members, policy).Withheld; c.r.Intn(4) == 0 {
		o.Withheld = "2 of 3 members would go at once"
	}
	if c.r.Intn(3) == 0 {
		o.Failure = &dialect.SetFailure{Creating: c.r.Intn(2) == 0, Err: errors.New("the quota is used up")}
	}
	return o
}

func someNodes(r *rand.Rand) dialect.Nodes {
	n := someNode(r)
	return func(string) *corev1.Node { return n }
}

// shows: the status shows the outcome of the pass, and View returns the same as before: Record does not
// change the wanted state.
func (l SetLaws[S]) shows(c setTrial[S]) error {
	want, got := l.Tells(c.before, c.o), l.Shows(c.after)
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		return fmt.Errorf("the status (-what o says +what it shows)\n%s", d)
	}
	if d := cmp.Diff(l.Dialect.View(c.before).Set, l.Dialect.View(c.after).Set); d != "" {
		return fmt.Errorf("what is wanted was changed by Record\n%s", d)
	}
	return nil
}

func (l SetLaws[S]) owned(c setTrial[S]) error { return changesOnly(c.before, c.after, l.Owned) }

// changesOnly fails if a field outside of the paths was changed.
func changesOnly(before, after any, owned []string) error {
	changed, err := changedPaths(before, after)
	if err != nil {
		return err
	}
	for _, path := range changed {
		if !under(path, owned) {
			return fmt.Errorf("%s was changed, and is not the dialect's", path)
		}
	}
	return nil
}

// idempotent: the same outcome an hour later costs no write.
func (l SetLaws[S]) idempotent(c setTrial[S]) error {
	again, o := clone(c.after), c.o
	o.Now = o.Now.Add(time.Hour)
	l.Dialect.Record(again, o)
	return same("the second Record of one outcome", c.after, again)
}

func same(what string, want, got any) error {
	if equality.Semantic.DeepEqual(want, got) {
		return nil
	}
	return fmt.Errorf("%s changed something\n%s", what, cmp.Diff(want, got))
}

// unshared: machines belong to the cache, and the set is written: they share no memory.
func (l SetLaws[S]) unshared(c setTrial[S]) error {
	s, o := clone(c.before), c.o
	o.Machines = nil
	for _, m := range c.o.Machines {
		o.Machines = append(o.Machines, clone(m))
	}
	l.Dialect.Record(s, o)
	for i, m := range o.Machines {
		if err := same("Record", c.o.Machines[i], m); err != nil {
			return err
		}
		overwrite(m)
	}
	if err := same("what was done to machines", c.after, s); err != nil {
		return err
	}
	overwrite(c.after)
	for i, m := range c.machines {
		if err := same("what was done to the set", clone(m), c.machines[i]); err != nil {
			return err
		}
	}
	return nil
}

// member: reading changes nothing.
func (l SetLaws[S]) member(c setTrial[S]) error {
	for _, m := range c.machines {
		s, n := clone(c.before), clone(m)
		if l.Dialect.Member(s, n, someNodes(c.r)).UID != m.GetUID() {
			return errors.New("the member is another machine's")
		}
		if err := errors.Join(same("Member", m, n), same("Member", c.before, s)); err != nil {
			return err
		}
	}
	return nil
}

// made: a new machine belongs to the set by name, owner, finalizer and, if the set is valid, by selector;
// Propagate has nothing to change in it; and it shares no memory with the set.
func (l SetLaws[S]) made(c setTrial[S]) error {
	c.before.SetUID(types.UID("set-uid"))
	s := clone(c.before)
	m := l.Dialect.NewMachine(s, "fresh")
	ref := metav1.GetControllerOf(m)
	switch {
	case m.GetName() != "fresh" || m.GetNamespace() != s.GetNamespace():
		return fmt.Errorf("it is called %s/%s", m.GetNamespace(), m.GetName())
	case ref == nil || ref.UID != s.GetUID() || ref.Kind != l.Dialect.Traits().Kind.Kind:
		return fmt.Errorf("its controller is %+v", ref)
	case len(m.GetFinalizers()) == 0:
		return errors.New("it has no finalizer, and its instance might outlive it")
	}
	if len(l.Dialect.View(s).Faults) == 0 {
		switch {
		case !l.Dialect.View(s).Selector.Matches(labels.Set(m.GetLabels())):
			return errors.New("the set does not select it")
		case !l.Dialect.Member(s, m, someNodes(c.r)).FullyLabeled:
			return errors.New("it lacks labels of the template")
		case l.Dialect.Propagate(s, m, true):
			return errors.New("something is left to hand to it")
		}
	}
	was := clone(m)
	overwrite(s)
	if err := same("what was done to the set", was, m); err != nil {
		return err
	}
	s = clone(c.before)
	overwrite(l.Dialect.NewMachine(s, "fresh"))
	return same("what was done to the machine", c.before, s)
}

// propagated: the change that a dry run predicts is made, once; only owned fields are changed, and no memory
// is shared.
func (l SetLaws[S]) propagated(c setTrial[S]) error {
	for _, m := range c.machines {
		s, dry, wet := clone(c.before), clone(m), clone(m)
		foretold, done := l.Dialect.Propagate(s, dry, true), l.Dialect.Propagate(s, wet, false)
		switch {
		case foretold != done:
			return fmt.Errorf("a dry run says %v, the other %v", foretold, done)
		case l.Dialect.Propagate(s, clone(wet), true):
			return errors.New("it is never done")
		case done == equality.Semantic.DeepEqual(m, wet):
			return fmt.Errorf("it says changed %v, and that is not so", done)
		}
		err := errors.Join(same("a dry run", m, dry), same("Propagate", c.before, s), changesOnly(m, wet, l.Handed))
		if err != nil {
			return err
		}
		was := clone(wet)
		if overwrite(s); !equality.Semantic.DeepEqual(was, wet) {
			return fmt.Errorf("the machine shares memory with the set\n%s", cmp.Diff(was, wet))
		}
	}
	return nil
}

// preserved: a set's choice is visible, and can be removed without a trace.
func (l SetLaws[S]) preserved(c setTrial[S]) error {
	p, ok := l.Dialect.(dialect.SetPreserver)
	if ok != (len(l.Kept) > 0) {
		return fmt.Errorf("the lens keeps machines: %v", ok)
	}
	for _, m := range c.machines {
		for _, keep := range []bool{true, false} {
			if !ok {
				continue
			}
			after := clone(m)
			p.PreserveMachine(after, keep)
			if err := changesOnly(m, after, l.Kept); err != nil {
				return err
			}
			want, got := l.Dialect.Member(c.before, m, someNodes(c.r)), l.Dialect.Member(c.before, after, someNodes(c.r))
			open := !want.Preservation.Decided() // otherwise its node's wish wins
			want.Preservation, want.Ready, want.Usable, want.ReadySince = got.Preservation, got.Ready, got.Usable, got.ReadySince
			k := got.Preservation
			if k.ByOwner() != keep || keep && open && (!k.Decided() || !k.Spares(Now)) {
				return fmt.Errorf("kept %v by the set's choice, shows %+v", keep, k)
			}
			if d := cmp.Diff(want, got); d != "" {
				return fmt.Errorf("keeping changed more\n%s", d)
			}
		}
	}
	return nil
}

// frozen: a frozen set shows it, and a thawed one has no request left.
func (l SetLaws[S]) frozen(c setTrial[S]) error {
	f, ok := l.Dialect.(dialect.Freezer[S])
	if ok != (len(l.Frozen) > 0) {
		return fmt.Errorf("the lens freezes: %v", ok)
	}
	for _, freeze := range []bool{true, false} {
		if !ok {
			break
		}
		s := clone(c.before)
		f.Freeze(s, freeze)
		v, crowd := l.Dialect.View(s).Set, f.Crowd(s, nil, nil)
		if crowd.Frozen != freeze || v.Frozen != freeze || freeze && v.NoGrowth == "" || !freeze && crowd.Asked {
			return fmt.Errorf("frozen %v, shows %+v and %+v", freeze, v, crowd)
		}
		want := l.Dialect.View(c.before).Set
		want.Frozen, want.NoGrowth = v.Frozen, v.NoGrowth
		if d := cmp.Diff(want, v); d != "" {
			return fmt.Errorf("freezing changed more\n%s", d)
		}
		again := clone(s)
		f.Freeze(again, freeze)
		if err := errors.Join(same("Freeze", s, again), changesOnly(c.before, s, l.Frozen)); err != nil {
			return err
		}
	}
	return nil
}
