package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// said sets the last status, a minute ago.
func said(status Truth, reason Reason, message string) func(*Deployment) {
	return func(d *Deployment) {
		d.Last.Progress = Progress{Status: status, Reason: reason, Message: message, Since: now.Add(-time.Minute)}
	}
}

// lastProgress is when it was.
func lastProgress(ago time.Duration) func(*Deployment) {
	return func(d *Deployment) { d.Last.Progress.Since = now.Add(-ago) }
}

// counted sets the last counters.
func counted(updated, old, ready, available int) func(*Deployment) {
	return func(d *Deployment) {
		d.Last.Updated, d.Last.Old, d.Last.Ready, d.Last.Available = updated, old, ready, available
	}
}

// mirrors is a set with a failure.
func mirrors(f Failure) func(*Set) { return func(s *Set) { s.Failure = &f } }

func within(deadline time.Duration) func(*Deployment) {
	return func(d *Deployment) { d.Deadline = deadline }
}

func TestCounters(t *testing.T) {
	living := counting
	living.StatusCountsLeaving = false
	ripe := counting
	ripe.MinReady = time.Hour
	sets := []Set{old("a", 3, first(1, keptOne), more(1, leaving)), current("b", 2, first(1, pending), more(1, leaving)), old("c", 1, dying)}
	tests := map[string]struct {
		reason string
		d      Deployment
		sets   []Set
		policy Policy
		want   Status
	}{
		"4.6 sums": {
			reason: "those on their way out are replicas, and nothing else", d: rolls(4, "3", "0").by(paused), sets: sets, policy: counting,
			want: Status{Replicas: 8, Updated: 3, Ready: 4, Available: 4, Kept: 1, Unavailable: 2, Enough: true, Floor: 3},
		},
		"sums of an API group that does not count them": {
			reason: "they are no replicas", d: rolls(4, "3", "0").by(paused), sets: sets, policy: living,
			want: Status{Replicas: 6, Updated: 2, Ready: 4, Available: 4, Kept: 1, Unavailable: 2, Enough: true, Floor: 3},
		},
		"4.6 Available exactly": {
			reason: "5 less 2", d: rolls(5, "1", "2").by(paused), sets: []Set{current("a", 5, first(2, broken))}, policy: counting,
			want: Status{Replicas: 5, Updated: 5, Ready: 3, Available: 3, Unavailable: 2, Enough: true, Floor: 3},
		},
		"4.6 Available, one too few": {
			reason: "5 less 2 are 3", d: rolls(5, "1", "2").by(paused), sets: []Set{current("a", 5, first(3, broken))}, policy: counting,
			want: Status{Replicas: 5, Updated: 5, Ready: 2, Available: 2, Unavailable: 3, Floor: 3},
		},
		"4.6 Available, one is kept": {
			reason: "it counts as any other that does not work", d: rolls(5, "1", "2").by(paused), sets: []Set{current("a", 5, first(2, broken), first(1, keptOne), last(1, pending))}, policy: counting,
			want: Status{Replicas: 5, Updated: 5, Ready: 2, Available: 2, Kept: 1, Unavailable: 3, Floor: 3},
		},
		"4.6 Available, one of an old set is kept": {
			reason: "it is not asked for, or nothing would go on", d: rolls(5, "1", "2").by(paused), sets: []Set{old("a", 5, first(2, broken), first(1, keptOne), last(1, pending)), current("b", 0)}, policy: counting,
			want: Status{Replicas: 5, Ready: 2, Available: 2, Kept: 1, Unavailable: 3, Enough: true, Floor: 2},
		},
		"4.6 Available, none wanted": {
			reason: "none is enough", d: rolls(0, "1", "2").by(paused), sets: []Set{current("a", 0)}, policy: counting,
			want: Status{Enough: true, Complete: true},
		},
		"4.6 complete": {
			reason: "all of the present template, as many as wanted, all available", d: rolls(2, "1", "0").by(paused), sets: []Set{old("a", 0), current("b", 2)}, policy: counting,
			want: Status{Replicas: 2, Updated: 2, Ready: 2, Available: 2, Enough: true, Floor: 2, Complete: true},
		},
		"4.6 not complete while one leaves": {
			reason: "it is a replica still", d: rolls(2, "1", "0").by(paused), sets: []Set{old("a", 0, more(1, leaving)), current("b", 2)}, policy: counting,
			want: Status{Replicas: 3, Updated: 2, Ready: 2, Available: 2, Enough: true, Floor: 2},
		},
		"C31 ready, but not for long enough": {
			reason: "50 minutes of 60; looked at by then", d: rolls(1, "1", "0").by(paused), sets: []Set{current("a", 1)}, policy: ripe,
			want: Status{Replicas: 1, Updated: 1, Ready: 1, Unavailable: 1, Floor: 1},
		},
		"4.6 failure of the new set": {
			reason: "before those of others", d: rolls(0, "1", "0").by(paused), policy: counting,
			sets: []Set{old("a", 0, failing("x")), current("b", 0, failing("y"))}, want: Status{Enough: true, Complete: true, Failure: &Failure{Reason: "y"}},
		},
		"4.6 failure of an old set": {
			reason: "else", d: rolls(0, "1", "0").by(paused), policy: counting,
			sets: []Set{old("a", 0, failing("x")), current("b", 0)}, want: Status{Enough: true, Complete: true, Failure: &Failure{Reason: "x"}},
		},
		"C19 at fault": {
			reason: "nothing was counted", d: rolls(2, "1", "0").by(atFault), sets: sets, policy: counting, want: Status{Faulty: true},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Decide(now, tt.d, tt.sets, tt.policy)
			if diff := cmp.Diff(tt.want, p.Status, cmpopts.IgnoreFields(Status{}, "Progress", "Waiting")); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tt.reason, diff)
			}
			if tt.policy.MinReady > 0 && p.After != 10*time.Minute+1 {
				t.Errorf("looks again after %s", p.After)
			}
		})
	}
}

func failing(reason string) func(*Set) { return func(s *Set) { s.Failure = &Failure{Reason: reason} } }

func TestProgress(t *testing.T) {
	// d stands still: 4 of 10 machines are updated, by the status.
	d := rolls(10, "3", "0").by(counted(4, 9, 9, 9))
	stuck := []Set{old("a", 9), current("b", 4, first(4, pending))}
	guarded := []Set{old("a", 9, mirrors(Failure{Message: "4 of 9 would go", Withheld: true})), stuck[1]}
	failing := []Set{old("a", 9, mirrors(Failure{Reason: "FailedDelete", Message: "no answer"})), stuck[1]}
	const line = "4 of 10 machines updated, 9 old left, 9 available; waiting for 4 of 4 new machines to become available"
	done := []Set{old("a", 0), current("b", 2)}
	two := rolls(2, "1", "0").by(counted(2, 0, 2, 2))
	fresh := Progress{Since: now}
	tests := map[string]struct {
		reason string
		d      Deployment
		sets   []Set
		want   Progress
		after  time.Duration
	}{
		"4.6 created": {
			reason: "a set of the template is made", d: d.by(said(True, SetAvailable, "")), sets: stuck[:1], want: fresh.as(True, SetCreated, "a set of the current template is being created"),
		},
		"4.6 found": {
			reason: "there is one and nothing was said yet", d: d.by(said("", "", "")), sets: stuck, want: fresh.as(True, SetFound, "set b has the current template"),
		},
		"4.6 complete": {
			reason: "first of all", d: two.by(said(True, SetUpdated, "")), sets: done, want: fresh.as(True, SetAvailable, "set b has all 2 machines available"),
		},
		"4.6 complete still": {
			reason: "nothing is written", d: two.by(said(True, SetAvailable, "set b has all 2 machines available")), sets: done,
			want: Progress{True, SetAvailable, "set b has all 2 machines available", now.Add(-time.Minute)},
		},
		"4.6 complete, and a machine breaks": {
			reason: "that is no rollout, and has no deadline", d: two.by(said(True, SetAvailable, "x"), within(time.Second)), sets: []Set{old("a", 0), current("b", 2, first(1, broken))},
			want: Progress{True, SetAvailable, "x", now.Add(-time.Minute)},
		},
		"4.6 complete, and more are wanted": {
			reason: "no rollout either", d: two.by(said(True, SetAvailable, "x"), within(time.Second)), sets: []Set{current("b", 2, scaledFor(1, 2))},
			want: Progress{True, SetAvailable, "set b has all 2 machines available", now},
		},
		"4.6 more are updated": {
			reason: "progress, from now on", d: d.by(counted(3, 9, 9, 9), said(True, SetUpdated, line)), sets: stuck, want: fresh.as(True, SetUpdated, line),
		},
		"4.6 more are updated, but only since failed ones leave slowly": {
			reason: "replacing is no progress", d: d.by(said(True, SetUpdated, line)), sets: []Set{old("a", 9), current("b", 4, first(4, pending), more(2, leaving))},
			want: Progress{True, SetUpdated, "4 of 10 machines updated, 9 old left, 9 available; waiting for 2 machines to leave", now.Add(-time.Minute)},
		},
		"4.6 fewer are old": {
			reason: "progress", d: d.by(counted(4, 10, 9, 9), said(True, SetUpdated, line)), sets: stuck, want: fresh.as(True, SetUpdated, line),
		},
		"4.6 more are ready": {
			reason: "progress", d: d.by(counted(4, 9, 8, 9), said(True, SetUpdated, line)), sets: stuck, want: fresh.as(True, SetUpdated, line),
		},
		"4.6 more are available": {
			reason: "progress", d: d.by(counted(4, 9, 9, 8), said(True, SetUpdated, line)), sets: stuck, want: fresh.as(True, SetUpdated, line),
		},
		"4.6 standing still": {
			reason: "as it was; counts from the last progress", d: d.by(said(True, SetUpdated, line), within(10*time.Minute)), sets: stuck,
			want: Progress{True, SetUpdated, line, now.Add(-time.Minute)}, after: 9*time.Minute + time.Second,
		},
		"4.6 standing still, other words": {
			reason: "the words follow, the time does not", d: d.by(said(True, SetUpdated, "old words")), sets: stuck, want: Progress{True, SetUpdated, line, now.Add(-time.Minute)},
		},
		"4.6 T27 exactly at the deadline": {
			reason: "not exceeded yet, looked at a second later", d: d.by(said(True, SetUpdated, line), within(time.Minute)), sets: stuck,
			want: Progress{True, SetUpdated, line, now.Add(-time.Minute)}, after: time.Second,
		},
		"4.6 T27 past the deadline": {
			reason: "a second over", d: d.by(said(True, SetUpdated, line), within(59*time.Second)), sets: stuck, want: fresh.as(False, DeadlineExceeded, "no progress for 59s: "+line),
		},
		"4.6 T27 past the deadline since the set was made": {
			reason: "that was the last progress", d: d.by(said(True, SetCreated, ""), within(59*time.Second)), sets: stuck, want: fresh.as(False, DeadlineExceeded, "no progress for 59s: "+line),
		},
		"4.6 past the deadline, and a set that nobody looks at": {
			reason: "is worth telling by then", d: d.by(said(True, SetUpdated, line), within(59*time.Second)), sets: []Set{old("a", 9), current("b", 4, first(4, pending), unseen)},
			want: fresh.as(False, DeadlineExceeded, "no progress for 59s: "+line+"; the controller of set b has not processed it"),
		},
		"4.6 past the deadline, most of it unseen": {
			reason: "10 s were watched before the outage and a minute since",
			d:      d.by(said(True, SetUpdated, line), within(2*time.Minute), lastProgress(10*time.Minute), seen(15*time.Minute, 9*time.Minute+50*time.Second)), sets: stuck,
			want: Progress{True, SetUpdated, line, now.Add(-10 * time.Minute)}, after: 50*time.Second + time.Second,
		},
		"4.6 past the deadline still": {
			reason: "once is enough", d: d.by(said(False, DeadlineExceeded, "x"), within(59*time.Second)), sets: stuck, want: Progress{False, DeadlineExceeded, "x", now.Add(-time.Minute)},
		},
		"4.6 past the deadline, then progress": {
			reason: "it goes on", d: d.by(counted(3, 9, 9, 9), said(False, DeadlineExceeded, "x"), within(59*time.Second)), sets: stuck, want: fresh.as(True, SetUpdated, line),
		},
		"4.6 T25 paused": {
			reason: "unknown until resumed", d: d.by(paused, said(True, SetUpdated, line)), sets: stuck, want: fresh.as(Unknown, IsPaused, "the rollout is paused"),
		},
		"4.6 T25 paused still": {
			reason: "nothing is written", d: d.by(paused, said(Unknown, IsPaused, "the rollout is paused"), within(time.Second)), sets: stuck,
			want: Progress{Unknown, IsPaused, "the rollout is paused", now.Add(-time.Minute)},
		},
		"4.6 paused past the deadline": {
			reason: "that is the worse news", d: d.by(paused, said(False, DeadlineExceeded, "x")), sets: stuck, want: Progress{False, DeadlineExceeded, "x", now.Add(-time.Minute)},
		},
		"4.6 T25 resumed": {
			reason: "how it goes on is told a second later", d: d.by(said(Unknown, IsPaused, "x")), sets: stuck, want: fresh.as(Unknown, IsResumed, "the rollout is resumed"), after: time.Second,
		},
		"4.6 T25 resumed, and complete": {
			reason: "an autoscaler waits for that", d: two.by(said(Unknown, IsResumed, "x")), sets: done, want: fresh.as(True, SetAvailable, "set b has all 2 machines available"),
		},
		"4.6 T25 resumed, and standing still": {
			reason: "the deadline counts from there", d: d.by(said(Unknown, IsResumed, "x"), within(10*time.Minute)), sets: stuck,
			want: Progress{Unknown, IsResumed, "x", now.Add(-time.Minute)}, after: 9*time.Minute + time.Second,
		},
		"a rollout back to a set that is there": {
			reason: "no set is made, and yet it begins anew", d: d.by(said(True, SetAvailable, "x"), counted(10, 0, 10, 10), within(time.Second)),
			sets: []Set{current("a", 0), old("b", 10)}, want: fresh.as(True, SetUpdated, "0 of 10 machines updated, 10 old left, 10 available; waiting for 3 of 3 new machines to become available"),
		},
		"C19 mended": {
			reason: "goes on where it was", d: d.by(said(False, InvalidObject, "x")), sets: stuck, want: fresh.as(True, SetUpdated, line),
		},
		"C19 at fault": {
			reason: "says which field", d: d.by(atFault), sets: stuck, want: fresh.as(False, InvalidObject, "spec.selector: must not be empty"),
		},
		"waiting for a person": {
			reason: "nobody is late at the canary", d: d.by(canaryOf("1"), counted(1, 9, 10, 10), said(True, SetUpdated, ""), within(time.Second)), sets: []Set{old("a", 9), current("b", 1)},
			want: Progress{True, SetUpdated, `1 of 10 machines updated, 9 old left, 10 available; the canary of 1 machine is available; approve it with the annotation millwright.dev/rollout-approved: "2"`, now.Add(-time.Minute)},
		},
		"waiting for people who delete": {
			reason: "nobody is late", d: rolls(2, "1", "0").by(strategy(OnDelete), counted(0, 2, 2, 2), said(True, SetUpdated, ""), within(time.Second)), sets: []Set{old("a", 2, held), current("b", 0)},
			want: Progress{True, SetUpdated, "0 of 2 machines updated, 2 old left, 2 available; 2 machines of an old template until a user deletes them", now.Add(-time.Minute)},
		},
		"a set is held": {
			reason: "nobody is late who waits for an approval, as in a pause", d: d.by(said(True, SetUpdated, line), within(time.Second)), sets: guarded,
			want: fresh.as(Unknown, HeldBack, "set a deletes no machine: 4 of 9 would go"),
		},
		"a set is held still": {
			reason: "nothing is written", d: d.by(said(Unknown, HeldBack, "set a deletes no machine: 4 of 9 would go"), within(time.Second)), sets: guarded,
			want: Progress{Unknown, HeldBack, "set a deletes no machine: 4 of 9 would go", now.Add(-time.Minute)},
		},
		"a set is held, and was late before": {
			reason: "it waits for a person now", d: d.by(said(False, DeadlineExceeded, "x"), within(time.Second)), sets: guarded,
			want: fresh.as(Unknown, HeldBack, "set a deletes no machine: 4 of 9 would go"),
		},
		"a set is held, and another gets on": {
			reason: "progress", d: d.by(counted(3, 9, 9, 9), said(Unknown, HeldBack, "x"), within(time.Second)), sets: guarded, want: fresh.as(True, SetUpdated, line),
		},
		"a set was held": {
			reason: "the deadline counts from the approval", d: d.by(said(Unknown, HeldBack, "x"), within(time.Second)), sets: stuck, want: fresh.as(True, SetUpdated, line),
		},
		"a set that failed otherwise": {
			reason: "is late", d: d.by(said(True, SetUpdated, line), within(59*time.Second)), sets: failing, want: fresh.as(False, DeadlineExceeded, "no progress for 59s: "+line),
		},
		"a set of a complete deployment is held": {
			reason: "fewer machines are no rollout", d: rolls(1, "1", "0").by(said(True, SetAvailable, "x"), counted(3, 0, 3, 3), within(time.Second)),
			sets: []Set{current("b", 3, mirrors(Failure{Message: "2 of 3 would go", Withheld: true}))}, want: Progress{True, SetAvailable, "x", now.Add(-time.Minute)},
		},
		"being deleted": {
			reason: "nothing is told any more", d: d.by(said(True, SetUpdated, "x"), func(d *Deployment) { d.Deleting = true }), sets: stuck, want: Progress{True, SetUpdated, "x", now.Add(-time.Minute)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Decide(now, tt.d, tt.sets, counting)
			if diff := cmp.Diff(tt.want, p.Status.Progress); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tt.reason, diff)
			}
			if p.After != tt.after {
				t.Errorf("looks again after %s, expected %s", p.After, tt.after)
			}
		})
	}
}

func (p Progress) as(status Truth, reason Reason, message string) Progress {
	p.Status, p.Reason, p.Message = status, reason, message
	return p
}

func TestEstimate(t *testing.T) {
	d := rolls(10, "3", "0").by(func(d *Deployment) { d.Guard.Estimate = true }, said(True, SetUpdated, ""))
	ago := func(ago time.Duration) func(*Set) { return func(s *Set) { s.Created = now.Add(-ago) } }
	tests := map[string]struct {
		reason string
		d      Deployment
		sets   []Set
		want   string
	}{
		"none yet": {
			reason: "nothing to go by", d: d, sets: []Set{old("a", 10), current("b", 1, first(1, pending))},
			want: "1 of 10 machines updated, 10 old left, 10 available, no estimate before the first one is available; waiting for 3 of 3 new machines to become available",
		},
		"4 in 8 minutes": {
			reason: "2 minutes each", d: d, sets: []Set{old("a", 6), current("b", 4, first(4, made(8*time.Minute)))},
			want: "4 of 10 machines updated, 6 old left, 10 available, about 12m to go at 2m a machine; waiting for 3 of 7 new machines to become available",
		},
		"hours": {
			reason: "rounded to 10 minutes", d: d, sets: []Set{old("a", 9), current("b", 1, first(1, made(17*time.Minute)))},
			want: "1 of 10 machines updated, 9 old left, 10 available, about 2h30m to go at 17m a machine; waiting for 3 of 4 new machines to become available",
		},
		"seconds": {
			reason: "rounded to 5, and never 0", d: d, sets: []Set{old("a", 5), current("b", 5, first(5, made(12*time.Second)))},
			want: "5 of 10 machines updated, 5 old left, 10 available, about 10s to go at 5s a machine; waiting for 3 of 8 new machines to become available",
		},
		"all available": {
			reason: "nothing to go", d: d, sets: []Set{old("a", 1), current("b", 10)}, want: "10 of 10 machines updated, 1 old left, 11 available",
		},
		"in place": {
			reason: "machines are older than the rollout, the set is not",
			d:      d.by(strategy(InPlace)), sets: []Set{old("a", 9, held, first(9, selected)), current("b", 1, ago(20*time.Minute))},
			want: "1 of 10 machines updated, 9 old left, 10 available, about 3h0m to go at 20m a machine; waiting for the update of 9 machines in place",
		},
		"back in place": {
			reason: "the set is older, too", d: d.by(strategy(InPlace)), sets: []Set{current("a", 1), old("b", 9, held, first(9, selected))},
			want: "1 of 10 machines updated, 9 old left, 10 available; waiting for the update of 9 machines in place",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Decide(now, tt.d, tt.sets, counting).Status.Progress.Message; got != tt.want {
				t.Errorf("%q, expected %q: %s", got, tt.want, tt.reason)
			}
		})
	}
}
