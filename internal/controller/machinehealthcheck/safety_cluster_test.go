package machinehealthcheck

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/runtime/node"
)

// recorded are machines with nodes that joined the cluster, by their records.
func recorded(cluster string, names ...string) (machines, nodes []client.Object) {
	for _, name := range names {
		m, n := pair(name)
		m.Status.Conditions = []machinev1.Condition{{
			Type: dialect.RecordCondition, Status: corev1.ConditionTrue, Reason: dialect.RecordReason,
			Message: fmt.Sprintf(`{"uid":%q,"joined":{"cluster":%q,"node":%q,"uid":%q}}`, m.UID, cluster, n.Name, n.UID),
		}}
		machines, nodes = append(machines, m), append(nodes, n)
	}
	return machines, nodes
}

func kubeSystem(uid types.UID) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: uid}}
}

// identified compares the identity of the cluster of the nodes, and counts how often it is asked for.
func (w *world) identified() (asked *int) {
	asked = new(int)
	w.r.Identity = &node.Identity{Live: w, Clock: w.clock}
	refuses := w.refuses
	w.refuses = func(verb string, o client.Object) error {
		if _, ok := o.(*corev1.Namespace); ok {
			*asked++
		}
		if refuses != nil {
			return refuses(verb, o)
		}
		return nil
	}
	return asked
}

// passes makes passes as they are asked for, for that long.
func (w *world) passes(long time.Duration) {
	w.t.Helper()
	for end := w.clock.Now().Add(long); w.clock.Now().Before(end); {
		rest := w.pass().RequeueAfter
		if rest <= 0 || rest > time.Minute {
			rest = time.Minute
		}
		w.step(rest)
	}
}

func all(c *lenient.MachineHealthCheck) {
	c.Annotations = map[string]string{dialect.BreakerAnnotation: "off"}
}

// TestSafetyCheckInForeignCluster: another, healthy cluster answers, which has nodes of its own
// and none of the machines'. Nothing is remedied, the check says why, and goes on when the
// cluster is back or when a person names the one in which the machines are.
func TestSafetyCheckInForeignCluster(t *testing.T) {
	for _, back := range []bool{true, false} {
		machines, _ := recorded("ours", "a", "b", "c")
		_, foreign := recorded("", "x", "y", "z", "u", "v", "w")
		fresh, _ := pair("fresh")
		fresh.Status.NodeRef = nil
		w := newWorld(t, slices.Concat(machines, foreign, []client.Object{fresh, kubeSystem("theirs"), checkOf(all)})...)
		registry := prometheus.NewRegistry()
		metrics, err := NewMetrics(registry)
		w.must(err)
		w.r.Metrics = metrics
		asked := w.identified()
		began := w.clock.Now()
		w.passes(time.Hour)
		if c := w.condition("RemediationAllowed"); w.leaving() != nil || c.Status != "False" || c.Reason != "TargetClusterReplaced" || !strings.Contains(c.Message, "ours") || !strings.Contains(c.Message, "theirs") {
			t.Fatalf("leaving %v, %s %s: %s", w.leaving(), c.Status, c.Reason, c.Message)
		}
		if told := w.heard(); strings.Count(told, "RemediationRestricted") != 1 || !strings.Contains(told, "TargetClusterReplaced") {
			t.Errorf("told %s", told)
		}
		if w.status().RemediationsAllowed != 0 || series(t, registry, "mapi_machinehealthcheck_short_circuit", "api_version")[""] != 1 {
			t.Errorf("%d may be remedied, short circuit %v", w.status().RemediationsAllowed, series(t, registry, "mapi_machinehealthcheck_short_circuit", "api_version"))
		}
		if most := int(w.clock.Since(began)/node.IdentityKept) + 1; *asked > most {
			t.Errorf("asked for the identity %d times, at most %d", *asked, most)
		}
		if back {
			w.must(w.Delete(t.Context(), kubeSystem("theirs")))
			w.must(w.Create(t.Context(), kubeSystem("ours")))
			_, nodes := recorded("ours", "a", "b", "c")
			for _, n := range nodes {
				w.must(w.Create(t.Context(), n))
				w.r.NodeChanged(nil, n.(*corev1.Node))
			}
			w.passes(2 * time.Minute)
			if c := w.condition("RemediationAllowed"); c.Status != "True" || !slices.Equal(w.leaving(), []string{"fresh"}) {
				t.Errorf("the cluster is back: leaving %v, %s: %s", w.leaving(), c.Status, c.Message)
			}
			continue
		}
		for _, m := range machines {
			before := m.DeepCopyObject().(client.Object)
			m.SetAnnotations(map[string]string{millwright.TargetCluster: "theirs"})
			w.must(w.Patch(t.Context(), m, client.MergeFrom(before)))
			w.r.MachineChanged(m)
			w.r.Deletions.Note(&corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: types.UID("node-" + m.GetName())}})
		}
		w.passes(2 * time.Minute)
		if !slices.Equal(w.leaving(), []string{"a", "b", "c", "fresh"}) {
			t.Errorf("a person named the cluster: leaving %v, %s", w.leaving(), w.condition("RemediationAllowed").Message)
		}
	}
}

// TestSafetyCheckInRestoredCluster: the cluster was restored to a state before the nodes joined, and has
// its identity. Nodes that a watch saw deleted count as deleted.
func TestSafetyCheckInRestoredCluster(t *testing.T) {
	for _, seen := range []bool{false, true} {
		machines, nodes := recorded("ours", "a", "b", "c", "d", "e")
		w := newWorld(t, slices.Concat(machines, []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, kubeSystem("ours"), checkOf(all)})...)
		w.identified()
		if seen {
			w.r.Deletions.Note(nodes[0].(*corev1.Node))
		}
		w.passes(time.Hour / 2)
		want := []string(nil)
		if seen {
			want = []string{"a"}
		}
		if c := w.condition("RemediationAllowed"); !slices.Equal(w.leaving(), want) || c.Reason != "NodesMissingTogether" {
			t.Errorf("seen %v: leaving %v, %s: %s", seen, w.leaving(), c.Reason, c.Message)
		}
	}
}

// TestSafetyCheckCannotIdentify: a question that fails is not the answer that the cluster may not be asked.
func TestSafetyCheckCannotIdentify(t *testing.T) {
	machines, nodes := recorded("ours", "a", "b", "c", "d")
	w := newWorld(t, slices.Concat(machines, nodes[1:], []client.Object{kubeSystem("ours"), checkOf(all)})...)
	fails := true
	w.refuses = func(_ string, o client.Object) error {
		if _, ok := o.(*corev1.Namespace); ok && fails {
			return errors.New("no route to host")
		}
		return nil
	}
	w.identified()
	w.passes(2 * time.Minute)
	if c := w.condition("RemediationAllowed"); w.leaving() != nil || c.Reason != "TargetClusterUnknown" || !strings.Contains(c.Message, "no route to host") {
		t.Errorf("leaving %v, %s: %s", w.leaving(), c.Reason, c.Message)
	}
	fails = false
	w.passes(2 * time.Minute)
	if !slices.Equal(w.leaving(), []string{"a"}) {
		t.Errorf("it answers again: leaving %v, %s", w.leaving(), w.condition("RemediationAllowed").Message)
	}
}

// TestSafetyClusterExchangedInPass: another cluster answers after the plan was made, before it
// is carried out.
func TestSafetyClusterExchangedInPass(t *testing.T) {
	machines, nodes := recorded("ours", "a", "b", "c", "d")
	w := newWorld(t, slices.Concat(machines, nodes[1:], []client.Object{kubeSystem("ours"), checkOf(all)})...)
	w.identified()
	w.refuses = func(verb string, o client.Object) error {
		if _, ok := o.(*machinev1.Machine); ok && verb == "get" { // the last look at the machine
			w.step(node.IdentityKept)
			w.r.Identity.Live = newWorld(t, kubeSystem("theirs"))
		}
		return nil
	}
	if _, err := w.r.Reconcile(t.Context(), request("check")); err == nil || w.leaving() != nil {
		t.Errorf("leaving %v, %v", w.leaving(), err)
	}
}
