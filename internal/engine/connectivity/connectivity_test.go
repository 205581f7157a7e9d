package connectivity_test

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

var policy = connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second}

// round is one probe: a letter for each cluster, s(een), d(enied) or x (down).
func round(seconds int, answers string) connectivity.Probe {
	words := map[byte]connectivity.Answer{'s': connectivity.Reachable, 'd': connectivity.Denied, 'x': connectivity.Unreachable}
	return connectivity.Probe{At: at(seconds), Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Control: words[answers[0]], connectivity.Target: words[answers[1]]}}
}

// looks is a probe every 6 s from 0 on, one word each.
func looks(words string) connectivity.State {
	s := connectivity.Begin(start, policy, connectivity.Control, connectivity.Target)
	for n, w := range strings.Fields(words) {
		s = s.After(round(6*n, w))
	}
	return s
}

func times(n int, word string) string { return strings.Repeat(word+" ", n) }

func TestHeld(t *testing.T) {
	for _, c := range []struct {
		reason, looks    string
		now              int
		living, deleting string // why they are blocked; empty: they are not
	}{
		{"nothing is done before the first look", "", 0, "the control cluster has not been asked", "the control cluster has not been asked"},
		{"an answer from each is enough", "ss", 1, "", ""},
		{"5.3: down for a moment is not down", "ss xs", 10, "", ""},
		{"5.3: not yet", "ss " + times(5, "xs"), 30, "", ""},
		{"5.3: longer than the timeout", "ss " + times(5, "xs"), 31, "the control cluster has not answered since 2026-01-02T03:04:05Z", "the control cluster has not answered"},
		{"5.3: either cluster", "ss " + times(5, "sx"), 31, "the target cluster has not answered", ""},
		{"5.3: it thaws by itself", "ss " + times(5, "xx") + "ss", 37, "", ""},
		{"both have to answer again", "ss " + times(5, "xx") + "sx", 37, "the target cluster has not answered", ""},
		{"a denied answer is an answer", times(9, "dd"), 49, "", ""},
		{"denied after seen is no outage either", "ss " + times(9, "dd"), 55, "", ""},
		{"one that never answered is down", times(6, "sx"), 31, "the target cluster has not answered since 2026-01-02T03:04:05Z", ""},
		{"who does not look any more does not see: a process that slept", "ss ss", 100, "the control cluster has not answered", "the control cluster has not answered"},
		{"the next look is a little late", "ss ss", 6 + 47, "", ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := looks(c.looks)
			for deleting, want := range map[bool]string{false: c.living, true: c.deleting} {
				got := s.Blocked(at(c.now), deleting)
				if (got == "") != (want == "") || !strings.Contains(got, want) {
					t.Errorf("%s: deleting %v: got %q, want %q", c.reason, deleting, got, want)
				}
			}
			if got := s.Frozen(at(c.now)); got != s.Blocked(at(c.now), false) {
				t.Errorf("%s: frozen %q", c.reason, got)
			}
		})
	}
}

func TestThawed(t *testing.T) {
	for _, c := range []struct {
		reason, looks string
		want          int // -1: never
	}{
		{"nothing ever froze", times(9, "ss"), -1},
		{"an outage below the timeout freezes nothing", "ss " + times(4, "xx") + "ss", -1},
		{"the first answer after a freeze", "ss " + times(6, "xs") + "ss ss ss", 42},
		{"the last of two freezes", "ss " + times(6, "xs") + "ss " + times(6, "sx") + "ss", 84},
		{"a cluster that is late at the start has frozen nothing", times(9, "sx") + "ss", -1},
		{"denied thaws: it answers", "ss " + times(6, "xs") + "ds", 42},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, want := looks(c.looks).Recovered(), at(c.want)
			if c.want < 0 {
				want = time.Time{}
			}
			if !got.Equal(want) {
				t.Errorf("%s: thawed %v, want %v", c.reason, got, want)
			}
		})
	}
}

func TestLeft(t *testing.T) {
	const timeout = 300
	for _, c := range []struct {
		reason, looks   string
		from, now, left int
	}{
		{"a timer runs while everything is seen", times(11, "ss"), 0, 60, 240},
		{"a timer begins where it begins", times(11, "ss"), 20, 60, 260},
		{"a timer that began before we looked begins with the first look", times(11, "ss"), -1000, 60, 240},
		{"what was not looked at yet does not count", times(11, "ss"), 0, 66, 240},
		{"C26: a short outage counts from the last look that saw to the next", "ss ss xs ss ss", 0, 24, 300 - 12},
		{"either cluster", "ss ss sx ss ss", 0, 24, 300 - 12},
		{"denied is not seen", "ss ss dd ss ss", 0, 24, 300 - 12},
		{"it stands still during the outage", "ss ss " + times(50, "xx"), 0, 1000, 294},
		{"an outage before the timer began is none of it", "ss ss xs ss ss ss", 20, 30, 290},
		{"a timer that began in the outage begins with its end", "ss ss xs ss ss ss", 14, 30, 300 - 12},
		{"nothing was ever seen", times(9, "sx"), -1000, 50, 300},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := looks(c.looks).Remaining(at(c.from), timeout*time.Second, at(c.now)); got != time.Duration(c.left)*time.Second {
				t.Errorf("%s: left %v, want %ds", c.reason, got, c.left)
			}
		})
	}
}

// TestSettle: facts right after an outage are from before it. Kubelets get time to report. World 100201440 of
// Gardener: the cluster of the nodes came back just when that of the machines was lost, and machines failed
// whose timeout had passed before both.
func TestSettle(t *testing.T) {
	before := times(50, "ss") // up to 294 s
	for _, c := range []struct {
		reason, looks string
		timeout, now  int
		left          int
	}{
		{"no outage, no patience", before + "ss", 200, 300, -100},
		{"a minute after sight came back", before + "xs ss", 200, 306, 60},
		{"it runs", before + "xs " + times(6, "ss"), 200, 336, 30},
		{"and ends", before + "xs " + times(11, "ss"), 200, 366, 0},
		{"not for timers that are shorter anyway", before + "xs ss", 10, 306, 10},
		{"only the last outage counts", before + times(10, "ss") + "xs ss xs ss", 200, 378, 60},
		{"sight is not back while the other cluster is out", before + times(9, "sx") + "xs", 200, 354, 60},
		{"nor does it come back while questions are denied", before + times(9, "dd"), 200, 348, 60},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := looks(c.looks).Remaining(start, time.Duration(c.timeout)*time.Second, at(c.now)); got != time.Duration(c.left)*time.Second {
				t.Errorf("%s: left %v, want %ds", c.reason, got, c.left)
			}
		})
	}
}

func TestSleepIsBlindness(t *testing.T) {
	s := looks("ss ss").After(round(6+18, "ss"))
	if got := s.Elapsed(start, at(24)); got != 24*time.Second {
		t.Errorf("three intervals between two looks: %v watched, want all", got)
	}
	s = looks("ss ss").After(round(6+19, "ss"))
	if got := s.Elapsed(start, at(25)); got != 6*time.Second {
		t.Errorf("a process that slept for more than three intervals watched %v, want 6 s", got)
	}
}

func TestPast(t *testing.T) {
	for _, c := range []struct {
		reason, looks string
		deadline, now int
		want          bool
	}{
		{"not yet", times(20, "ss"), 60, 59, false},
		{"now", times(20, "ss"), 60, 60, true},
		{"it came unseen and sight is just back", "ss " + times(5, "xx") + "ss", 20, 36, false},
		{"it came unseen, and sight has been back", "ss " + times(5, "xx") + times(11, "ss"), 20, 96, true},
		{"it came before an outage, and nobody acted", times(6, "ss") + "xx ss", 20, 42, false},
		{"it came before an outage that is not over", times(4, "ss") + "xs", 12, 24, false},
		{"it comes after an outage", "ss xx ss ss", 15, 18, true},
		{"it came before this process looked", times(10, "ss"), -5, 54, false},
		{"and that looked for long enough", times(11, "ss"), -5, 60, true},
		{"nothing was seen yet", "xx xx", 0, 100, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := looks(c.looks).Past(at(c.deadline), at(c.now)); got != c.want {
				t.Errorf("%s: %v", c.reason, got)
			}
		})
	}
}

// TestZero: without probes all time counts as watched, and nothing is blocked.
func TestZero(t *testing.T) {
	var s connectivity.State
	if d := s.Elapsed(at(0), at(100)); d != 100*time.Second {
		t.Errorf("watched %v", d)
	}
	if d := s.Remaining(at(0), 30*time.Second, at(100)); d != -70*time.Second {
		t.Errorf("left %v", d)
	}
	if !s.Past(at(0), at(0)) || s.Past(at(1), at(0)) || !s.Connected() || s.Frozen(at(0)) != "" || s.Blocked(at(0), true) != "" {
		t.Errorf("past %v, %v, sees %v, frozen %q", s.Past(at(0), at(0)), s.Past(at(1), at(0)), s.Connected(), s.Frozen(at(0)))
	}
}

func TestOneCluster(t *testing.T) {
	s := connectivity.Begin(start, policy, connectivity.Control)
	s = s.After(connectivity.Probe{At: at(0), Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Control: connectivity.Reachable}})
	if !s.Connected() || s.Frozen(at(1)) != "" || s.Answer(connectivity.Target) != "" || s.Answer(connectivity.Control) != connectivity.Reachable {
		t.Errorf("sees %v, frozen %q, answers %q, %q", s.Connected(), s.Frozen(at(1)), s.Answer(connectivity.Control), s.Answer(connectivity.Target))
	}
	if s = s.After(connectivity.Probe{At: at(6)}); s.Connected() || s.Answer(connectivity.Control) != connectivity.Unreachable {
		t.Error("no answer counts as one")
	}
}
