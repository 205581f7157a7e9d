package judge

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDeletedSets: while an API server is out of reach, a set gives machines up only if
// it is deleted itself, and otherwise none that it wants, as far as its controller can
// know when it looks.
func TestDeletedSets(t *testing.T) {
	for _, tc := range []struct {
		reason string
		// before and meanwhile are whether people have the set deleted, in the order of
		// their writes, before and after its controller looks.
		before, meanwhile []bool
		// made: the controller makes a machine instead of giving it up.
		made, broken bool
	}{
		{reason: "it lives", broken: true},
		{reason: "it is deleted", before: []bool{true}},
		{reason: "it is deleted meanwhile", meanwhile: []bool{true}},
		{reason: "a restore in mid-pass has undone that", before: []bool{true}, meanwhile: []bool{false}},
		{reason: "a restore before the pass has undone that", before: []bool{true, false}, broken: true},
		{reason: "one that is deleted makes no machine", before: []bool{true}, made: true, broken: true},
	} {
		s := newScene()
		s.outages = []Outage{{From: s.now.Add(-time.Hour), To: s.now.Add(time.Hour)}}
		set := func(deleted bool) {
			o := setOf(1)
			if deleted {
				o.DeletionTimestamp = &metav1.Time{Time: s.now}
			}
			s.write(nil, o)
		}
		m := workingMachine("m")
		s.write(nil, m)
		set(false)
		for _, deleted := range tc.before {
			set(deleted)
		}
		p := s.begin(Sets, 1)
		for _, deleted := range tc.meanwhile {
			set(deleted)
		}
		if p = s.judge.Writes(p, false, 0); tc.made {
			s.judge.setWrites(p, nil, m)
		} else {
			s.judge.setWrites(p, m, nil)
		}
		still, wanted := slices.Contains(s.broken, StillWhenBlind), slices.Contains(s.broken, NotTooFew)
		if still != tc.broken || wanted != (tc.broken && !tc.made) {
			t.Errorf("%s: broken %q", tc.reason, s.broken)
		}
	}
}
