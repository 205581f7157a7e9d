package machine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/provider"
)

// A kubelet reports two thousand conditions, and one of those that no policy names flips: some are copied
// into the cluster of the machines, which may be another one, and a flip of the others costs no write.
func TestConditionsOfANodeAreBounded(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	report := func(edit func(*corev1.Node)) []string {
		t.Helper()
		var n corev1.Node
		if err := g.target.Get(t.Context(), client.ObjectKey{Name: "node-1"}, &n); err != nil {
			t.Fatal(err)
		}
		edit(&n)
		if err := g.target.WithWatch.Status().Update(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
		g.written()
		g.pass()
		if raw, err := json.Marshal(g.read()); err != nil || len(raw) > 40<<10 {
			t.Errorf("the machine has %d bytes (%v)", len(raw), err)
		}
		return g.written()
	}
	first := report(func(n *corev1.Node) {
		for i := range 2000 {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
				Type: corev1.NodeConditionType(fmt.Sprintf("x%06d", i)), Status: "False", Reason: "R", Message: "some words that nobody bounded",
			})
		}
	})
	if len(first) == 0 {
		t.Error("nothing is copied")
	}
	if writes := report(func(n *corev1.Node) { n.Status.Conditions[1900].Status = "True" }); len(writes) > 0 {
		t.Errorf("a condition that is not copied flipped: %q", writes)
	}
	report(func(n *corev1.Node) {
		for i := range n.Status.Conditions {
			if n.Status.Conditions[i].Type == corev1.NodeReady {
				n.Status.Conditions[i].Status = corev1.ConditionUnknown
			}
		}
	})
	m := g.read()
	if n := len(m.Status.LastOperation.Description); n > 4<<10 {
		t.Errorf("lastOperation has %d bytes", n)
	}
	if len(m.Status.Conditions) != 41 || m.Status.Conditions[40].Type != dialect.RecordCondition || m.Status.Conditions[0].Type != corev1.NodeReady || m.Status.Conditions[0].Status != corev1.ConditionUnknown {
		t.Errorf("%d conditions are copied, the first is %+v", len(m.Status.Conditions), m.Status.Conditions[0])
	}
}

// An infrastructure answers with a megabyte. What is said of it is short, and
// says its beginning.
func TestWordsOfAnInfrastructureAreBounded(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { wordy(t, openshiftRig(t)) })
	t.Run("gardener", func(t *testing.T) { wordy(t, gardenerRig(t)) })
}

func wordy[M client.Object](t *testing.T, g *rig[M]) {
	size := func() int {
		t.Helper()
		raw, err := json.Marshal(g.read())
		if err != nil {
			t.Fatal(err)
		}
		return len(raw)
	}
	g.cloud.createErr = errors.New("the quota says: " + strings.Repeat("[blah] ", 150_000))
	g.pass()
	if raw, _ := json.Marshal(g.read()); len(raw) > 20<<10 || !strings.Contains(string(raw), "the quota says: ") {
		t.Errorf("an error makes a machine of %d bytes: %.300s", len(raw), raw)
	}
	g.cloud.createErr = nil
	i := made("i-1", "uid-1", time.Minute)
	i.RawState = strings.Repeat("running ", 100_000)
	for n := range 5000 {
		i.Addresses = append(i.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.0.%d.%d", n/250, n%250)})
	}
	i.Addresses = append([]corev1.NodeAddress{{Type: corev1.NodeInternalDNS, Address: strings.Repeat("x", 1<<20)}}, i.Addresses...)
	g.cloud.instances = []provider.Instance{i}
	g.clock.Step(time.Hour)
	g.pass()
	if n := size(); n > 30<<10 {
		t.Errorf("an instance makes a machine of %d bytes", n)
	}
}
