package collect_test

import (
	"slices"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/provider"
)

// TestHistory: the history of a machine comes from its objects, the history of a deleted machine from its evidence.
// An unknown machine has no history.
func TestHistory(t *testing.T) {
	c := cluster(t, nil, openshiftMachine("Running", time.Hour, withNodeO), node("True", "", "", time.Hour), keptFor(t, postmortem.Unwell, "node n-9: Ready is Unknown"))
	for name, test := range map[string]struct {
		q     collect.Question
		event string
		gone  bool
	}{
		"a machine":         {collect.Question{Kind: "Machine", Name: "mill-a-x"}, "node joined", false},
		"a deleted machine": {collect.Question{Kind: "Machine", Name: "mill-b-gone", API: provider.Gardener}, "evidence kept", true},
	} {
		t.Run(name, func(t *testing.T) {
			h, _, err := collect.History(t.Context(), now, collect.Clusters{Control: c, Target: c}, test.q)
			if err != nil || h == nil || (h.Where != "") != test.gone || h.Name != test.q.Name {
				t.Fatalf("history %+v, error %v", h, err)
			}
			if !slices.ContainsFunc(h.Events, func(e explain.Happened) bool { return e.What == test.event }) {
				t.Errorf("the history lacks %q:\n%s", test.event, h.Text())
			}
		})
	}
	said := []postmortem.Statement{{About: "condition " + dialect.RecordCondition, Status: "True", Since: now}}
	if h := explain.MachineHistory(&explain.MachineFacts{Said: said}); len(h.Events) > 0 {
		t.Errorf("the history repeats the record: %+v", h.Events)
	}
	h, a, err := collect.History(t.Context(), now, collect.Clusters{Control: c, Target: c}, collect.Question{Kind: "Machine", Name: "mill-z"})
	if h != nil || err != nil || a.Reason != explain.ReasonNotFound {
		t.Errorf("unknown machine: history %+v, answer %+v, error %v", h, a, err)
	}
}
