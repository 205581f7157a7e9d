package orphan_test

import (
	"errors"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/orphan"
	"github.com/millwright-dev/millwright/provider"
)

var stray = inst("i-1", "uid-1", "m-1")

// Time in which nobody looked is no grace: there was nobody to see a machine.
func TestGraceIsTimeLookedAt(t *testing.T) {
	w := world{instances: []provider.Instance{stray}}
	w.memory = w.sweep(now).Memory
	blind := func(l *orphan.Listing) { l.Err = errors.New("no answer") }
	w.memory = w.sweep(now.Add(time.Hour), blind).Memory
	at := now.Add(2 * time.Hour)
	p := w.sweep(at)
	if v := verdict(t, p, "i-1"); v.Fate != orphan.Remove || !v.Since.Equal(now.Add(105*time.Minute)) {
		t.Errorf("%s since %v: of two blind hours one period counts", v.Fate, v.Since)
	}
	w.policy = func(p *orphan.Policy) { p.Grace = 20 * time.Minute }
	p = w.sweep(at)
	if v := verdict(t, p, "i-1"); v.Fate != orphan.Quarantine {
		t.Errorf("%s although it was looked at for 15 of 20 minutes", v.Fate)
	}
}

// What is away in between begins anew.
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
		t.Errorf("%s, 5 minutes after it came back", v.Fate)
	}
}

// Changes are told once.
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

// A removal goes on until it is done, whatever the listing shows and whatever
// limits say, and stops only when a machine turns out to have the instance.
func TestRemovalGoesOn(t *testing.T) {
	w := world{instances: []provider.Instance{stray}}
	w.memory = w.sweep(now).Memory
	p := w.sweep(later)
	v := verdict(t, p, "i-1")
	m := p.Memory.Begin(v, later)
	if again := m.Begin(v, later); len(again.Begun) != 1 || again.Removing() != 1 {
		t.Errorf("asking twice counts twice: %+v", again.Begun)
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

// Between listings nothing new is removed, and nobody forgotten.
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
	disk := provider.Leftover{Kind: "disk", ID: "d-1", UID: "uid-1", Name: "m-1"}
	nic := provider.Leftover{Kind: "nic", ID: "n-1", UID: "uid-1", Name: "m-1"}
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
		"of a machine": {
			"it is being made", []provider.Leftover{disk}, []orphan.Machine{{UID: "uid-1", Name: "m-1", Early: true}}, nil, "leftover/uid-1", orphan.Keep, orphan.ReasonRecorded,
		},
		"of a namesake": {
			"it may use the interface", []provider.Leftover{disk}, []orphan.Machine{{UID: "uid-2", Name: "m-1"}}, nil, "leftover/uid-1", orphan.Keep, orphan.ReasonRecorded,
		},
		"of a stray": {"goes with it", []provider.Leftover{disk}, nil, []provider.Instance{stray}, "leftover/uid-1", orphan.Keep, orphan.ReasonInUse},
		"unnamed": {
			"cannot be removed by UID", []provider.Leftover{{Kind: "disk", ID: "d-1"}}, nil, nil, "leftover/disk/d-1", orphan.Quarantine, orphan.ReasonUnremoved,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := world{left: tc.left, machines: tc.machines, instances: tc.instances}
			first := w.sweep(now)
			if verdict(t, first, tc.key).Fate == orphan.Remove {
				t.Error("removed on sight")
			}
			w.memory = first.Memory
			v := verdict(t, w.sweep(later), tc.key)
			if v.Fate != tc.fate || v.Reason != tc.why || len(v.Left) != len(tc.left) {
				t.Errorf("%s: %s, %s (%s)", tc.reason, v.Fate, v.Reason, v.Message)
			}
		})
	}
}

// Not to know what is left over is not to know that nothing is.
func TestLeftoversUnknown(t *testing.T) {
	w := world{left: []provider.Leftover{{Kind: "disk", ID: "d-1", UID: "uid-1", Name: "m-1"}}, instances: []provider.Instance{inst("i-9", "uid-9", "m-9")}}
	w.memory = w.sweep(now).Memory
	w.left, w.instances = nil, nil
	p := w.sweep(later, func(l *orphan.Listing) { l.LeftoversErr = errors.New("denied") })
	if _, ok := p.Memory.Suspects["leftover/uid-1"]; !ok || len(p.Memory.Suspects) != 1 {
		t.Errorf("suspects %+v: want the leftover kept and the instance gone", p.Memory.Suspects)
	}
}
