package orphan_test

import (
	"errors"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/provider"
)

var stray = inst("i-1", "uid-1", "m-1")

// Two listings, for any time between them, are two observations: a suspect has to be seen in three of them,
// and none of the times between may be too long.
func TestThreeLooks(t *testing.T) {
	minutes := func(all ...int) (out []time.Time) {
		for _, m := range all {
			out = append(out, now.Add(time.Duration(m)*time.Minute))
		}
		return out
	}
	tests := map[string]struct {
		reason string
		at     []time.Time
		fate   orphan.Fate
	}{
		"two at once":          {"no time has passed", minutes(0, 0), orphan.Quarantine},
		"two":                  {"the grace period is over, and nobody has looked in it", minutes(0, 16), orphan.Quarantine},
		"two an hour apart":    {"nothing is known of the hour", minutes(0, 61), orphan.Quarantine},
		"three":                {"watched for half an hour", minutes(0, 15, 30), orphan.Remove},
		"three in a hurry":     {"the grace period is not over", minutes(0, 5, 14), orphan.Quarantine},
		"one left out":         {"one listing may fail", minutes(0, 15, 45), orphan.Remove},
		"one left out, late":   {"periods are up to a tenth longer", minutes(0, 33, 66), orphan.Remove},
		"a gap":                {"it begins anew, and is seen twice", minutes(0, 15, 61, 76), orphan.Quarantine},
		"after a gap":          {"it began anew, and was seen three times", minutes(0, 15, 61, 76, 91), orphan.Remove},
		"never twice in a row": {"every listing is the first", minutes(0, 60, 120, 180), orphan.Quarantine},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := world{instances: []provider.Instance{stray}}
			var last orphan.Plan
			for _, at := range tc.at {
				last = w.sweep(at)
				w.memory = last.Memory
			}
			if v := verdict(t, last, "i-1"); v.Fate != tc.fate {
				t.Errorf("%s: %s (%s), want %s", tc.reason, v.Fate, v.Message, tc.fate)
			}
		})
	}
}

// Listings that are not trusted do not count.
func TestGraceIsTimeLookedAt(t *testing.T) {
	w := world{instances: []provider.Instance{stray}}
	w.memory = w.watched()
	for n := range 8 {
		w.memory = w.sweep(later.Add(time.Duration(n)*15*time.Minute), func(l *orphan.Listing) { l.Err = errors.New("no answer") }).Memory
	}
	at := later.Add(2 * time.Hour)
	if v := verdict(t, w.sweep(at), "i-1"); v.Fate != orphan.Quarantine || !v.Since.Equal(at) {
		t.Errorf("%s since %v: blind for two hours", v.Fate, v.Since)
	}
}

// An instance under removal is no longer in quarantine: a gap does not return it there.
func TestRemovalGoesOnAfterAGap(t *testing.T) {
	w := world{instances: []provider.Instance{stray}}
	w.memory = w.watched()
	p := w.sweep(later)
	w.memory = p.Memory.Begin(verdict(t, p, "i-1"), later)
	if v := verdict(t, w.sweep(later.Add(3*time.Hour)), "i-1"); v.Fate != orphan.Remove {
		t.Errorf("%s (%s)", v.Fate, v.Message)
	}
}

// The quarantine of an instance that is missing in between begins again.
func TestQuarantineBeginsAnew(t *testing.T) {
	w := world{instances: []provider.Instance{stray}}
	w.memory = w.sweep(now).Memory
	w.instances = nil
	w.memory = w.sweep(now.Add(5 * time.Minute)).Memory
	if len(w.memory.Suspects) > 0 {
		t.Fatalf("gone, and still suspected: %+v", w.memory.Suspects)
	}
	w.instances = []provider.Instance{stray}
	w.memory = w.sweep(now.Add(10 * time.Minute)).Memory
	if v := verdict(t, w.sweep(later), "i-1"); v.Fate != orphan.Quarantine {
		t.Errorf("%s, seen twice since it came back", v.Fate)
	}
}

// Changes are reported once.
func TestNews(t *testing.T) {
	w := world{instances: []provider.Instance{stray}, policy: func(p *orphan.Policy) { p.ReportOnly = true }}
	for n, want := range []bool{true, false, false, true, false} {
		p := w.sweep(now.Add(time.Duration(n) * 5 * time.Minute))
		if v := verdict(t, p, "i-1"); v.News != want {
			t.Errorf("listing %d: news %t, %s", n, v.News, v.Reason)
		}
		w.memory = p.Memory
	}
}

// A removal continues until it is done, for any listing and any limits, and stops only when a machine turns
// out to have the instance.
func TestRemovalGoesOn(t *testing.T) {
	w := world{instances: []provider.Instance{stray}}
	w.memory = w.watched()
	p := w.sweep(later)
	v := verdict(t, p, "i-1")
	m := p.Memory.Begin(v, later)
	if twice := m.Begin(v, later); len(twice.Begun) != 1 || twice.Removing() != 1 {
		t.Errorf("asking twice counts twice: %+v", twice.Begun)
	}
	tests := map[string]struct {
		reason    string
		instances []provider.Instance
		machines  []orphan.Machine
		policy    func(*orphan.Policy)
		fate      orphan.Fate
	}{
		"still there":     {"the infrastructure takes its time", []provider.Instance{stray}, nil, nil, orphan.Remove},
		"going":           {"by our own doing", []provider.Instance{inst("i-1", "uid-1", "m-1", state(provider.Stopping))}, nil, nil, orphan.Remove},
		"listed no more":  {"its disk may still be there", nil, nil, nil, orphan.Remove},
		"report only now": {"half an instance helps nobody", nil, nil, func(p *orphan.Policy) { p.ReportOnly = true }, orphan.Remove},
		"a machine has it": {
			"that is no orphan", []provider.Instance{stray}, []orphan.Machine{{UID: "uid-9", Namespace: "ns", Name: "m-9", ProviderID: "aws:///eu-1/i-1"}}, nil, orphan.Keep,
		},
		"a machine has it, and it is listed no more": {
			"that is no orphan", nil, []orphan.Machine{{UID: "uid-9", Namespace: "ns", Name: "m-9", ProviderID: "aws:///eu-1/i-1"}}, nil, orphan.Keep,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := world{memory: m, instances: tc.instances, machines: tc.machines, policy: tc.policy}
			got := verdict(t, w.sweep(later.Add(time.Minute)), "i-1")
			if got.Fate != tc.fate || got.Begun != true {
				t.Errorf("%s: %s (%s)", tc.reason, got.Fate, got.Message)
			}
		})
	}
	machines, _ := living(2)
	r := orphan.Resume(m, machines)
	if got := verdict(t, r, "i-1"); got.Fate != orphan.Remove || got.Ref != v.Ref || r.Memory.Removing() != 1 {
		t.Errorf("between listings: %s by %+v", got.Fate, got.Ref)
	}
	if done := r.Memory.Finish("i-1"); len(done.Suspects) != 0 || len(done.Begun) != 1 {
		t.Errorf("done: %+v", done)
	}
}

// Between listings no new removal begins, and no suspect is forgotten.
func TestResumeOnlyResumes(t *testing.T) {
	w := world{instances: []provider.Instance{stray}}
	m := w.sweep(now).Memory
	machines, _ := living(2)
	p := orphan.Resume(m, machines)
	if len(p.Verdicts) != 0 || len(p.Memory.Suspects) != 1 {
		t.Errorf("%d verdicts, %d suspects", len(p.Verdicts), len(p.Memory.Suspects))
	}
}

func TestLeftovers(t *testing.T) {
	disk := provider.Leftover{Kind: "disk", ID: "d-1", UID: "uid-1", Name: "m-1", Owner: us, Namespace: ns}
	nic := provider.Leftover{Kind: "nic", ID: "n-1", UID: "uid-1", Name: "m-1", Owner: us, Namespace: ns}
	theirs, other, nobodys := disk, disk, disk
	theirs.Owner, other.Namespace, nobodys.Owner = "them", "other", ""
	tests := map[string]struct {
		reason    string
		left      []provider.Leftover
		machines  []orphan.Machine
		instances []provider.Instance
		key       string
		fate      orphan.Fate
		why       orphan.Reason
	}{
		"of nobody": {"both go with one call", []provider.Leftover{disk, nic}, nil, nil, "leftover/uid-1", orphan.Remove, orphan.ReasonStray},
		"of another control plane": {
			"its machine may be on its way", []provider.Leftover{theirs}, nil, nil, "leftover/uid-1", orphan.Quarantine, orphan.ReasonOtherOwner,
		},
		"of no owner":           {"nobody says whose it is", []provider.Leftover{nobodys}, nil, nil, "leftover/uid-1", orphan.Quarantine, orphan.ReasonNoOwner},
		"of a namespace unseen": {"nor are its machines", []provider.Leftover{other}, nil, nil, "leftover/uid-1", orphan.Keep, orphan.ReasonNotSeen},
		"the disk does not say": {"the interface of the same machine does", []provider.Leftover{nobodys, nic}, nil, nil, "leftover/uid-1", orphan.Remove, orphan.ReasonStray},
		"of a machine": {
			"it is being made", []provider.Leftover{disk}, []orphan.Machine{{UID: "uid-1", Name: "m-1", Early: true}}, nil, "leftover/uid-1", orphan.Keep, orphan.ReasonRecorded,
		},
		"of a namesake": {
			"it may have been restored under a new UID",
			[]provider.Leftover{disk},
			[]orphan.Machine{{UID: "uid-2", Name: "m-1", ProviderID: "sim:///i-2"}},
			nil, "leftover/uid-1", orphan.Keep, orphan.ReasonRecorded,
		},
		"of a namesake without an instance": {
			"it may wait for the name that the interface holds",
			[]provider.Leftover{disk, nic},
			[]orphan.Machine{{UID: "uid-2", Name: "m-1", Early: true}},
			nil, "leftover/uid-1", orphan.Remove, orphan.ReasonStray,
		},
		"of nobody in particular": {
			"whose it is the name alone says",
			[]provider.Leftover{{Kind: "disk", ID: "d-1", Name: "m-1", Owner: us, Namespace: ns}},
			[]orphan.Machine{{UID: "uid-2", Name: "m-1", Early: true}},
			nil, "leftover/m-1", orphan.Keep, orphan.ReasonRecorded,
		},
		"of a stray": {"goes with it", []provider.Leftover{disk}, nil, []provider.Instance{stray}, "leftover/uid-1", orphan.Keep, orphan.ReasonInUse},
		"unnamed": {
			"cannot be removed by UID", []provider.Leftover{{Kind: "disk", ID: "d-1", Owner: us, Namespace: ns}}, nil, nil, "leftover/disk/d-1", orphan.Quarantine, orphan.ReasonUnremoved,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := world{left: tc.left, machines: tc.machines, instances: tc.instances, policy: func(p *orphan.Policy) { p.Namespace = ns }}
			if verdict(t, w.sweep(now), tc.key).Fate == orphan.Remove {
				t.Error("removed on sight")
			}
			w.memory = w.watched()
			v := verdict(t, w.sweep(later), tc.key)
			if v.Fate != tc.fate || v.Reason != tc.why || len(v.Left) != len(tc.left) {
				t.Errorf("%s: %s, %s (%s)", tc.reason, v.Fate, v.Reason, v.Message)
			}
		})
	}
}

// Unknown leftovers do not mean that no leftovers exist.
func TestLeftoversUnknown(t *testing.T) {
	w := world{left: []provider.Leftover{{Kind: "disk", ID: "d-1", UID: "uid-1", Name: "m-1"}}, instances: []provider.Instance{inst("i-9", "uid-9", "m-9")}}
	w.memory = w.sweep(now).Memory
	w.left, w.instances = nil, nil
	p := w.sweep(later, func(l *orphan.Listing) { l.LeftoversErr = errors.New("denied") })
	if _, ok := p.Memory.Suspects["leftover/uid-1"]; !ok || len(p.Memory.Suspects) != 1 {
		t.Errorf("suspects %+v: want the leftover kept and the instance gone", p.Memory.Suspects)
	}
}
