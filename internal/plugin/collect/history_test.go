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

// TestHistory: a machine that exists has the history of its objects, a deleted one that of its evidence, and any other none.
func TestHistory(t *testing.T) {
	c := cluster(t, nil, openshiftMachine("Running", time.Hour, withNodeO), node("True", "", "", time.Hour), keptFor(t, postmortem.Unwell, "node n-9: Ready is Unknown"))
	for name, test := range map[string]struct {
		q     collect.Question
		event string
		gone  bool
	}{
		"a machine":           {collect.Question{Kind: "Machine", Name: "mill-a-x"}, "node joined", false},
		"one that is deleted": {collect.Question{Kind: "Machine", Name: "mill-b-gone", API: provider.Gardener}, "evidence kept", true},
	} {
		t.Run(name, func(t *testing.T) {
			h, _, err := collect.History(t.Context(), now, collect.Clusters{Control: c, Target: c}, test.q)
			if err != nil || h == nil || (h.Where != "") != test.gone || h.Name != test.q.Name {
				t.Fatalf("%+v: %v", h, err)
			}
			if !slices.ContainsFunc(h.Events, func(e explain.Happened) bool { return e.What == test.event }) {
				t.Errorf("no %q in\n%s", test.event, h.Text())
			}
		})
	}
	said := []postmortem.Statement{{About: "condition " + dialect.RecordCondition, Status: "True", Since: now}}
	if h := explain.MachineHistory(&explain.MachineFacts{Said: said}); len(h.Events) > 0 {
		t.Errorf("the record is printed twice: %+v", h.Events)
	}
	h, a, err := collect.History(t.Context(), now, collect.Clusters{Control: c, Target: c}, collect.Question{Kind: "Machine", Name: "mill-z"})
	if h != nil || err != nil || a.Reason != explain.ReasonNotFound {
		t.Errorf("%+v, %+v, %v", h, a, err)
	}
}
