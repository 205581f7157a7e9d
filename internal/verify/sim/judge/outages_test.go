package judge

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// TestDeletedSets: while an API server is unreachable, a set deletes machines only if the set itself is being deleted, as far as
// its controller can know when it looks.
func TestDeletedSets(t *testing.T) {
	for _, tc := range []struct {
		reason string
		// before and meanwhile say whether users delete the set, in the order of their writes: before and after its
		// controller looks.
		before, meanwhile []bool
		// made: the controller creates a machine instead of deleting it.
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

// TestLostFor: a machine has been lost since the write of that, or since the time in its own status if the machine's node
// confirms that time.
func TestLostFor(t *testing.T) {
	for _, tc := range []struct {
		reason string
		// lost is the time of the write that the machine is lost, says the time in its status, unready the time at which its node
		// ceased to be ready, all in minutes; unready 0: the node stayed ready, or there is no node.
		lost, says, unready int
		// recovers is the time from which the node was ready again for a minute. gone: the machine did not exist for a minute
		// before its last write.
		recovers int
		gone     bool
		want     int
	}{
		{reason: "as it was written", lost: 5, says: 5, unready: 4, want: 5},
		{reason: "that came late", lost: 5, says: 3, unready: 2, want: 3},
		{reason: "it claims more than the node bears out", lost: 5, says: 1, unready: 3, want: 3},
		{reason: "the node was well meanwhile", lost: 8, says: 1, unready: 2, recovers: 5, want: 6},
		{reason: "the node was well after that was written", lost: 3, says: 3, unready: 2, recovers: 5, want: 3},
		{reason: "nothing is known of the node", lost: 5, says: 1, want: 5},
		{reason: "a restore brought it back", lost: 3, says: 3, unready: 2, gone: true, want: 3},
		{reason: "a restore brought it back, whose node was well meanwhile", lost: 3, says: 3, unready: 2, recovers: 5, gone: true, want: 6},
	} {
		s := newScene()
		began := s.now
		m := gardenerMachine("m")
		lost := gardenerMachine("m", func(m *v1alpha1.Machine) {
			m.Status.CurrentStatus.Phase = v1alpha1.MachineUnknown
			m.Status.CurrentStatus.LastUpdateTime = metav1.NewTime(began.Add(time.Duration(tc.says) * time.Minute))
		})
		s.write(nil, m)
		for minute := range 10 {
			s.now = began.Add(time.Duration(minute) * time.Minute)
			is := corev1.ConditionTrue
			if minute >= tc.unready && minute != tc.recovers {
				is = corev1.ConditionUnknown
			}
			if n := (&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "n"}}); tc.unready > 0 {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: is}}
				s.write(nil, n)
			}
			switch {
			case minute == tc.lost, minute == 9 && tc.gone:
				s.write(nil, lost)
			case minute == 8 && tc.gone:
				s.remove(nil, lost)
			}
		}
		if got := s.judge.lostFor(readMachine(lost)).Sub(began); got != time.Duration(tc.want)*time.Minute {
			t.Errorf("%s: since %v, want %d min", tc.reason, got, tc.want)
		}
	}
}

// TestLoneMachines: one machine of a group fails at a time, as far as the pass can know when it looks. Machines that another
// pass of the same process creates later do not count.
func TestLoneMachines(t *testing.T) {
	for _, tc := range []struct {
		reason        string
		early, broken bool
	}{
		{"another was on its way in", true, true},
		{"it was made since", false, false},
	} {
		s := newScene()
		grouped := func(phase v1alpha1.MachinePhase) func(*v1alpha1.Machine) {
			return func(m *v1alpha1.Machine) {
				m.Labels["name"], m.Status.CurrentStatus.Phase = "group", phase
			}
		}
		lost := s.write(nil, gardenerMachine("lost", grouped(v1alpha1.MachineUnknown)))
		other := gardenerMachine("other", grouped(v1alpha1.MachinePending))
		if tc.early {
			s.write(nil, other)
		}
		pass := s.begin(Machines, 1)
		if !tc.early {
			s.write(s.begin(Machines, 1), other)
		}
		s.broken = nil
		s.judge.judgeOneByOne(s.judge.Writes(pass, false, 0), readMachine(lost), readMachine(gardenerMachine("lost", grouped(v1alpha1.MachineFailed))))
		if got := slices.Contains(s.broken, OneByOne); got != tc.broken {
			t.Errorf("%s: %q", tc.reason, s.broken)
		}
	}
}

// TestSightOfAPass: the basis of a pass does not include later outages, however long the pass takes.
func TestSightOfAPass(t *testing.T) {
	s := newScene()
	p := &Pass{Born: s.now.Add(-time.Hour), At: s.now}
	for _, tc := range []struct {
		reason   string
		from, to time.Duration
		want     time.Time
	}{
		{"it was over", -time.Minute, -30 * time.Second, s.now.Add(-30 * time.Second)},
		{"nobody need notice it", -time.Minute, -time.Minute + time.Millisecond, p.Born},
		{"it came in the middle of the pass", time.Second, 11 * time.Second, p.Born},
	} {
		s.outages = []Outage{{From: p.At.Add(tc.from), To: p.At.Add(tc.to)}}
		s.now = p.At.Add(20 * time.Second)
		if got := s.judge.sighted(p); !got.Equal(tc.want) {
			t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
		}
	}
}
