package dialecttest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// shows: View(Record(m, o)) shows the facts of o, and all other facts as before. No field is left out:
// [Laws.told] has the few with several correct values.
func (l Laws[M]) shows(c trial[M]) error {
	want := c.was
	switch gone := c.o.Did(lifecycle.RemoveFinalizer); {
	case gone:
		want.HasFinalizer = false
	case c.o.Did(lifecycle.AddFinalizer):
		want.HasFinalizer = true
	}
	if c.o.Step != lifecycle.AddFinalizer && c.o.Step != lifecycle.RecordRequest && !c.o.Did(lifecycle.RemoveFinalizer) {
		want.Reboot = want.Reboot.Saw(c.o.World.Reboot)
	}
	if !c.goesOn() {
		l.expect(&want, c)
	}
	if err := l.told(&want, c); err != nil {
		return err
	}
	if d := cmp.Diff(want, c.is, cmpopts.EquateEmpty()); d != "" {
		return fmt.Errorf("View(Record(m, o)) (-what o says +what it shows)\n%s", d)
	}
	return nil
}

// goesOn reports whether Record was called in the middle of a pass only to store a step.
func (c trial[M]) goesOn() bool {
	return c.o.Step == lifecycle.AddFinalizer || c.o.Step == lifecycle.RecordRequest || c.o.Step == lifecycle.Reboot
}

// keepsRequests: stored requests are never changed, and completed before a request is sent.
func (c trial[M]) keepsRequests() error {
	was, is, known := c.was.Recorded.Requests, c.is.Recorded.Requests, c.o.World.Requests
	if !is.Continues(was) {
		return fmt.Errorf("asked for %+v, and the object, which had %+v, says %+v", known, was, is)
	}
	if c.o.Step == lifecycle.RecordRequest && known.Continues(was) && c.was.HasOrigin() && len(was) > 0 && !is.Continues(known) {
		return fmt.Errorf("%+v is about to be asked for, and the object says %+v", known, is)
	}
	return nil
}

// told checks the fields with several correct values, and copies them into the expectation.
func (l Laws[M]) told(want *lifecycle.Machine, c trial[M]) error {
	if err := located(c.was.Recorded.Origin, c.is.Recorded.Origin, c.o); err != nil {
		return err
	}
	isOrigin := func(f lifecycle.Fault) bool { return f.Field == "metadata.annotations["+dialect.OriginAnnotation+"]" }
	legible := !slices.ContainsFunc(c.was.Faults, isOrigin)
	requests := c.o.Did(lifecycle.AddFinalizer) || c.instance(l) != nil
	if requests && legible && !c.o.Did(lifecycle.RemoveFinalizer) && c.o.World.Session.Origin.Cluster != "" && (c.is.Recorded.Origin == nil || c.is.Recorded.Origin.Cluster == "") {
		return fmt.Errorf("the instance is asked for in %+v, and the object says %+v", c.o.World.Session.Origin, c.is.Recorded.Origin)
	}
	want.Recorded.Origin = c.is.Recorded.Origin
	if err := c.keepsRequests(); err != nil {
		return err
	}
	want.Recorded.Requests = c.is.Recorded.Requests
	if c.instance(l) != nil && c.is.Recorded.Origin != nil { // from now on the status has it
		want.Faults = slices.DeleteFunc(slices.Clone(want.Faults), isOrigin)
	}
	if err := joined(want, c.was.Recorded.Joined, c.is.Recorded.Joined, c.o.World.Node); err != nil {
		return err
	}
	switch {
	case want.Stage != c.was.Stage:
		want.StageSince = Now
	case l.TellsWrites && c.is.StageSince.Equal(Now):
		want.StageSince = Now
	}
	return l.drained(want, c)
}

// joined: the node of the machine is kept until the machine has another one. An API that records a node's UID
// nowhere else records it with that.
func joined(want *lifecycle.Machine, was, is lifecycle.Joined, n lifecycle.Node) error {
	asked := is == lifecycle.Joined{Cluster: n.Cluster, Accepted: was.Accepted} && was.Node == ""
	if is != was && !asked {
		if n.Object == nil || is != (lifecycle.Joined{Cluster: n.Cluster, Node: n.Object.Name, UID: n.Object.UID, Accepted: was.Accepted}) {
			return fmt.Errorf("the node that joined, %+v, became %+v", was, is)
		}
	}
	want.Recorded.Joined = is
	if want.Recorded.NodeUID == was.UID {
		want.Recorded.NodeUID = is.UID
	}
	return nil
}

// drained: a finished drain is remembered with its time if the API has a field for that; an unfinished one is
// not.
func (l Laws[M]) drained(want *lifecycle.Machine, c trial[M]) error {
	d := c.o.World.Drain.Result
	switch {
	case c.was.Deletion.Drained, c.o.Did(lifecycle.RemoveFinalizer), c.goesOn():
		return nil
	case !l.KeepsDrained, c.was.Deleted.IsZero(), d != nil && !d.Done:
		return nil
	case d != nil && c.o.Reason != lifecycle.ReasonDrainBlockedHook, c.is.Deletion.Drained:
		want.Deletion.Drained, want.Deletion.DrainedAt = true, Now
	}
	if d == nil && c.is.Deletion.Drained && !c.was.Deletion.SkipDrain && c.o.World.Removal.State == lifecycle.RemovalUntried {
		return fmt.Errorf("the node was not drained, the instance stays, and a finished drain is shown")
	}
	return nil
}

// instance returns the instance that Record records; nil if it records none.
func (c trial[M]) instance(l Laws[M]) *provider.Instance {
	if c.goesOn() || c.o.Did(lifecycle.RemoveFinalizer) && !l.TellsWrites {
		return nil
	}
	return c.o.World.Instances.Recordable(c.was.Recorded.ProviderID)
}

func (l Laws[M]) expect(want *lifecycle.Machine, c trial[M]) {
	if i := c.instance(l); i != nil {
		l.expectInstance(want, c, *i)
	}
	if c.o.Did(lifecycle.RemoveFinalizer) {
		return
	}
	if c.o.Stage != lifecycle.StageNew {
		want.Stage = c.o.Stage
		if shown, ok := l.Stages[c.o.Stage]; ok {
			want.Stage = shown
		}
	}
	l.expectNode(want, c)
	if !c.was.Deleted.IsZero() {
		want.Deletion.Started = lifecycle.Begin(c.was.Deletion.Started, c.was.Deleted, c.o)
	}
	l.expectKeeping(want, c)
}

func (l Laws[M]) expectInstance(want *lifecycle.Machine, c trial[M], i provider.Instance) {
	if want.Recorded.ProviderID == "" {
		want.Recorded.ProviderID = i.ProviderID
	}
	if want.Recorded.NodeName == "" && c.is.Recorded.NodeName == i.NodeName {
		want.Recorded.NodeName = i.NodeName // an API may store the name before the node exists
	}
	if shown := l.Addresses(c.o, i); shown != nil {
		want.Recorded.Addresses = shown
	}
	want.Recorded.Provisioned = true
}

// expectNode: a machine that is not under deletion shows its node.
func (l Laws[M]) expectNode(want *lifecycle.Machine, c trial[M]) {
	n := c.o.World.Node.Object
	if n == nil || !c.was.Deleted.IsZero() {
		return
	}
	if want.Recorded.NodeName == "" || c.is.Recorded.NodeName == n.Name {
		want.Recorded.NodeName = n.Name
	}
	if l.KeepsNodeUID {
		want.Recorded.NodeUID = n.UID
	}
}

// expectKeeping: a machine under deletion is no longer preserved.
func (l Laws[M]) expectKeeping(want *lifecycle.Machine, c trial[M]) {
	if k := c.o.Preserve; k.Bound {
		want.Preservation.Until, want.Preservation.LastApplied = k.Machine.Until.Truncate(time.Second), k.Machine.LastApplied
		if k.Machine.DropWish {
			want.Preservation.Own = lifecycle.WishNone
		}
	}
	if want.Stage == lifecycle.StageDeleting && c.was.Stage != want.Stage {
		want.Preservation.Until = time.Time{}
	}
}
