package csr

import (
	"testing"

	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/bootstrap"
)

// TestRequestsOf: evidence of a machine holds its own pending requests, with the
// words of the approver, and judging changes nothing.
func TestRequestsOf(t *testing.T) {
	id, other := bootstrap.TokenID("uid-a", 0), bootstrap.TokenID("uid-b", 0)
	usages := joining(t, "by-token", "elsewhere", id)
	usages.Spec.Usages = usages.Spec.Usages[:1]
	s := newScene(t, usages, joining(t, "by-name", "node-a", "ffffff"), joining(t, "foreign", "node-b", other), tokenOf(id, "ns/a"))
	s.machines = append(s.machines, machine("a", "node-a"))
	got, err := s.RequestsOf(t.Context(), "uid-a", "", "node-a")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Name != "by-name" || got[1].Name != "by-token" {
		t.Fatalf("requests %+v, want by-name and by-token", got)
	}
	if got[0].Reason != string(approval.ReasonTokenGone) || got[0].Verdict != string(approval.Refuse) {
		t.Errorf("by-name: %+v, want it to be refused because its token is gone", got[0])
	}
	if got[1].Reason != string(approval.ReasonUsages) || got[1].Message == "" || got[1].Node != "elsewhere" {
		t.Errorf("by-token: %+v, want an objection to its usages", got[1])
	}
	if len(s.refused) > 0 {
		t.Errorf("asking told %v to somebody", s.refused)
	}
}
