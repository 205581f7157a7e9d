package orphan_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/provider"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// An instance that was first seen at now is listed again, and for the third time at later, when its grace
// period is over.
var (
	again = now.Add(15 * time.Minute)
	later = now.Add(30 * time.Minute)
)

// us is the control plane, ns the namespace of its machines.
const us, ns = "5f1c5b5e-5d0f-4b8e-9a60-0d7a3f6f2c11", "ns"

// inst is an instance that we created, or, without a UID, one that another implementation created.
func inst(id, uid, name string, edits ...func(*provider.Instance)) provider.Instance {
	i := provider.Instance{ID: id, UID: uid, Name: name, ProviderID: "aws:///eu-1a/" + id, State: provider.Running}
	if uid != "" {
		i.Owner, i.Namespace = us, ns
	}
	for _, e := range edits {
		e(&i)
	}
	return i
}

func state(s provider.State) func(*provider.Instance) {
	return func(i *provider.Instance) { i.State = s }
}

// living are n machines and their instances, which are beyond doubt.
func living(n int) (machines []orphan.Machine, instances []provider.Instance) {
	for k := range n {
		id, uid, name := fmt.Sprintf("i-ok%d", k), fmt.Sprintf("uid-ok%d", k), fmt.Sprintf("ok-%d", k)
		instances = append(instances, inst(id, uid, name))
		machines = append(machines, orphan.Machine{UID: uid, Namespace: "ns", Name: name, ProviderID: "aws:///eu-1a/" + id, Here: true})
	}
	return machines, instances
}

// case is a sweep of ten machines and the given ones.
type world struct {
	machines  []orphan.Machine
	instances []provider.Instance
	left      []provider.Leftover
	ready     []orphan.ReadyNode
	policy    func(*orphan.Policy)
	memory    orphan.Memory
}

func (w world) sweep(at time.Time, edits ...func(*orphan.Listing)) orphan.Plan {
	machines, instances := living(10)
	p := orphan.DefaultPolicy()
	p.Owner, p.Untagged = us, true
	if w.policy != nil {
		w.policy(&p)
	}
	l := orphan.Listing{Cluster: "blue", Instances: append(instances, w.instances...), Leftovers: w.left, Ready: w.ready}
	for _, e := range edits {
		e(&l)
	}
	return orphan.Sweep(at, w.memory, l, append(machines, w.machines...), p)
}

// watched returns the memory after two listings.
func (w world) watched() orphan.Memory {
	w.memory = w.sweep(now).Memory
	return w.sweep(again).Memory
}

func verdict(t *testing.T, p orphan.Plan, key string) orphan.Verdict {
	t.Helper()
	n := slices.IndexFunc(p.Verdicts, func(v orphan.Verdict) bool { return v.Key == key })
	if n < 0 {
		t.Fatalf("no verdict about %s (%s)", key, p.Doubt)
	}
	return p.Verdicts[n]
}

// The decision about one instance when it is first seen, and after the grace period. T31: stray / of a
// machine in creation / with another provider ID.
func TestVerdicts(t *testing.T) {
	machine := func(edits ...func(*orphan.Machine)) []orphan.Machine {
		m := orphan.Machine{UID: "uid-1", Namespace: "ns", Name: "m-1", ProviderID: "aws:///eu-1a/i-1", Here: true}
		for _, e := range edits {
			e(&m)
		}
		return []orphan.Machine{m}
	}
	id := func(id string) func(*orphan.Machine) { return func(m *orphan.Machine) { m.ProviderID = id } }
	uid := func(uid string) func(*orphan.Machine) { return func(m *orphan.Machine) { m.UID = uid } }
	name := func(name string) func(*orphan.Machine) { return func(m *orphan.Machine) { m.Name = name } }
	early := func(m *orphan.Machine) { m.Early = true }
	leaving := func(m *orphan.Machine) { m.Deleting = true }
	elsewhere := func(m *orphan.Machine) { m.Here, m.Elsewhere = false, true }
	one, two := inst("i-1", "uid-1", "m-1"), inst("i-2", "uid-1", "m-1")
	foreign := inst("i-2", "", "m-1")
	tags := func(k, v string) func(*provider.Instance) {
		return func(i *provider.Instance) { i.Tags = map[string]string{k: v} }
	}
	tests := map[string]struct {
		reason    string
		key       string
		machines  []orphan.Machine
		instances []provider.Instance
		sight     orphan.Reason
		fate      orphan.Fate
		ref       provider.Ref
	}{
		"recorded": {"the machine's own", "i-1", machine(), []provider.Instance{one}, orphan.ReasonRecorded, orphan.Keep, provider.Ref{}},
		"recorded by another format": {
			"both APIs write IDs of their own", "i-1", machine(id("aws:///eu-1/I-1")), []provider.Instance{one}, orphan.ReasonRecorded, orphan.Keep, provider.Ref{},
		},
		"restored under another UID": {
			"a control plane was moved", "i-1", machine(uid("uid-new")), []provider.Instance{one}, orphan.ReasonRecorded, orphan.Keep, provider.Ref{},
		},
		"recorded, made by another implementation": {
			"it carries no UID", "i-1", machine(), []provider.Instance{inst("i-1", "", "other")}, orphan.ReasonRecorded, orphan.Keep, provider.Ref{},
		},
		"machine without provider ID": {
			"it was made and not recorded", "i-1", machine(id("")), []provider.Instance{one}, orphan.ReasonEarly, orphan.Keep, provider.Ref{},
		},
		"machine in creation, by name": {
			"another implementation is about to record it", "i-2", machine(id(""), early), []provider.Instance{foreign}, orphan.ReasonEarly, orphan.Keep, provider.Ref{},
		},
		"machine in creation, provider ID known": {
			"initialization failed", "i-2", machine(early), []provider.Instance{one, two}, orphan.ReasonEarly, orphan.Keep, provider.Ref{},
		},
		"machine in deletion": {
			"its own flow drains it and removes it", "i-2", machine(leaving), []provider.Instance{one, two}, orphan.ReasonLeaving, orphan.Keep, provider.Ref{},
		},
		"double, the recorded one unseen": {
			"the recorded ID may be of the past", "i-2", machine(), []provider.Instance{two}, orphan.ReasonUnseen, orphan.Keep, provider.Ref{},
		},
		"double, the recorded one going": {
			"the other may be all that is left", "i-2", machine(),
			[]provider.Instance{inst("i-1", "uid-1", "m-1", state(provider.Stopping)), two},
			orphan.ReasonUnseen, orphan.Keep,
			provider.Ref{},
		},
		"double": {
			"one of two goes, and only that", "i-2", machine(), []provider.Instance{one, two}, orphan.ReasonDouble, orphan.Remove, provider.Ref{},
		},
		"double by name": {
			"another implementation made one more, and may look after it", "i-2", machine(), []provider.Instance{one, foreign}, orphan.ReasonNoOwner, orphan.Quarantine, provider.Ref{},
		},
		"namesake of a restored machine": {
			"its recorded instance is not seen", "i-2", machine(uid("uid-new")), []provider.Instance{two}, orphan.ReasonUnseen, orphan.Keep, provider.Ref{},
		},
		"namesake of a restored machine, in another scope": {
			"whose instance is looked for there", "i-2", machine(uid("uid-new"), elsewhere),
			[]provider.Instance{two},
			orphan.ReasonStray, orphan.Remove,
			provider.Ref{UID: "uid-1", ProviderID: "aws:///eu-1a/i-2"},
		},
		"of a machine in another scope": {
			"people edited where it is", "i-2", machine(elsewhere), []provider.Instance{two}, orphan.ReasonUnseen, orphan.Keep, provider.Ref{},
		},
		"recorded by a machine in another scope": {
			"it was moved by hand", "i-1", machine(uid("uid-new"), elsewhere), []provider.Instance{one}, orphan.ReasonRecorded, orphan.Keep, provider.Ref{},
		},
		"without a UID, by the name of a machine in another scope": {
			"nothing says that it is not that machine's", "i-2", machine(elsewhere), []provider.Instance{foreign}, orphan.ReasonUnseen, orphan.Keep, provider.Ref{},
		},
		"namesake of a new machine": {
			"the new one waits for the name", "i-2", machine(uid("uid-new"), id(""), early),
			[]provider.Instance{two},
			orphan.ReasonStray, orphan.Remove,
			provider.Ref{UID: "uid-1", ProviderID: "aws:///eu-1a/i-2"},
		},
		"stray": {
			"nobody has it", "i-1", nil,
			[]provider.Instance{one},
			orphan.ReasonStray, orphan.Remove,
			provider.Ref{UID: "uid-1", Name: "m-1", ProviderID: "aws:///eu-1a/i-1"},
		},
		"stray, stopped": {
			"it costs all the same", "i-1", nil,
			[]provider.Instance{inst("i-1", "uid-1", "m-1", state(provider.Stopped))},
			orphan.ReasonStray, orphan.Remove,
			provider.Ref{UID: "uid-1", Name: "m-1", ProviderID: "aws:///eu-1a/i-1"},
		},
		"stray, made by another implementation": {
			"it does not say for which control plane", "i-2", nil, []provider.Instance{foreign}, orphan.ReasonNoOwner, orphan.Quarantine, provider.Ref{},
		},
		"two strays of one machine": {
			"each by itself", "i-2", nil, []provider.Instance{one, two}, orphan.ReasonStray, orphan.Remove, provider.Ref{},
		},
		"stray with a living namesake": {
			"by UID only: the name is also another's", "i-2", nil,
			[]provider.Instance{two, inst("i-3", "uid-3", "m-1")},
			orphan.ReasonStray, orphan.Remove,
			provider.Ref{UID: "uid-1", ProviderID: "aws:///eu-1a/i-2"},
		},
		"stray, going": {
			"others are at it", "i-1", nil, []provider.Instance{inst("i-1", "uid-1", "m-1", state(provider.Stopping))}, orphan.ReasonGoing, orphan.Keep, provider.Ref{},
		},
		"tagged for another cluster": {
			"the provider lists too much", "i-1", nil, []provider.Instance{inst("i-1", "uid-1", "m-1", tags("kubernetes.io/cluster/red", "owned"))}, orphan.ReasonNotOurs, orphan.Keep, provider.Ref{},
		},
		"tagged for this cluster": {
			"as it should be", "i-1", nil,
			[]provider.Instance{inst("i-1", "uid-1", "m-1", tags("kubernetes.io/cluster/blue", "owned"))},
			orphan.ReasonStray, orphan.Remove,
			provider.Ref{UID: "uid-1", Name: "m-1", ProviderID: "aws:///eu-1a/i-1"},
		},
		"tagged for a cluster whose name ours begins": {
			"blue is not blue-eu", "i-1", nil, []provider.Instance{inst("i-1", "uid-1", "m-1", tags("kubernetes.io/cluster/blue-eu", "owned"))}, orphan.ReasonNotOurs, orphan.Keep, provider.Ref{},
		},
		"tagged as instances of machines are": {
			"users name their cluster in a class as they like", "i-1", machine(uid("uid-9"), name("m-9"), id("aws:///eu-1a/i-9")),
			[]provider.Instance{
				inst("i-1", "uid-1", "m-1", tags("kubernetes.io/cluster/shoot", "1")),
				inst("i-9", "uid-9", "m-9", tags("kubernetes.io/cluster/shoot", "1")),
			},
			orphan.ReasonStray, orphan.Remove,
			provider.Ref{UID: "uid-1", Name: "m-1", ProviderID: "aws:///eu-1a/i-1"},
		},
		"tagged as no instance of a machine is": {
			"what a namesake claims by its UID only teaches nothing", "i-1", machine(uid("uid-9"), name("m-9"), id("aws:///eu-1a/i-8")),
			[]provider.Instance{
				inst("i-1", "uid-1", "m-1", tags("kubernetes.io/cluster/shoot", "1")),
				inst("i-9", "uid-9", "m-9", tags("kubernetes.io/cluster/shoot", "1")),
				inst("i-8", "", "m-8"),
			},
			orphan.ReasonNotOurs, orphan.Keep,
			provider.Ref{},
		},
		"named by a user's tag": {
			"ownership is not what users write", "i-1", nil,
			[]provider.Instance{inst("i-1", "uid-1", "m-1", func(i *provider.Instance) {
				i.Tags = map[string]string{"kubernetes.io-cluster-red": "owned", "stage": "blue", "blue": "yes"}
			})},
			orphan.ReasonNotOurs, orphan.Keep,
			provider.Ref{},
		},
		"without a tag of Kubernetes' own": {
			"the provider owns by other means", "i-1", nil,
			[]provider.Instance{inst("i-1", "uid-1", "m-1", tags("scope", "other"))},
			orphan.ReasonStray, orphan.Remove,
			provider.Ref{UID: "uid-1", Name: "m-1", ProviderID: "aws:///eu-1a/i-1"},
		},
		"without identifier": {
			"what cannot be named cannot be removed", "", nil, []provider.Instance{{State: provider.Running}}, orphan.ReasonNameless, orphan.Keep, provider.Ref{},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := world{machines: tc.machines, instances: tc.instances, policy: func(p *orphan.Policy) { p.Limit.Min = 2 }}
			first := w.sweep(now)
			v := verdict(t, first, tc.key)
			if v.Reason != tc.sight || v.Fate == orphan.Remove || v.Message == "" {
				t.Errorf("%s: on sight %s, %s (%s), want %s", tc.reason, v.Fate, v.Reason, v.Message, tc.sight)
			}
			w.memory = first.Memory
			second := w.sweep(again)
			if early := verdict(t, second, tc.key); early.Fate == orphan.Remove {
				t.Error("removed after two looks")
			}
			w.memory = second.Memory
			v = verdict(t, w.sweep(later), tc.key)
			if v.Fate != tc.fate || v.Ref != tc.ref {
				t.Errorf("%s: then %s by %+v (%s), want %s by %+v", tc.reason, v.Fate, v.Ref, v.Message, tc.fate, tc.ref)
			}
		})
	}
}

// If users create instances with the cluster's tags, only instances with the name of a machine are judged:
// the nodes of a cluster that was installed by hand have no machines.
func TestUntaggedIsLeftAlone(t *testing.T) {
	machines := []orphan.Machine{{UID: "uid-1", Namespace: "ns", Name: "m-1", ProviderID: "aws:///eu-1a/i-1", Here: true}}
	w := world{
		machines:  machines,
		instances: []provider.Instance{inst("i-1", "uid-1", "m-1"), inst("i-2", "", "m-1"), inst("i-3", "", "bastion")},
		policy:    func(p *orphan.Policy) { p.Untagged = false },
	}
	for _, at := range []time.Time{now, again, later} {
		p := w.sweep(at)
		w.memory = p.Memory
		for _, key := range []string{"i-2", "i-3"} {
			if v := verdict(t, p, key); v.Fate != orphan.Keep || v.Reason != orphan.ReasonUntagged || len(w.memory.Suspects) > 0 {
				t.Errorf("%s: %s, %s", key, v.Fate, v.Reason)
			}
		}
	}
}

// A terminated instance does not exist any more, even if it is still listed.
func TestTerminatedIsNotJudged(t *testing.T) {
	p := world{instances: []provider.Instance{inst("i-1", "uid-1", "m-1", state(provider.Terminated))}}.sweep(now)
	if len(p.Verdicts) != 10 || len(p.Memory.Suspects) != 0 {
		t.Errorf("%d verdicts, %d suspects", len(p.Verdicts), len(p.Memory.Suspects))
	}
}

func TestDoubt(t *testing.T) {
	stray := inst("i-1", "uid-1", "m-1")
	suspected := world{instances: []provider.Instance{stray}}.sweep(now).Memory
	cut := func(n int) func(*orphan.Listing) {
		return func(l *orphan.Listing) { l.Instances = append(l.Instances[:n:n], stray) }
	}
	fails := func(k provider.Kind) func(*orphan.Listing) {
		return func(l *orphan.Listing) { l.Err = provider.Errorf(k, "page 2 failed") }
	}
	tests := map[string]struct {
		reason string
		memory orphan.Memory
		edit   func(*orphan.Listing)
		doubt  string
	}{
		"believed":             {"complete, and as large as before", suspected, func(*orphan.Listing) {}, ""},
		"failed":               {"what is missing is not known", suspected, fails(provider.Transient), "incomplete (Transient)"},
		"denied":               {"denied is not empty", suspected, fails(provider.Denied), "incomplete (Denied)"},
		"throttled":            {"half a listing", suspected, fails(provider.Throttled), "incomplete (Throttled)"},
		"an unknown error":     {"half a listing", suspected, func(l *orphan.Listing) { l.Err = errors.New("EOF") }, "incomplete (Transient): EOF"},
		"empty, was not":       {"an empty answer is the oldest lie", suspected, func(l *orphan.Listing) { l.Instances = nil }, "has 0 instances, the one before had 11"},
		"shrunk":               {"5 of 11", suspected, cut(4), "has 5 instances, the one before had 11"},
		"smaller":              {"6 of 11 is not implausible, and 5 machines of 10 are seen", suspected, cut(5), ""},
		"of something else":    {"the account or the region is wrong", orphan.Memory{}, cut(4), "shows 4 of the 10 instances that machines have recorded"},
		"empty from the start": {"10 machines have instances", orphan.Memory{}, func(l *orphan.Listing) { l.Instances = nil }, "shows 0 of the 10"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := world{memory: tc.memory, instances: []provider.Instance{stray}}.sweep(later, tc.edit)
			if (p.Doubt == "") != (tc.doubt == "") || !strings.Contains(p.Doubt, tc.doubt) {
				t.Fatalf("%s: %q, want %q", tc.reason, p.Doubt, tc.doubt)
			}
			if tc.doubt != "" && (len(p.Verdicts) > 0 || len(p.Memory.Suspects) != len(tc.memory.Suspects) || !p.Memory.Looked.Equal(tc.memory.Looked)) {
				t.Errorf("something was concluded: %d verdicts, memory %+v", len(p.Verdicts), p.Memory)
			}
		})
	}
}

// A fleet may shrink: two listings in a row are trusted.
func TestDoubtEnds(t *testing.T) {
	shrink := func(at time.Time, m orphan.Memory, left int) orphan.Plan {
		machines, instances := living(left)
		return orphan.Sweep(at, m, orphan.Listing{Cluster: "blue", Instances: instances}, machines, orphan.DefaultPolicy())
	}
	for _, left := range []int{4, 0} {
		m := world{}.sweep(now).Memory
		p := shrink(later, m, left)
		if p.Doubt == "" {
			t.Fatalf("%d of 10 are believed at once", left)
		}
		if p = shrink(later.Add(15*time.Minute), p.Memory, left); p.Doubt != "" {
			t.Errorf("%d of 10 are not believed the second time: %s", left, p.Doubt)
		}
		if p = shrink(later.Add(30*time.Minute), p.Memory, left); p.Doubt != "" {
			t.Errorf("%d are not the new measure: %s", left, p.Doubt)
		}
	}
	p := shrink(later, world{}.sweep(now).Memory, 4)
	if p = shrink(later, p.Memory, 1); p.Doubt == "" {
		t.Error("shrinking further counts as saying the same")
	}
}

func TestLimits(t *testing.T) {
	var strays []provider.Instance
	for k := range 4 {
		strays = append(strays, inst(fmt.Sprintf("i-%d", k), fmt.Sprintf("uid-%d", k), fmt.Sprintf("m-%d", k)))
	}
	roomy := func(p *orphan.Policy) { p.Limit.Min = 10 }
	begun := func(n int) orphan.Memory {
		m := world{instances: strays}.watched()
		for range n {
			m.Begun = append(m.Begun, later.Add(-59*time.Minute))
		}
		m.Begun = append(m.Begun, later.Add(-time.Hour)) // too long ago to count
		return m
	}
	tests := map[string]struct {
		reason  string
		memory  orphan.Memory
		policy  func(*orphan.Policy)
		removed int
		stopped orphan.Reason
	}{
		"none":          {"all four go", begun(0), roomy, 4, ""},
		"report only":   {"nothing goes", begun(0), func(p *orphan.Policy) { roomy(p); p.ReportOnly = true }, 0, orphan.ReasonReportOnly},
		"cap":           {"8 within the hour, so two more", begun(8), roomy, 2, orphan.ReasonCap},
		"cap used up":   {"ten within the hour", begun(10), roomy, 0, orphan.ReasonCap},
		"cap of zero":   {"none are begun", begun(0), func(p *orphan.Policy) { roomy(p); p.PerHour = 0 }, 0, orphan.ReasonCap},
		"share":         {"4 of 14 is more than a fifth", begun(0), nil, 0, orphan.ReasonMass},
		"approved":      {"somebody has counted", begun(0), func(p *orphan.Policy) { p.Approved = 4 }, 4, ""},
		"approved less": {"somebody has miscounted", begun(0), func(p *orphan.Policy) { p.Approved = 3 }, 0, orphan.ReasonMass},
		"few machines":  {"an API without machines is likelier lost", begun(0), func(p *orphan.Policy) { roomy(p); p.MinMachines = 11 }, 0, orphan.ReasonNoMachines},
		"few machines, approved": {
			"unless somebody says otherwise", begun(0), func(p *orphan.Policy) { p.MinMachines, p.Approved = 11, 4 }, 4, "",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := world{memory: tc.memory, instances: strays, policy: tc.policy}.sweep(later)
			n := 0
			for _, v := range p.Verdicts {
				switch {
				case v.Fate == orphan.Remove:
					n++
				case v.Fate == orphan.Quarantine && (v.Reason != tc.stopped || v.Cause != orphan.ReasonStray):
					t.Errorf("%s: %s is stopped by %s (%s), want %s", tc.reason, v.Key, v.Reason, v.Message, tc.stopped)
				}
			}
			if n != tc.removed || (p.Refusal != "") != (tc.stopped == orphan.ReasonMass) {
				t.Errorf("%s: %d are removed, want %d; %q", tc.reason, n, tc.removed, p.Refusal)
			}
		})
	}
}

// Without any machine nothing is removed, because the API server may have been restored empty.
func TestNoMachines(t *testing.T) {
	l := orphan.Listing{Cluster: "blue", Instances: []provider.Instance{inst("i-1", "uid-1", "m-1")}}
	policy := orphan.DefaultPolicy()
	policy.Owner = us
	var p orphan.Plan
	for _, at := range []time.Time{now, again, later} {
		p = orphan.Sweep(at, p.Memory, l, nil, policy)
	}
	if v := verdict(t, p, "i-1"); v.Fate != orphan.Quarantine || v.Reason != orphan.ReasonNoMachines {
		t.Errorf("%s, %s", v.Fate, v.Reason)
	}
}

// TestWantedForAnotherCause: an instance to remove because it has no machine stays when a machine appears
// that has another instance: that requires other checks.
func TestWantedForAnotherCause(t *testing.T) {
	v := orphan.Verdict{Key: "i-1", Instance: inst("i-1", "uid-1", "m-1"), Fate: orphan.Remove, Cause: orphan.ReasonStray}
	other := orphan.Machine{UID: "uid-1", Namespace: "ns", Name: "m-1", ProviderID: "aws:///eu-1a/i-2"}
	for _, c := range []struct {
		reason   string
		machines []orphan.Machine
		cause    orphan.Reason
		want     string
	}{
		{"nobody has turned up", nil, orphan.ReasonStray, ""},
		{"its machine has turned up, and has another one", []orphan.Machine{other}, orphan.ReasonStray, "machine ns/m-1 has another one, aws:///eu-1a/i-2"},
		{"that was known", []orphan.Machine{other}, orphan.ReasonDouble, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			v.Cause = c.cause
			if got := orphan.Wanted(v, c.machines); got != c.want {
				t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
			}
		})
	}
}
