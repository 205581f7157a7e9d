package dialecttest

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// Now is the time of all passes of the checks.
var Now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Laws describe a lens to check.
type Laws[M client.Object] struct {
	Dialect dialect.Machines[M]
	// Prepare changes a random object into one that the API server could hold: phases of the API, own
	// finalizer or not, references or not.
	Prepare func(m M, r *rand.Rand)
	// Fill are further randfill functions, for types of the API that cannot
	// be filled blindly.
	Fill []any
	// Finalizer is the one that Record adds and removes; other finalizers are kept.
	Finalizer string
	// Owned are the JSON paths that Record may change, each with all below it:
	// "status.phase", "metadata.labels[node]", "status.conditions[Drained]".
	// Lists of objects with a type are addressed by it.
	Owned []string
	// Kept are the paths that Record never clears once they are set.
	Kept []string
	// Stages are the stages that View returns for another recorded stage, if the API has one phase for
	// several.
	Stages map[lifecycle.Stage]lifecycle.Stage
	// KeepsDrained says that the API remembers a finished drain, KeepsNodeUID the UID of a machine's node,
	// and TellsWrites that the time of the stage is that of the last write of the status, for any reason.
	KeepsDrained, KeepsNodeUID, TellsWrites bool
	// Addresses returns the addresses that Record must show of the instance; nil: those of the object stay.
	Addresses func(o lifecycle.Outcome, i provider.Instance) []corev1.NodeAddress
	// Never are the steps that the API's policy rules out.
	Never []lifecycle.Step
	// Objects is how many are checked; zero means 2000.
	Objects int
}

// trial is one object, one outcome, and the object after Record.
type trial[M client.Object] struct {
	before, after M
	was, is       lifecycle.Machine
	o             lifecycle.Outcome
}

// Check runs all laws on random objects. The seed is fixed, so a failure is reproducible.
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
	l.optional(t)
	for _, step := range everyStep {
		switch never := slices.Contains(l.Never, step); {
		case n < 2000:
		case never && came[step] > 0:
			t.Errorf("%d outcomes had the step %s, which the API is said never to take", came[step], step)
		case !never && came[step] == 0:
			t.Errorf("no outcome had the step %s: the checks are blind to it", step)
		}
	}
}

// optional: the lens implements the interfaces that the policy requires, and no others.
func (l Laws[M]) optional(t *testing.T) {
	t.Helper()
	p := l.Dialect.Policy(l.Dialect.New())
	if _, ok := dialect.As[dialect.InPlaceUpdater](l.Dialect); ok != p.Update.InPlace {
		t.Errorf("the policy updates in place: %v, and the lens is an InPlaceUpdater: %v", p.Update.InPlace, ok)
	}
	if _, ok := dialect.As[dialect.Preserver](l.Dialect); ok != p.Preserve.Supported {
		t.Errorf("the policy keeps machines: %v, and the lens is a Preserver: %v", p.Preserve.Supported, ok)
	}
}

// everyStep has all steps of [lifecycle.Decide].
var everyStep = []lifecycle.Step{
	lifecycle.Settled, lifecycle.Await, lifecycle.AddFinalizer, lifecycle.RecordRequest, lifecycle.Create, lifecycle.Initialize, lifecycle.RecordInstance, lifecycle.SyncNode,
	lifecycle.Reboot, lifecycle.Fail, lifecycle.MarkUpdate, lifecycle.Replace,
	lifecycle.Drain, lifecycle.Terminate, lifecycle.DeleteNode, lifecycle.RemoveFinalizer,
	lifecycle.Maintain, lifecycle.DropToken, lifecycle.StorePreservation, lifecycle.WarnOfDrain, lifecycle.MarkPreserved, lifecycle.DrainPreserved, lifecycle.TellPreserved,
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
	ask(m, r)
	return m
}

// meta sets plausible metadata: a machine of half an hour ago, deleted or not.
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

// originate gives some objects an origin: their own, complete or not, one from the manifest of another
// machine, and an invalid one.
func originate(o client.Object, r *rand.Rand) {
	values := []string{
		"", "{}", `{"cluster":"green"}`, `{"uid":"` + string(o.GetUID()) + `","cluster":"blue","account":"one"}`,
		`{"uid":"another","cluster":"green","account":"two"}`, `{"cluster":`,
		`{"uid":"` + string(o.GetUID()) + `","cluster":"blue","chosenZone":"b"}`,
	}
	if v := values[r.Intn(len(values))]; v != "" {
		dialect.SetAnnotation(o, dialect.OriginAnnotation, v)
	}
}

// ask gives some machines a reboot request of a health check, in progress, done or expired.
func ask(o client.Object, r *rand.Rand) {
	if r.Intn(3) > 0 {
		return
	}
	asked := lifecycle.Rebooting{Request: Now.Add(-time.Minute).Format(time.RFC3339), Until: Now.Add(time.Duration(r.Intn(9)-1) * time.Minute)}
	dialect.WriteRebootRequest(o, asked, "check")
	if state := []lifecycle.RebootState{"", lifecycle.RebootBegun, lifecycle.RebootDone}[r.Intn(3)]; state != "" {
		dialect.WriteReboot(o, lifecycle.Rebooting{Answered: asked.Request, State: state, At: Now.Add(-time.Hour), Calls: 1})
	}
}

func clone[M client.Object](m M) M { return m.DeepCopyObject().(M) }

// owned: no other field is changed, and of the finalizers only our own.
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

// kept: a missing answer does not clear a known field.
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
	if c.was.Recorded.ProviderID != "" && c.is.Recorded.ProviderID != c.was.Recorded.ProviderID {
		return fmt.Errorf("provider ID %q became %q", c.was.Recorded.ProviderID, c.is.Recorded.ProviderID)
	}
	if len(c.was.Recorded.Addresses) > 0 && len(c.is.Recorded.Addresses) == 0 {
		return fmt.Errorf("the addresses were cleared")
	}
	if c.was.Deletion.Drained && !c.is.Deletion.Drained {
		return fmt.Errorf("a finished drain was forgotten")
	}
	return nil
}

// located: the origin of an instance is stored once. Only its unknown fields are completed.
func located(was, is *lifecycle.Origin, o lifecycle.Outcome) error {
	switch {
	case was == nil && is == nil, was != nil && is != nil && *was == *is:
		return nil
	case is == nil:
		return fmt.Errorf("the origin was cleared")
	case was == nil && *is == lifecycle.Origin{}:
		return nil
	case (was == nil || was.Cluster == "") && *is == o.World.Session.Origin:
		return nil
	}
	completed := *was
	if was.Account == "" {
		completed.Account = o.World.Session.Origin.Account
	}
	if was.ChosenZone == "" {
		completed.ChosenZone = o.World.Session.Origin.ChosenZone
	}
	if *is == completed {
		return nil
	}
	return fmt.Errorf("the origin %+v became %+v", was, is)
}

// idempotent: the same outcome a second time changes nothing, so that it causes no write.
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

// unshared: writing to the memory of the outcome does not change the object, and vice versa.
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
