package orphan_test

import (
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/provider"
)

// An instance without a machine is removed only if we created it for a machine that we would see, or if a
// user names it.
func TestOwners(t *testing.T) {
	by := func(owner, namespace string) provider.Instance {
		return inst("i-1", "uid-1", "m-1", func(i *provider.Instance) { i.Owner, i.Namespace = owner, namespace })
	}
	anonymous := func(p *orphan.Policy) { p.Owner = "" }
	limited := func(p *orphan.Policy) { p.Namespace = ns }
	before := func(p *orphan.Policy) { p.Also = []string{"us-before"} }
	named := func(p *orphan.Policy) { p.Named = []string{"aws:///EU-1A/I-1"} }
	tests := map[string]struct {
		reason string
		i      provider.Instance
		policy []func(*orphan.Policy)
		fate   orphan.Fate
		why    orphan.Reason
		says   string
	}{
		"ours":                            {"nobody has it", by(us, ns), nil, orphan.Remove, orphan.ReasonStray, "it has no machine"},
		"ours, of a namespace we see":     {"nobody has it", by(us, ns), []func(*orphan.Policy){limited}, orphan.Remove, orphan.ReasonStray, ""},
		"ours, of another namespace":      {"its machine is not ours to see", by(us, "other"), []func(*orphan.Policy){limited}, orphan.Keep, orphan.ReasonNotSeen, "other"},
		"ours, of all namespaces":         {"we see them all", by(us, "other"), nil, orphan.Remove, orphan.ReasonStray, ""},
		"ours, by what it had before":     {"the right to read kube-system came or went", by("us-before", ns), []func(*orphan.Policy){limited, before}, orphan.Remove, orphan.ReasonStray, ""},
		"so, of another namespace":        {"its machine is not ours to see", by("us-before", "other"), []func(*orphan.Policy){limited, before}, orphan.Keep, orphan.ReasonNotSeen, "other"},
		"no owner is none of them":        {"an empty name is no name", by("", ns), []func(*orphan.Policy){func(p *orphan.Policy) { p.Also = []string{""} }}, orphan.Quarantine, orphan.ReasonNoOwner, ""},
		"another's":                       {"it has machines of its own", by("them", ns), nil, orphan.Quarantine, orphan.ReasonOtherOwner, "another control plane, them"},
		"another's, of another namespace": {"it is told all the same", by("them", "other"), []func(*orphan.Policy){limited}, orphan.Quarantine, orphan.ReasonOtherOwner, ""},
		"nobody's":                        {"an older version made it", by("", ""), nil, orphan.Quarantine, orphan.ReasonNoOwner, `annotation millwright.dev/approve-orphan-removal: "aws:///eu-1a/i-1" allows its removal`},
		"nobody's, limited":               {"it does not say where its machine is", by("", ""), []func(*orphan.Policy){limited}, orphan.Quarantine, orphan.ReasonNoOwner, ""},
		"we do not know who we are":       {"it may be anybody's", by("them", ns), []func(*orphan.Policy){anonymous}, orphan.Quarantine, orphan.ReasonOwnerUnknown, "kube-system"},
		"neither says who":                {"no name is no match", by("", ns), []func(*orphan.Policy){anonymous}, orphan.Quarantine, orphan.ReasonOwnerUnknown, ""},
		"neither says who, limited":       {"no name is no match", by("", ""), []func(*orphan.Policy){anonymous, limited}, orphan.Quarantine, orphan.ReasonOwnerUnknown, ""},
		"another's, named":                {"somebody has looked", by("them", ns), []func(*orphan.Policy){named}, orphan.Remove, orphan.ReasonStray, ""},
		"nobody's, named":                 {"somebody has looked", by("", ""), []func(*orphan.Policy){named}, orphan.Remove, orphan.ReasonStray, ""},
		"named, only reported":            {"nothing goes, ever", by("", ""), []func(*orphan.Policy){named, func(p *orphan.Policy) { p.ReportOnly = true }}, orphan.Quarantine, orphan.ReasonReportOnly, ""},
		"named, with too many others": {
			"the guard is about what nobody has looked at", by(us, ns),
			[]func(*orphan.Policy){named, func(p *orphan.Policy) { p.Limit = limits.Limit{} }},
			orphan.Remove, orphan.ReasonStray, "",
		},
		"another is approved by number": {
			"a number says nothing of whose they are", by("them", ns),
			[]func(*orphan.Policy){func(p *orphan.Policy) { p.Approved = 99 }},
			orphan.Quarantine, orphan.ReasonOtherOwner, "",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := world{instances: []provider.Instance{tc.i}, policy: func(p *orphan.Policy) {
				for _, edit := range tc.policy {
					edit(p)
				}
			}}
			w.memory = w.watched()
			v := verdict(t, w.sweep(later), "i-1")
			if v.Fate != tc.fate || v.Reason != tc.why || !strings.Contains(v.Message, tc.says) {
				t.Errorf("%s: %s, %s (%s), want %s, %s", tc.reason, v.Fate, v.Reason, v.Message, tc.fate, tc.why)
			}
		})
	}
}

// The instances of other control planes in a shared scope keep no control plane from removing its own.
func TestOthersAreNoMass(t *testing.T) {
	w := world{instances: []provider.Instance{stray}}
	for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
		w.instances = append(w.instances, inst("i-"+n, "uid-"+n, n, func(i *provider.Instance) { i.Owner = "them" }))
	}
	w.memory = w.watched()
	if p := w.sweep(later); verdict(t, p, "i-1").Fate != orphan.Remove || verdict(t, p, "i-a").Fate == orphan.Remove {
		t.Errorf("refusal %q", p.Refusal)
	}
}

// An orphan with a Ready node has workloads: it is removed only if a user names it.
func TestReadyNodes(t *testing.T) {
	tests := map[string]struct {
		reason string
		node   orphan.ReadyNode
		named  bool
		ready  bool
	}{
		"none":                   {"nothing runs on it", orphan.ReadyNode{Name: "w-1", ProviderID: "aws:///eu-1a/i-9"}, false, false},
		"by provider ID":         {"it is the instance's", orphan.ReadyNode{Name: "w-1", ProviderID: "aws:///eu-1a/i-1"}, false, true},
		"in another spelling":    {"each API has its own", orphan.ReadyNode{Name: "w-1", ProviderID: "aws:///eu-1/I-1"}, false, true},
		"by node name":           {"the node has no provider ID yet", orphan.ReadyNode{Name: "ip-1"}, false, true},
		"by machine name":        {"the node has no provider ID yet", orphan.ReadyNode{Name: "m-1"}, false, true},
		"a namesake's":           {"it is another instance's", orphan.ReadyNode{Name: "m-1", ProviderID: "aws:///eu-1a/i-9"}, false, false},
		"ready, but named":       {"it is drained first", orphan.ReadyNode{Name: "m-1"}, true, false},
		"a node without a name?": {"there is none", orphan.ReadyNode{}, false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			i := inst("i-1", "uid-1", "m-1", func(i *provider.Instance) { i.NodeName = "ip-1" })
			w := world{instances: []provider.Instance{i}, ready: []orphan.ReadyNode{tc.node}, policy: func(p *orphan.Policy) {
				if tc.named {
					p.Named = []string{i.ProviderID}
				}
			}}
			w.memory = w.watched()
			v := verdict(t, w.sweep(later), "i-1")
			if held := v.Fate == orphan.Quarantine && v.Reason == orphan.ReasonReady && v.Cause == orphan.ReasonStray; held != tc.ready || !held && v.Fate != orphan.Remove {
				t.Errorf("%s: %s, %s (%s)", tc.reason, v.Fate, v.Reason, v.Message)
			}
		})
	}
}
