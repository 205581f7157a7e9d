package orphan_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/provider"
)

// TestRowsOfGardenerOrphans: section 5.2, "for each (providerID, name)": the decision about an instance when
// it is first seen, and when its grace period is over.
func TestRowsOfGardenerOrphans(t *testing.T) {
	m := orphan.Machine{UID: "uid-1", Namespace: "ns", Name: "m-1", ProviderID: "aws:///eu-1a/i-1", Here: true}
	with := func(edit func(*orphan.Machine)) []orphan.Machine {
		c := m
		edit(&c)
		return []orphan.Machine{c}
	}
	crashing := with(func(m *orphan.Machine) { m.Early, m.ProviderID = true, "" })
	initializing := with(func(m *orphan.Machine) { m.Early = true })
	spelled := with(func(m *orphan.Machine) { m.ProviderID = "aws:///EU-1/I-1" })
	foreign, own, other := inst("i-1", "", "m-1"), inst("i-1", "uid-1", "m-1"), inst("i-2", "uid-1", "m-1")
	for _, r := range []struct {
		row       string
		machines  []orphan.Machine
		instances []provider.Instance
		key       string
		sight     orphan.Fate
		then      orphan.Fate
	}{
		{"yes and spec.providerID equal ⇒ fine", []orphan.Machine{m}, []provider.Instance{own}, "i-1", orphan.Keep, orphan.Keep},
		{`yes and phase ""/CrashLoopBackOff ⇒ skip`, crashing, []provider.Instance{foreign}, "i-1", orphan.Keep, orphan.Keep},
		{`yes and phase ""/CrashLoopBackOff ⇒ skip: one is recorded already`, initializing, []provider.Instance{own, other}, "i-2", orphan.Keep, orphan.Keep},
		{
			"yes otherwise ⇒ DeleteMachine (duplicate VM): after the grace period",
			[]orphan.Machine{m},
			[]provider.Instance{own, other},
			"i-2",
			orphan.Quarantine, orphan.Remove,
		},
		{
			"yes otherwise ⇒ DeleteMachine: different, not while the recorded one is not seen (C12)",
			[]orphan.Machine{m},
			[]provider.Instance{other},
			"i-2",
			orphan.Keep, orphan.Keep,
		},
		{"providerID text differs (case, format change): different, it is the same (C12)", spelled, []provider.Instance{inst("i-1", "", "other")}, "i-1", orphan.Keep, orphan.Keep},
		{"no ⇒ DeleteMachine: after the grace period (C12)", nil, []provider.Instance{own}, "i-1", orphan.Quarantine, orphan.Remove},
		{"no ⇒ DeleteMachine: different, not one that does not say whose it is", nil, []provider.Instance{foreign}, "i-1", orphan.Quarantine, orphan.Quarantine},
	} {
		t.Run(r.row, func(t *testing.T) {
			w := world{machines: r.machines, instances: r.instances, policy: func(p *orphan.Policy) { p.Untagged = true; p.Limit.Min = 2 }}
			first := w.sweep(now)
			if v := verdict(t, first, r.key); v.Fate != r.sight {
				t.Errorf("on sight %s (%s), want %s", v.Fate, v.Message, r.sight)
			}
			w.memory = w.watched()
			if v := verdict(t, w.sweep(later), r.key); v.Fate != r.then {
				t.Errorf("then %s (%s), want %s", v.Fate, v.Message, r.then)
			}
		})
	}
}

// "A ListMachines error": in 5.2 it aborts the rest of the classes; here nothing is concluded from an
// incomplete listing.
func TestRowsOfGardenerOrphanListing(t *testing.T) {
	w := world{instances: []provider.Instance{inst("i-1", "uid-1", "m-1")}}
	w.memory = w.sweep(now).Memory
	for row, c := range map[string]struct {
		edit func(*orphan.Listing)
		want string
	}{
		"ListMachines error: nothing goes":  {func(l *orphan.Listing) { l.Err = errors.New("EOF") }, "incomplete"},
		"ListMachines denied: nothing goes": {func(l *orphan.Listing) { l.Err = provider.Errorf(provider.Denied, "no") }, "incomplete (Denied)"},
		"if non-empty: an empty answer that was not empty before: nothing goes": {
			func(l *orphan.Listing) { l.Instances = nil }, "has 0 instances",
		},
	} {
		t.Run(row, func(t *testing.T) {
			p := w.sweep(later.Add(time.Hour), c.edit)
			if !strings.Contains(p.Doubt, c.want) || len(p.Verdicts) > 0 {
				t.Errorf("%d verdicts, doubt %q", len(p.Verdicts), p.Doubt)
			}
		})
	}
}
