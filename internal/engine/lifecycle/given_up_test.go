package lifecycle_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// givenUp has an instance that the infrastructure accepted and then failed: the instance in error, or, if
// nothing is left of it, no instance.
func givenUp(err error, left bool) worldEdit {
	return func(w *lifecycle.World) {
		w.Instances.Fault = err
		if left {
			w.Instances.Own = []provider.Instance{instance(provider.Stopped)}
		}
	}
}

// TestGivenUp: a machine whose instance was accepted and then failed reports that at once, and acts by the
// kind of the error like after a refused creation.
func TestGivenUp(t *testing.T) {
	const gaveUp, lost = "the infrastructure accepted the instance, and it failed: ", "the infrastructure does not list the instance: "
	args := func(message string) lifecycle.Args { return lifecycle.Args{Missing: strings.HasPrefix(message, lost)} }
	errMending := provider.Errorf(provider.Conflict, "the host is being restarted")
	fails := func(r lifecycle.Reason, message string, err error) lifecycle.Decision {
		return lifecycle.Decision{Step: lifecycle.Fail, Reason: r, Stage: lifecycle.StageFailed, Message: message, Args: args(message), Err: err}
	}
	waits := func(after time.Duration, message string, err error) lifecycle.Decision {
		return lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonGivenUp, Stage: lifecycle.StageCrashing, Message: message, Args: args(message), Err: err, After: after}
	}
	rest := 10*time.Minute + time.Second // of the time to join
	check(t, []row{
		{
			name: "openshift: no capacity", reason: "nothing comes of it any more: who watches for Failed replaces it",
			policy: patient, m: machine(), w: world(givenUp(errExhausted, true)),
			want: fails(lifecycle.ReasonGivenUp, gaveUp+"no capacity in zone a", errExhausted),
		},
		{
			name: "openshift: no capacity, nothing left", reason: "the words that clients wait for, and the cause",
			policy: patient, m: machine(), w: world(givenUp(errExhausted, false)),
			want: fails(lifecycle.ReasonGivenUp, lost+"no capacity in zone a", errExhausted),
		},
		{
			name: "openshift: an accident, nothing left", reason: "what is gone cannot be mended",
			policy: patient, m: machine(), w: world(givenUp(errMending, false)),
			want: fails(lifecycle.ReasonGivenUp, lost+"the host is being restarted", errMending),
		},
		{
			name: "openshift: an accident", reason: "it may be mended: it is looked at again",
			policy: patient, m: machine(), w: world(givenUp(errMending, true)),
			want: waits(time.Second, gaveUp+"the host is being restarted", errMending),
		},
		{
			name: "openshift: the spec is refused late", reason: "as it would be at creation",
			policy: patient, m: machine(), w: world(givenUp(errInvalid, true)),
			want: fails(lifecycle.ReasonGivenUp, gaveUp+"spec.zone: there is no zone q", errInvalid),
		},
		{
			name: "openshift: nobody can tell whether a node joined", reason: "what is final waits until that is known",
			policy: patient, m: machine(), w: world(givenUp(errExhausted, true), nodeBlind),
			want: waits(30*time.Second, gaveUp+"no capacity in zone a", errExhausted),
		},
		{
			name: "gardener: no capacity", reason: "CrashLoopBackOff with the code that the autoscaler waits for; the time to join bounds it",
			policy: brisk, m: machine(), w: world(givenUp(errExhausted, true)),
			want: waits(10*time.Minute, gaveUp+"no capacity in zone a", errExhausted),
		},
		{
			name: "gardener: no capacity, nothing left", reason: "nothing is looked for in the meantime",
			policy: brisk, m: machine(), w: world(givenUp(errExhausted, false)),
			want: waits(rest, lost+"no capacity in zone a", errExhausted),
		},
		{
			name: "gardener: the spec is refused late", reason: "this API gives nothing up before its time",
			policy: brisk, m: machine(), w: world(givenUp(errInvalid, false)),
			want: waits(rest, lost+"spec.zone: there is no zone q", errInvalid),
		},
		{
			name: "gardener: after the creation timeout", reason: "its set makes another machine",
			policy: brisk, m: machine(aged(20*time.Minute + time.Second)), w: world(givenUp(errExhausted, true)),
			want: fails(lifecycle.ReasonCreateTimeout, gaveUp+"no capacity in zone a", errExhausted),
		},
		{
			name: "a node has joined", reason: "the instance has proved itself, whatever is said of it",
			policy: patient, m: machine(), w: world(givenUp(errExhausted, true), joined(node(corev1.ConditionTrue))),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonRunning, Stage: lifecycle.StageRunning},
		},
		{
			name: "the machine ran before", reason: "what fails later is not a failed creation: its node tells",
			policy: brisk, m: machine(stage(lifecycle.StageLost, time.Minute)), w: world(givenUp(errExhausted, true)),
			want: lifecycle.Decision{Step: lifecycle.Await, Reason: lifecycle.ReasonNodeUnhealthy, Stage: lifecycle.StageLost, After: 9 * time.Minute, Message: "there is no node"},
		},
		{
			name: "no node is expected", reason: "an instance that ran is not one that never came",
			policy: targetless(brisk), m: machine(stage(lifecycle.StageDetached, time.Minute)), w: world(givenUp(errExhausted, true)),
			want: lifecycle.Decision{Step: lifecycle.Settled, Reason: lifecycle.ReasonDetached, Stage: lifecycle.StageDetached},
		},
		{
			name: "no node is expected, and the instance never ran", reason: "the infrastructure alone tells",
			policy: targetless(patient), m: machine(stage(lifecycle.StageCreating, time.Minute)), w: world(givenUp(errExhausted, true)),
			want: fails(lifecycle.ReasonGivenUp, gaveUp+"no capacity in zone a", errExhausted),
		},
		{
			name: "the machine is deleted", reason: "what is left of the instance is removed as any",
			policy: brisk, m: leaving(), w: world(givenUp(errExhausted, true)),
			want: lifecycle.Decision{Step: lifecycle.Terminate, Reason: lifecycle.ReasonDeleting, Stage: lifecycle.StageDeleting},
		},
		{
			name: "the machine is deleted, nothing left of the instance", reason: "there may be parts of it",
			policy: patient, m: leaving(), w: world(givenUp(errExhausted, false)),
			want: lifecycle.Decision{Step: lifecycle.Terminate, Reason: lifecycle.ReasonDeleting, Stage: lifecycle.StageDeleting},
		},
	})
}

// TestClaimsFault: the instance whose fault counts.
func TestClaimsFault(t *testing.T) {
	has, nothing := machine(), fresh()
	faulty := func(s *lifecycle.Sighting) { s.Fault = errExhausted }
	over := in(provider.Terminated)
	for name, r := range map[string]struct {
		reason string
		m      lifecycle.Machine
		all    []lifecycle.Sighting
		want   error
	}{
		"its instance":       {"in error, and there", has, []lifecycle.Sighting{sighting("i-1", has.UID, 1, recorded, faulty)}, errExhausted},
		"sound":              {"a nil pointer is no error", has, []lifecycle.Sighting{sighting("i-1", has.UID, 1, recorded)}, nil},
		"its instance, gone": {"the record tells why", has, []lifecycle.Sighting{sighting("i-1", has.UID, 1, recorded, over, faulty)}, errExhausted},
		"gone unrecorded":    {"the reply of its creation was lost", nothing, []lifecycle.Sighting{sighting("i-1", has.UID, 1, over, faulty)}, errExhausted},
		"a namesake, gone":   {"no instance was made for this machine yet", nothing, []lifecycle.Sighting{sighting("i-1", "", 1, over, faulty)}, nil},
		"a double, gone":     {"the machine has its own", has, []lifecycle.Sighting{sighting("i-1", has.UID, 1, recorded), sighting("i-2", has.UID, 1, over, faulty)}, nil},
		"another's":          {"what it records is not its own", has, []lifecycle.Sighting{sighting("i-1", "", 1, recorded, claimed, faulty)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lifecycle.Claims(r.m, r.all).Fault; !errors.Is(got, r.want) {
				t.Errorf("%s: %v, want %v", r.reason, got, r.want)
			}
		})
	}
}
