package lifecycle_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

func TestDoubted(t *testing.T) {
	recorded := []string{"cloud:///a/i-1", "cloud:///a/i-2", "cloud:///a/i-3"}
	listed := []provider.Instance{{ID: "i-1", ProviderID: "cloud:///a/i-1"}, {ID: "i-2", ProviderID: "cloud:///a/i-2"}}
	for _, c := range []struct {
		reason string
		listed []provider.Instance
		err    error
		want   string
	}{
		{"most of what others have is listed", listed, nil, ""},
		{"next to nothing is", listed[:1], nil, "1 of the 3 instances"},
		{"a listing that broke off says nothing, whatever it has shown", listed, errors.New("page 2: reset"), "as a whole: page 2: reset"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got := lifecycle.Doubted(recorded, c.listed, c.err)
			if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("%s: %q", c.reason, got)
			}
		})
	}
}

func TestAbsenceMatters(t *testing.T) {
	listed := having(instance(provider.Running))
	seenToGo := func(w *lifecycle.World) { w.Instances.SeenToGo = true }
	behind := func(w *lifecycle.World) { w.Unlisted.For = time.Second }
	unheld := func(m *lifecycle.Machine) { m.HasFinalizer = false }
	abandoned := func(m *lifecycle.Machine) { m.Deletion.Abandon = true }
	for _, c := range []struct {
		reason string
		policy lifecycle.Policy
		m      lifecycle.Machine
		w      lifecycle.World
		want   bool
	}{
		{"it would fail for it", patient, machine(), world(), true},
		{"its deletion would go on", patient, leaving(), world(), true},
		{"its deletion would go on, in the other API too", brisk, leaving(), world(), true},
		{"in the other API a living machine does not fail for it", brisk, machine(), world(), false},
		{"it has failed", patient, machine(stage(lifecycle.StageFailed, 0)), world(), false},
		{"the instance is there", patient, machine(), world(listed), false},
		{"the infrastructure has not answered", patient, machine(), world(blind(errTransient)), false},
		{"there never was one", patient, machine(notProvisioned), world(), false},
		{"it was seen to go", patient, leaving(), world(seenToGo), false},
		{"listings may be behind", patient, leaving(), world(behind), false},
		{"its node is Ready, which says more", patient, leaving(onNode1), world(joined(node(corev1.ConditionTrue))), false},
		{"it is no longer held", patient, leaving(unheld), world(), false},
		{"a person has decided", patient, leaving(abandoned), world(), false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := c.w.AbsenceMatters(c.m, c.policy); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
