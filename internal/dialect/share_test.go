package dialect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

const share, approve = MaxShareAnnotation, ApproveShrinkAnnotation

func TestReadDeletionGuard(t *testing.T) {
	limit := func(percent int) limits.Limit { return limits.Limit{Percent: percent, Min: 1} }
	tests := map[string]struct {
		reason      string
		annotations map[string]string
		want        *replicas.Guard
	}{
		"nothing":       {"off unless asked for", nil, nil},
		"approval only": {"that alone asks for nothing", map[string]string{approve: "3"}, nil},
		"share":         {"", map[string]string{share: "30%"}, &replicas.Guard{Limit: limit(30)}},
		"approved":      {"", map[string]string{share: "30%", approve: "7"}, &replicas.Guard{Limit: limit(30), Approved: 7}},
		"no share": {"a guard that is mistyped is a guard", map[string]string{share: "30"}, &replicas.Guard{
			Limit: limit(20), Misread: share + `: must be a percentage from "1%" to "100%", is "30"; the default of 20% is in force`,
		}},
		"empty share": {"asked for, and not said how much", map[string]string{share: "", approve: "7"}, &replicas.Guard{
			Limit: limit(20), Approved: 7, Misread: share + `: must be a percentage from "1%" to "100%", is ""; the default of 20% is in force`,
		}},
		"approval of another": {"who lets orphans go says nothing of this set", map[string]string{share: "30%", orphan.ApproveAnnotation: "7"}, &replicas.Guard{Limit: limit(30)}},
		"empty approval":      {"withdrawn", map[string]string{share: "30%", approve: ""}, &replicas.Guard{Limit: limit(30)}},
		"negative approval": {"nothing is brought back", map[string]string{share: "30%", approve: "-1"}, &replicas.Guard{
			Limit: limit(30), Misread: approve + `: must be a number of machines, is "-1"; nothing is approved`,
		}},
		"both": {"each is said", map[string]string{share: "0%", approve: "12 "}, &replicas.Guard{
			Limit: limit(20), Misread: share + `: must be a percentage from "1%" to "100%", is "0%"; the default of 20% is in force; ` + approve + `: must be a number of machines, is "12 "; nothing is approved`,
		}},
		"no approval": {"approves nothing", map[string]string{share: "30%", approve: "all"}, &replicas.Guard{
			Limit: limit(30), Misread: approve + `: must be a number of machines, is "all"; nothing is approved`,
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := &corev1.Node{}
			o.Annotations = tc.annotations
			if diff := cmp.Diff(tc.want, ReadDeletionGuard(o)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
			}
		})
	}
}

// TestMisreadShare: what is said to be in force is.
func TestMisreadShare(t *testing.T) {
	if limits.DefaultLimit.Percent != millwright.MisreadDeletionShare {
		t.Errorf("%d%% is in force, and %d%% is said to be", limits.DefaultLimit.Percent, millwright.MisreadDeletionShare)
	}
}

func TestHandDeletionGuard(t *testing.T) {
	type notes = map[string]string
	tests := map[string]struct{ deployment, set, want notes }{
		"nothing":     {nil, nil, nil},
		"others stay": {notes{"a": "1"}, notes{"b": "2"}, notes{"b": "2"}},
		"handed on":   {notes{share: "30%", approve: "4"}, nil, notes{share: "30%", approve: "4"}},
		"bad too":     {notes{share: ""}, notes{"b": "2"}, notes{share: "", "b": "2"}},
		"withdrawn":   {nil, notes{share: "30%", approve: "4", "b": "2"}, notes{"b": "2"}},
		"not ours":    {notes{orphan.ApproveAnnotation: "4"}, notes{orphan.ApproveAnnotation: "5"}, notes{orphan.ApproveAnnotation: "5"}},
		"used up":     {notes{share: "30%"}, notes{share: "20%", approve: "4"}, notes{share: "30%"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d, s := &corev1.Node{}, &corev1.Node{}
			d.Annotations, s.Annotations = tc.deployment, tc.set
			HandDeletionGuard(d, s)
			if diff := cmp.Diff(tc.want, s.Annotations); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}
