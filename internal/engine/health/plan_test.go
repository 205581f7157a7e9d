package health

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// fleet is a cohort with n machines of each of the named owners; edit changes them.
func fleet(c Check, names []string, edit func(i int, t *Target)) *watched {
	w := watching(c)
	for i, name := range names {
		t := linked()
		t.UID, t.Name = types.UID("uid-"+name), name
		if edit != nil {
			edit(i, &t)
		}
		w.put(t0, t)
	}
	return w
}

func names(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%s%02d", prefix, i))
	}
	return out
}

func limit(text string) func(*Check) {
	return func(c *Check) {
		l, err := ParseLimit(text)
		if err != nil {
			panic(err)
		}
		c.MaxUnhealthy = l
	}
}

func remediation(r Remediation) func(*Check) { return func(c *Check) { c.Remediation = r } }
func mode(m Mode) func(*Check)               { return func(c *Check) { c.Breaker.Mode = m } }
func sickFirst(n int) func(int, *Target) {
	return func(i int, t *Target) {
		if i < n {
			shows("Ready", "Unknown", time.Hour)(t)
		}
	}
}

// seen is a good connection to many nodes.
var seen = Connectivity{Nodes: 100, Heard: t0}

func done(p Plan) (out []string) {
	for _, c := range p.Cases {
		if c.Act == Do {
			out = append(out, string(c.Remediation)+" "+c.Target.Name)
		}
	}
	return out
}

// TestRowsOfOpenShiftBudget: steps 6 to 8 of section 4.2 of the OpenShift notes.
func TestRowsOfOpenShiftBudget(t *testing.T) {
	for _, c := range []struct {
		reason           string
		limit            string
		total, sick      int
		allowed          bool
		remaining, begun int
	}{
		{"4.4: Allowed ⇔ expectedMachines − currentHealthy ≤ maxUnhealthy: equal", "40%", 5, 2, true, 0, 2},
		{"4.2.7: not allowed ⇒ remediationsAllowed=0: one more", "40%", 5, 3, false, 0, 0},
		{"4.2.8: remediationsAllowed=max(0, maxUnhealthy−unhealthy)", "60%", 7, 1, true, 3, 1},
		{"4.4: nil ⇒ expectedMachines (100%)", "", 3, 3, true, 0, 3},
		{"1.3: zero blocks all", "0", 3, 1, false, 0, 0},
		{"1.3: zero with nobody sick", "0%", 3, 0, true, 0, 0},
		{"4.4: Int ⇒ as is, more than there are", "10", 3, 3, true, 7, 3},
		{"no machines at all", "40%", 0, 0, true, 0, 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			edit := []func(*Check){mode(Off)}
			if c.limit != "" {
				edit = append(edit, limit(c.limit))
			}
			w := fleet(readyCheck(edit...), names("m", c.total), sickFirst(c.sick))
			p := w.plan(t0, seen, Memory{})
			if p.Allowed != c.allowed || p.Remaining != c.remaining || len(done(p)) != c.begun || p.Expected != c.total || p.Healthy != c.total-c.sick {
				t.Errorf("allowed %v, remaining %d, begun %v, %d of %d healthy", p.Allowed, p.Remaining, done(p), p.Healthy, p.Expected)
			}
		})
	}
}

// C10: a remedy counts until the machine is replaced.
func TestBudgetCountsWhatIsUnderWay(t *testing.T) {
	past := func(name string, at time.Duration) Past {
		return Past{Machine: types.UID("uid-" + name), Name: name, Owner: "set", At: ago(at)}
	}
	made := func(d time.Duration) func(int, *Target) {
		return func(i int, t *Target) {
			if i == 0 {
				t.Created = ago(d)
			}
		}
	}
	for _, c := range []struct {
		reason  string
		present []string
		edit    func(int, *Target)
		past    []Past
		missing int
	}{
		{"gone, and nothing in its place", names("m", 2), nil, []Past{past("x", time.Minute)}, 1},
		{"two gone, one made since", names("m", 2), made(30 * time.Second), []Past{past("x", time.Minute), past("y", time.Minute)}, 1},
		{"gone and replaced", names("m", 2), made(30 * time.Second), []Past{past("x", time.Minute)}, 0},
		{"made in the second of the remedy", names("m", 2), made(time.Minute), []Past{past("x", time.Minute)}, 0},
		{"made before", names("m", 2), made(time.Hour), []Past{past("x", time.Minute)}, 1},
		{"the one made is in the place of one that is still there", []string{"new", "m00"}, made(30 * time.Second), []Past{past("x", time.Minute), {Machine: "uid-m00", Owner: "set", At: ago(time.Minute)}}, 1},
		{"the one made is in the place of one before", names("m", 1), made(2 * time.Minute), []Past{{Machine: "uid-y", Owner: "set", At: ago(5 * time.Minute), Settled: true, By: "uid-m00"}, past("x", 3*time.Minute)}, 1},
		{"the one in its place was remedied and replaced in turn", names("m", 1), made(30 * time.Second), []Past{{Machine: "uid-y", Owner: "set", At: ago(5 * time.Minute), Settled: true, By: "uid-x"}, past("x", time.Minute)}, 0},
		{"it came back by itself", []string{"x", "m00"}, nil, []Past{past("x", time.Minute)}, 0},
		{"nobody waits for more than an hour", names("m", 2), nil, []Past{past("x", time.Hour)}, 0},
		{"nobody replaces what nobody controls", names("m", 2), nil, []Past{{Machine: "uid-x", At: ago(time.Minute)}}, 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			edit := func(i int, t *Target) {
				if t.Name == "m00" && strings.Contains(c.reason, "still there") {
					t.Deleting = true
				}
				if c.edit != nil {
					c.edit(i, t)
				}
			}
			w := fleet(readyCheck(limit("1")), c.present, edit)
			p := w.plan(t0, seen, Memory{Past: c.past})
			if p.Missing != c.missing {
				t.Errorf("%s: %d missing, want %d", c.reason, p.Missing, c.missing)
			}
			again := w.plan(t0, seen, p.Memory)
			if again.Missing != c.missing || !again.Memory.Equal(p.Memory) {
				t.Errorf("%s: looked at again: %d missing", c.reason, again.Missing)
			}
		})
	}
	// One of three is sick, one was remediated and deleted: with a budget of one, it has to wait.
	w := fleet(readyCheck(limit("1")), names("m", 2), sickFirst(1))
	p := w.plan(t0, seen, Memory{Past: []Past{past("x", time.Minute)}})
	if p.Allowed || len(done(p)) > 0 {
		t.Errorf("C10: a second remedy began: %v", done(p))
	}
}

// TestClocksMayDiffer: the time of a remedy is from our clock, the creation time of a machine from the API
// server's. An immediate replacement counts, whichever clock is ahead.
func TestClocksMayDiffer(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Minute, -2 * time.Second, 0, 2 * time.Second, time.Minute} {
		now := t0.Add(ahead)
		began := fleet(readyCheck(limit("1"), mode(Off)), names("m", 3), sickFirst(1)).plan(now, seen, Memory{})
		if len(done(began)) != 1 {
			t.Fatalf("ours is %v ahead: %v", ahead, done(began))
		}
		gone := fleet(readyCheck(limit("1"), mode(Off)), []string{"m01", "m02"}, nil)
		if p := gone.plan(now.Add(2*time.Second), seen, began.Memory); p.Missing != 1 {
			t.Errorf("ours is %v ahead: gone, and %d missing", ahead, p.Missing)
		}
		replaced := fleet(readyCheck(limit("1"), mode(Off)), []string{"m01", "m02", "new"}, func(_ int, m *Target) {
			if m.Name == "new" {
				m.Created = t0 // the second in which the remedy began
			}
		})
		p := replaced.plan(now.Add(2*time.Second), seen, began.Memory)
		if p.Missing != 0 || p.Memory.Past[0].By != "uid-new" {
			t.Errorf("ours is %v ahead: replaced, and %d missing, by %q", ahead, p.Missing, p.Memory.Past[0].By)
		}
		if n := p.Memory.chain(now, &Target{UID: "uid-new", Owner: Owner{UID: "set"}, Created: t0}); n != 1 {
			t.Errorf("ours is %v ahead: what is in its place is number %d of a row, want 1", ahead, n)
		}
	}
}

func TestBudgetIsOfTheWholeFleet(t *testing.T) {
	// 40 % of 5 are 2: one that is deleted and one that is sick.
	w := fleet(readyCheck(limit("40%")), names("m", 4), sickFirst(1))
	p := w.plan(t0, seen, Memory{Past: []Past{{Machine: "x", Owner: "set", At: ago(time.Minute)}}})
	if p.Max != 2 || len(done(p)) != 1 {
		t.Errorf("%d may be: %v", p.Max, done(p))
	}
}

func TestWhatRecoveredIsRemediedAnew(t *testing.T) {
	w := fleet(readyCheck(remediation(Mark)), []string{"m"}, nil)
	p := w.plan(t0, seen, Memory{Past: []Past{{Machine: "uid-m", Owner: "set", At: ago(time.Minute)}}})
	if !p.Memory.Past[0].Settled {
		t.Error("it recovered")
	}
	again := linked(shows("Ready", "Unknown", time.Hour))
	again.UID, again.Name = "uid-m", "m"
	w.put(t0, again)
	if p = w.plan(t0, seen, p.Memory); len(p.Memory.Past) != 2 {
		t.Errorf("a second remedy is another one: %v", p.Memory.Past)
	}
}

func TestTheLongestIllComeFirst(t *testing.T) {
	c := readyCheck(mode(Enforce))
	c.Breaker.Rate, _ = ParseLimit("1")
	w := fleet(c, names("m", 5), func(i int, t *Target) { shows("Ready", "Unknown", time.Duration(5-i)*time.Minute)(t) })
	c.Breaker.StormMin = 100
	w.check = c
	for _, d := range []time.Duration{2 * time.Second, time.Minute + 2*time.Second} {
		w.tick(t0.Add(d))
	}
	if got := done(w.plan(t0.Add(time.Minute), Connectivity{}, Memory{})); len(got) != 1 || got[0] != "Delete m00" {
		t.Errorf("got %v", got)
	}
}

// TestRowsOfOpenShiftRemedies: sections 4.5 and 4.6 of the OpenShift notes, 1.7 of the older API, and cases
// without any remedy.
func TestRowsOfOpenShiftRemedies(t *testing.T) {
	reboots := func(t *Target) { t.Node.Reboots = true }
	master := func(t *Target) { t.Node.ControlPlane = true }
	orphaned := func(t *Target) { t.Owner = Owner{} }
	skipped := func(t *Target) { t.Skip = true }
	sick := shows("Ready", "Unknown", time.Hour)
	spares := func(c *Check) { c.SparesControlPlane = true }
	paused := func(c *Check) { c.Paused = true }
	ofSets := func(c *Check) { c.OwnerKind = "Set" }
	nolimit := func(c *Check) { c.Faults = []lifecycle.Fault{{Field: MaxUnhealthyField, Message: "bad"}} }
	for _, c := range []struct {
		reason      string
		check       Check
		target      Target
		sight       Connectivity
		act         Act
		remediation Remediation
	}{
		{"4.5.4: DELETE Machine", readyCheck(), linked(sick), seen, Do, Delete},
		{"4.5: control-plane machines: no special case", readyCheck(), linked(sick, master), seen, Do, Delete},
		{"4.5.2: Machine has no controller ownerRef ⇒ SkippedNoController", readyCheck(), linked(sick, orphaned), seen, Refer, Delete},
		{"4.5.3: gone or deleting ⇒ return", readyCheck(), linked(sick, isDeleting), seen, Leave, Delete},
		{"4.5.1: strategy external-baremetal: set host.metal3.io/external-remediation", readyCheck(remediation(Mark)), linked(sick), seen, Do, Mark},
		{"4.5.1: before 4.5.2, whoever controls it", readyCheck(remediation(Mark)), linked(sick, orphaned), seen, Do, Mark},
		{"4.5.1: if not there", readyCheck(remediation(Mark)), linked(sick, isMarked), seen, Leave, Mark},
		{"4.5.1: phase≠Failed: a Failed one is deleted", readyCheck(remediation(Mark)), linked(isFailed), seen, Do, Delete},
		{"4.6: remediationTemplate set ⇒ request", readyCheck(remediation(Request)), linked(sick, orphaned), seen, Do, Request},
		{"4.6: Failed machines also go this way", readyCheck(remediation(Request)), linked(isFailed), seen, Do, Request},
		{"1.7: restarted", readyCheck(remediation(Reboot), nodesOnly), linked(sick), seen, Do, Reboot},
		{"1.7: asked for already", readyCheck(remediation(Reboot), nodesOnly), linked(sick, reboots), seen, Leave, Reboot},
		{"1.7: there is nothing to restart", readyCheck(remediation(Reboot)), linked(nodeGone), seen, Leave, Reboot},
		{"1.7: control plane is spared", readyCheck(spares), linked(sick, master), seen, Leave, Delete},
		{"1.7: not of a set", readyCheck(ofSets), linked(sick), seen, Leave, Delete},
		{"4.2.2: annotation cluster.x-k8s.io/paused present ⇒ nothing else", readyCheck(paused), linked(sick), seen, Leave, Delete},
		{"a person wants it left", readyCheck(), linked(sick, skipped), seen, Leave, Delete},
		{"4.4: parse error ⇒ remediation not allowed", readyCheck(nolimit), linked(sick), seen, Leave, Delete},
		{"blind: the caller says so", readyCheck(), linked(sick), Connectivity{Blind: "the API server refuses"}, Leave, Delete},
		{"blind: nobody was heard of", readyCheck(), linked(sick), Connectivity{Nodes: 3, Heard: ago(12 * time.Minute)}, Leave, Delete},
		{"not blind: two are no crowd", readyCheck(), linked(sick), Connectivity{Nodes: 2, Heard: ago(12 * time.Minute)}, Do, Delete},
		{"not blind: nobody keeps it", readyCheck(), linked(sick), Connectivity{Nodes: 3}, Do, Delete},
		{"not blind: one node may be the only one", readyCheck(), linked(nodeGone), Connectivity{}, Do, Delete},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := watching(c.check)
			w.put(t0, c.target)
			p := w.plan(t0, c.sight, Memory{})
			if len(p.Cases) != 1 || p.Cases[0].Act != c.act || p.Cases[0].Remediation != c.remediation || p.Cases[0].Why == "" {
				t.Errorf("got %+v", p.Cases)
			}
			if begun := len(p.Memory.Past) == 1; begun != (c.act == Do) {
				t.Errorf("remembered %v", p.Memory.Past)
			}
		})
	}
}

func TestBlindBecauseNoNodeIsKnown(t *testing.T) {
	w := fleet(readyCheck(), names("m", 2), func(_ int, t *Target) { t.Node = nil })
	p := w.plan(t0, Connectivity{}, Memory{})
	if p.Blind == "" || len(done(p)) > 0 {
		t.Errorf("an empty list of nodes was believed: %v", done(p))
	}
	if !p.Due.Equal(t0.Add(blindRetry)) {
		t.Errorf("looks again at %s", p.Due)
	}
	if p := w.plan(t0, Connectivity{Nodes: 1}, Memory{}); len(done(p)) != 2 {
		t.Errorf("with another node known: %v", done(p))
	}
}

func TestRecovered(t *testing.T) {
	w := fleet(readyCheck(remediation(Request)), names("m", 2), sickFirst(1))
	got := w.plan(t0, seen, Memory{}).Recovered
	if len(got) != 1 || got[0].Name != "m01" {
		t.Fatalf("4.6: requests of a process before this one are left over: %v", got)
	}
	w.machines["uid-m01"].Unclear = false
	well := linked()
	well.UID, well.Name = "uid-m00", "m00"
	w.put(t0, well)
	got = w.plan(t0, seen, Memory{}).Recovered
	if len(got) != 1 || got[0].Name != "m00" {
		t.Errorf("4.6: healthy again: %v", got)
	}
	w.check = readyCheck()
	if got = w.plan(t0, seen, Memory{}).Recovered; got != nil {
		t.Errorf("4.6: only with a template: %v", got)
	}
}
