package dialecttest

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/lifecycle"
)

// Now is when all passes of the checks happen.
var Now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Laws describe a lens to be checked.
type Laws[M client.Object] struct {
	Dialect dialect.Machines[M]
	// Prepare makes a random object one that the API server could hold:
	// phases of the API, own finalizer or not, references or not.
	Prepare func(m M, r *rand.Rand)
	// Fill are further randfill functions, for types of the API that cannot
	// be filled blindly.
	Fill []any
	// Finalizer is the one that Record puts and takes; the others are kept.
	Finalizer string
	// Owned are the JSON paths that Record may change, each with all below it:
	// "status.phase", "metadata.labels[node]", "status.conditions[Drained]".
	// Lists of objects with a type are addressed by it.
	Owned []string
	// Kept are the paths that Record never clears once they are set.
	Kept []string
	// Stages are those that View shows when Record was given another, where
	// the API has one phase for several.
	Stages map[lifecycle.Stage]lifecycle.Stage
	// KeepsDrained says that the API remembers a finished drain.
	KeepsDrained bool
	// Objects is how many are tried; zero means 2000.
	Objects int
}

// trial is one object, one outcome, and what Record made of them.
type trial[M client.Object] struct {
	before, after M
	was, is       lifecycle.Machine
	o             lifecycle.Outcome
}

// Check runs all laws on random objects. The seed is fixed: a failure comes
// again.
func (l Laws[M]) Check(t *testing.T) {
	t.Helper()
	laws := []struct {
		name string
		hold func(trial[M]) error
	}{
		{"shows", l.shows}, {"owned", l.owned}, {"kept", l.kept}, {"idempotent", l.idempotent}, {"unshared", l.unshared},
	}
	n := l.Objects
	if n == 0 {
		n = 2000
	}
	came := map[lifecycle.Step]int{}
	for seed := range int64(n) {
		c := l.trial(seed)
		came[c.o.Step]++
		for _, s := range c.o.Steps {
			came[s.Step]++
		}
		for _, law := range laws {
			if err := law.hold(c); err != nil {
				t.Errorf("law %q is broken (seed %d): %v\noutcome: %s", law.name, seed, err, describe(c.o))
				return
			}
		}
	}
	for _, step := range everyStep {
		if came[step] == 0 && n >= 2000 {
			t.Errorf("no outcome had the step %s: the checks are blind to it", step)
		}
	}
	if updates := l.Dialect.Policy(l.Dialect.New()).UpdatesInPlace; updates != (came[lifecycle.Note] > 0) {
		t.Errorf("updates in place: %v, and %d notes about them", updates, came[lifecycle.Note])
	}
}

var everyStep = []lifecycle.Step{
	lifecycle.Settled, lifecycle.Await, lifecycle.Hold, lifecycle.Create, lifecycle.Initialize, lifecycle.Adopt, lifecycle.Fail,
	lifecycle.Drain, lifecycle.Terminate, lifecycle.Forget, lifecycle.Release,
}

func (l Laws[M]) trial(seed int64) trial[M] {
	r := rand.New(rand.NewSource(seed))
	before := l.object(seed, r)
	was := l.Dialect.View(before)
	o := Outcome(r, was, l.Dialect.Policy(before))
	after := clone(before)
	l.Dialect.Record(after, o)
	return trial[M]{before: before, after: after, was: was, is: l.Dialect.View(after), o: o}
}

func (l Laws[M]) object(seed int64, r *rand.Rand) M {
	m := l.Dialect.New()
	randfill.NewWithSeed(seed).NilChance(.3).NumElements(0, 3).Funcs(append(fillers(), l.Fill...)...).Fill(m)
	meta(m, r, l.Finalizer)
	l.Prepare(m, r)
	originate(m, r)
	return m
}

// meta makes the metadata plausible: a machine of half an hour ago, deleted or
// not.
func meta(o client.Object, r *rand.Rand, finalizer string) {
	o.SetNamespace("ns")
	o.SetName("m-1")
	o.SetCreationTimestamp(metav1.NewTime(Now.Add(-time.Duration(r.Intn(1800)) * time.Second)))
	o.SetDeletionTimestamp(nil)
	if r.Intn(2) == 0 {
		at := metav1.NewTime(Now.Add(-time.Duration(r.Intn(300)) * time.Second))
		o.SetDeletionTimestamp(&at)
	}
	if r.Intn(4) > 0 {
		o.SetFinalizers(append(o.GetFinalizers(), finalizer))
	}
}

// originate lets some objects keep an origin: their own, complete or not, one that
// came with the manifest of another machine, and one that cannot be read.
func originate(o client.Object, r *rand.Rand) {
	values := []string{
		"", "{}", `{"cluster":"green"}`, `{"uid":"` + string(o.GetUID()) + `","cluster":"blue","account":"one"}`,
		`{"uid":"another","cluster":"green","account":"two"}`, `{"cluster":`,
	}
	if v := values[r.Intn(len(values))]; v != "" {
		dialect.SetAnnotation(o, dialect.OriginAnnotation, v)
	}
}

func clone[M client.Object](m M) M { return m.DeepCopyObject().(M) }

// shows: View(Record(m, o)) shows what o says, and what it does not speak of
// as it was.
func (l Laws[M]) shows(c trial[M]) error {
	want := c.was
	intermediate := c.o.Step == lifecycle.Hold
	switch {
	case c.o.Did(lifecycle.Release):
		want.Held = false
	case c.o.Did(lifecycle.Hold):
		want.Held = true
	}
	if !c.o.Did(lifecycle.Release) && !intermediate {
		l.expect(&want, c)
	}
	ignored := cmpopts.IgnoreFields(lifecycle.Machine{}, "Origin", "StageSince", "NodeUID", "Addresses", "Provisioned", "Drained", "DrainedAt")
	if d := cmp.Diff(want, c.is, ignored); d != "" {
		return fmt.Errorf("View(Record(m, o)) (-what o says +what it shows)\n%s", d)
	}
	if c.is.Stage != c.was.Stage && !c.is.StageSince.Equal(Now) {
		return fmt.Errorf("the stage changed to %q since %v, not since now", c.is.Stage, c.is.StageSince)
	}
	if d := c.o.World.Drain; l.KeepsDrained && d != nil && d.Done && !c.is.Drained && !c.o.Did(lifecycle.Release) {
		return fmt.Errorf("a finished drain is not remembered")
	}
	return nil
}

func (l Laws[M]) expect(want *lifecycle.Machine, c trial[M]) {
	if c.o.Stage != lifecycle.StageNew {
		want.Stage = c.o.Stage
		if shown, ok := l.Stages[c.o.Stage]; ok {
			want.Stage = shown
		}
	}
	if i := c.o.World.Instance(c.was.ProviderID); i != nil {
		if want.ProviderID == "" {
			want.ProviderID = i.ProviderID
		}
		if want.NodeName == "" && c.is.NodeName == i.NodeName {
			want.NodeName = i.NodeName // an API may keep the name before the node is there
		}
	}
	if n := c.o.World.Node; n != nil && want.NodeName == "" && c.was.Deleted.IsZero() {
		want.NodeName = n.Name
	}
	if n := c.o.World.Node; n != nil && c.is.NodeName == n.Name {
		want.NodeName = n.Name
	}
	if !c.was.Deleted.IsZero() {
		want.Begun = lifecycle.Begin(c.was.Begun, c.was.Deleted, c.o)
	}
	l.expectKeeping(want, c)
	// Faults are about the object, which Record may mend in no case.
	want.Faults = c.was.Faults
}

// expectKeeping: what is on its way out is kept no more.
func (l Laws[M]) expectKeeping(want *lifecycle.Machine, c trial[M]) {
	if k := c.o.Keep; k.Bound {
		want.Keep.Until, want.Keep.Heard = k.Until.Truncate(time.Second), k.Heard
		if k.DropOwn {
			want.Keep.Own = lifecycle.WishNone
		}
	}
	if want.Stage == lifecycle.StageDeleting && c.was.Stage != want.Stage {
		want.Keep.Until = time.Time{}
	}
}

// owned: nothing else is changed, and of the finalizers only one's own.
func (l Laws[M]) owned(c trial[M]) error {
	changed, err := changedPaths(c.before, c.after)
	if err != nil {
		return err
	}
	for _, path := range changed {
		if !under(path, l.Owned) && !strings.HasPrefix(path, "metadata.finalizers") {
			return fmt.Errorf("%s was changed, and is not the dialect's", path)
		}
	}
	others := func(m M) []string {
		var out []string
		for _, f := range m.GetFinalizers() {
			if f != l.Finalizer {
				out = append(out, f)
			}
		}
		return out
	}
	if d := cmp.Diff(others(c.before), others(c.after)); d != "" {
		return fmt.Errorf("other finalizers were changed\n%s", d)
	}
	return nil
}

// kept: what was known is not cleared by a silence.
func (l Laws[M]) kept(c trial[M]) error {
	before, err := flatten(c.before)
	if err != nil {
		return err
	}
	after, err := flatten(c.after)
	if err != nil {
		return err
	}
	for _, path := range l.Kept {
		if has(before, path) && !has(after, path) {
			return fmt.Errorf("%s was cleared", path)
		}
	}
	if c.was.ProviderID != "" && c.is.ProviderID != c.was.ProviderID {
		return fmt.Errorf("provider ID %q became %q", c.was.ProviderID, c.is.ProviderID)
	}
	if err := located(c.was.Origin, c.is.Origin, c.o); err != nil {
		return err
	}
	if len(c.was.Addresses) > 0 && len(c.is.Addresses) == 0 {
		return fmt.Errorf("the addresses were cleared")
	}
	if c.was.Drained && !c.is.Drained {
		return fmt.Errorf("a finished drain was forgotten")
	}
	return nil
}

// located: where an instance is asked for is stored once. Only what was not
// known of it is completed.
func located(was, is *lifecycle.Origin, o lifecycle.Outcome) error {
	switch {
	case was == nil && is == nil, was != nil && is != nil && *was == *is:
		return nil
	case is == nil:
		return fmt.Errorf("the origin was cleared")
	case was == nil && *is == lifecycle.Origin{}:
		return nil
	case (was == nil || was.Cluster == "") && *is == o.World.Origin:
		return nil
	}
	completed := *was
	completed.Account = o.World.Origin.Account
	if was.Account == "" && *is == completed {
		return nil
	}
	return fmt.Errorf("the origin %+v became %+v", was, is)
}

// idempotent: the same outcome a second time changes nothing, so that it costs
// no write.
func (l Laws[M]) idempotent(c trial[M]) error {
	again := clone(c.after)
	o := c.o
	o.At = o.At.Add(time.Hour)
	l.Dialect.Record(again, o)
	if !equality.Semantic.DeepEqual(again, c.after) {
		return fmt.Errorf("the second Record of one outcome changed something\n%s", cmp.Diff(c.after, again))
	}
	return nil
}

// unshared: writing to what the outcome points to does not reach the object,
// nor the other way round.
func (l Laws[M]) unshared(c trial[M]) error {
	m, o := clone(c.before), copied(c.o)
	l.Dialect.Record(m, o)
	if d := cmp.Diff(c.o.World, o.World, cmpopts.EquateErrors()); d != "" {
		return fmt.Errorf("the world was changed by Record\n%s", d)
	}
	overwrite(&o.World)
	if !equality.Semantic.DeepEqual(m, c.after) {
		return fmt.Errorf("the object shares memory with the world\n%s", cmp.Diff(c.after, m))
	}
	m, o = clone(c.before), copied(c.o)
	l.Dialect.Record(m, o)
	overwrite(m)
	if d := cmp.Diff(c.o.World, o.World, cmpopts.EquateErrors()); d != "" {
		return fmt.Errorf("the world shares memory with the object\n%s", d)
	}
	return nil
}

func describe(o lifecycle.Outcome) string {
	var out []string
	for _, d := range o.Steps {
		out = append(out, fmt.Sprintf("%s(%s)", d.Step, d.Reason))
	}
	return fmt.Sprintf("%s %s (%s), stage %q", strings.Join(out, " "), o.Step, o.Reason, o.Stage)
}
