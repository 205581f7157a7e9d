package judge

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

var (
	bigA   = Choice{"big in a", "a", "big"}
	smallA = Choice{"small in a", "a", "small"}
	bigB   = Choice{"big in b", "b", "big"}
)

// asking is one call and its result.
type asking struct {
	after   time.Duration
	process int
	uid     string
	of      Choice
	said    CreateReply
}

func TestAsking(t *testing.T) {
	made, lost, denied := CreateReply{Made: true}, CreateReply{Unclear: true}, CreateReply{}
	sold := func(scope string) CreateReply { return CreateReply{Sold: scope} }
	for name, c := range map[string]struct {
		reason string
		asks   []asking
		broken string
	}{
		"the next one":            {"the first is sold out", []asking{{0, 1, "m", bigA, sold("type")}, {0, 1, "m", smallA, made}}, ""},
		"the same one":            {"it is sold out", []asking{{0, 1, "m", bigA, sold("type")}, {0, 1, "m", bigA, made}}, NotInVain},
		"for another machine":     {"the process knows", []asking{{0, 1, "m", bigA, sold("type")}, {time.Second, 1, "n", bigA, made}}, NotInVain},
		"by another process":      {"it does not know", []asking{{0, 1, "m", bigA, sold("type")}, {time.Second, 2, "n", bigA, made}}, ""},
		"in its zone":             {"the zone is closed", []asking{{0, 1, "m", bigA, sold("zone")}, {0, 1, "m", smallA, made}}, NotInVain},
		"in another zone":         {"that is open", []asking{{0, 1, "m", bigA, sold("zone")}, {0, 1, "m", bigB, made}}, ""},
		"in the account":          {"it has no quota", []asking{{0, 1, "m", bigA, sold("account")}, {0, 1, "m", bigB, made}}, NotInVain},
		"a minute later":          {"it may have come back", []asking{{0, 1, "m", bigA, sold("type")}, {time.Minute, 1, "m", bigA, made}}, ""},
		"told twice":              {"the second was asked for before the first was heard of, and changes nothing", []asking{{0, 1, "m", bigA, sold("type")}, {-time.Second, 1, "n", bigA, sold("type")}, {time.Minute, 1, "m", bigA, made}}, ""},
		"another after no answer": {"it may have been made", []asking{{0, 1, "m", bigA, lost}, {time.Hour, 1, "m", smallA, made}}, OneAsked},
		"again after no answer":   {"the infrastructure knows it again", []asking{{0, 1, "m", bigA, lost}, {time.Hour, 1, "m", bigA, made}}, ""},
		"again, though sold out":  {"it may be there all the same", []asking{{0, 1, "m", bigA, lost}, {0, 1, "n", bigA, sold("type")}, {0, 1, "m", bigA, made}}, ""},
		"another after an answer": {"the second call had one", []asking{{0, 1, "m", bigA, lost}, {time.Hour, 1, "m", bigA, denied}, {0, 1, "m", smallA, made}}, ""},
		"by a process after it":   {"the machine keeps what was asked for", []asking{{0, 1, "m", bigA, lost}, {time.Hour, 2, "m", smallA, made}}, OneAsked},
		"no answer to another":    {"each machine has its own", []asking{{0, 1, "m", bigA, lost}, {0, 1, "n", smallA, made}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			for _, a := range c.asks {
				asked := CreateRequest{Process: a.process, UID: a.uid, Place: "here", Choice: a.of, At: s.now.Add(a.after)}
				s.now = s.now.Add(max(0, a.after))
				if s.judge.CreateRequested(asked); a.after < 0 {
					s.broken = nil
				}
				s.judge.CreateAnswered(asked, a.said)
			}
			if got := slices.Contains(s.broken, c.broken); got != (c.broken != "") || len(s.broken) > 1 {
				t.Errorf("%s: broken %v, want %q", c.reason, s.broken, c.broken)
			}
		})
	}
}

// TestReleasedIsSettled: world 100201092 of machine.openshift.io. A machine that was released after a request
// without an answer returns with a restore, and may be requested with another choice.
func TestReleasedIsSettled(t *testing.T) {
	s := newScene()
	lost := CreateRequest{Process: 1, UID: "m", Place: "here", Choice: bigA, At: s.now}
	s.judge.CreateRequested(lost)
	s.judge.CreateAnswered(lost, CreateReply{Unclear: true})
	s.judge.released(readMachine(gardenerMachine("m")))
	if s.judge.CreateRequested(CreateRequest{Process: 1, UID: "m", Place: "here", Choice: smallA, At: s.now}); len(s.broken) > 0 {
		t.Errorf("broken: %v", s.broken)
	}
}

func TestWaits(t *testing.T) {
	for name, c := range map[string]struct {
		m         *v1alpha1.Machine
		room      bool
		after     time.Duration
		instances []Instance
		broken    bool
	}{
		"waits":           {gardenerMachine("m"), true, time.Hour, nil, true},
		"not for long":    {gardenerMachine("m"), true, 40 * time.Minute, nil, false},
		"without room":    {gardenerMachine("m"), false, time.Hour, nil, false},
		"has an instance": {gardenerMachine("m"), true, time.Hour, []Instance{{ID: "i-1", UID: "m"}}, false},
		"of another":      {gardenerMachine("m"), true, time.Hour, []Instance{{ID: "i-1", UID: "n"}}, true},
		"has failed":      {gardenerMachine("m", crashes("Failed", "", "")), true, time.Hour, nil, false},
		"goes":            {gardenerMachine("m", func(m *v1alpha1.Machine) { m.DeletionTimestamp = &metav1.Time{} }), true, time.Hour, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.room, s.instances = c.room, c.instances
			c.m.Spec.ProviderID = ""
			s.write(nil, c.m)
			s.now = s.now.Add(c.after)
			s.judge.judgeWaits()
			if got := slices.Contains(s.broken, NextChoice); got != c.broken {
				t.Errorf("broken: %v, want %v", s.broken, c.broken)
			}
		})
	}
}

// TestRepeatsForAnother: a process that takes over may repeat the request of its predecessor once, and learns
// again that the choice is sold out.
func TestRepeatsForAnother(t *testing.T) {
	for name, c := range map[string]struct {
		uid    string
		born   time.Duration
		times  int
		broken bool
	}{
		"once":                     {"m", time.Second, 1, false},
		"twice":                    {"m", time.Second, 2, true},
		"for a machine made since": {"m", 0, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			asked := CreateRequest{Process: 2, UID: "other", Place: "here", Choice: bigA, At: s.now}
			s.judge.CreateRequested(asked)
			s.judge.CreateAnswered(asked, CreateReply{Sold: "type"})
			if asked.UID = c.uid; c.born > 0 {
				asked.Born = s.now.Add(c.born)
			}
			for range c.times {
				s.judge.CreateRequested(asked)
				s.judge.CreateAnswered(asked, CreateReply{Sold: "type"})
			}
			if got := len(s.broken) > 0; got != c.broken {
				t.Errorf("broken: %v", s.broken)
			}
		})
	}
}
