package termination

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

var (
	none    = interruption.Report{Clear: map[interruption.Kind]bool{interruption.Termination: true, interruption.Rebalance: true, interruption.Maintenance: true}}
	going   = interruption.Report{Notices: []interruption.Notice{{Kind: interruption.Termination, Action: "terminate", At: begin.Add(2 * time.Minute)}}}
	errDark = errors.New("the metadata service is away")
)

// marked is the condition of spec section 10, since a time.
func marked(since time.Time) corev1.NodeCondition {
	at := metav1.NewTime(since)
	return corev1.NodeCondition{
		Type: "Terminating", Status: "True", Reason: "TerminationRequested",
		Message:           "The cloud provider has marked this instance for termination",
		LastHeartbeatTime: at, LastTransitionTime: at,
	}
}

func (w *world) expect(reason string, want corev1.NodeCondition) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.condition("Terminating")); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

// At rest the metadata service is asked every 5 seconds, the first time at
// once, and the API server not at all.
func TestRest(t *testing.T) {
	w := start(t, func(w *world) { w.says(none, nil) })
	if got := w.looked(); got != 1 {
		t.Fatalf("%d looks at the start, want 1", got)
	}
	w.pass(10 * time.Minute)
	if got := w.looked(); got != 121 {
		t.Errorf("%d looks in ten minutes, want 121", got)
	}
	if gets, patches := w.calls(); gets != 1 || patches != 0 {
		t.Errorf("%d reads and %d writes of the node, want 1 and 0: the first look may find what an earlier process left", gets, patches)
	}
	if err := w.watcher.Ready(); err != nil {
		t.Error(err)
	}
}

func TestNotice(t *testing.T) {
	w := start(t, func(w *world) { w.says(none, nil) })
	w.says(going, nil)
	w.pass(5 * time.Second)
	w.expect("10: the condition, exactly", marked(begin.Add(5*time.Second)))
	if got := w.node.Annotations; got[interruption.DeadlineAnnotation] != "2026-11-21T10:02:00Z" || got["mine"] != "stays" {
		t.Errorf("annotations are %v", got)
	}
	if got := w.condition("Ready").Reason; got != "KubeletReady" {
		t.Errorf("the kubelet's condition has become %q", got)
	}
	w.pass(50 * time.Second)
	if w.ended() {
		t.Error("the watcher ended with the notice, as the original does")
	}
	if gets, patches := w.calls(); patches != 1 || gets != 2 {
		t.Errorf("%d reads, %d writes for one notice, want 2 and 1", gets, patches)
	}
}

// The original ends at the first error of either side.
func TestKeepsOn(t *testing.T) {
	w := start(t, func(w *world) { w.says(interruption.Report{}, errDark) })
	if err := w.watcher.Ready(); err == nil || !strings.Contains(err.Error(), "away") {
		t.Errorf("ready although nothing was answered: %v", err)
	}
	w.pass(time.Hour)
	if w.ended() {
		t.Fatal("it has ended")
	}
	if gets, patches := w.calls(); gets+patches != 0 {
		t.Errorf("%d reads and %d writes although nothing was learned", gets, patches)
	}
	w.says(going, nil)
	w.pass(5 * time.Second)
	w.expect("an hour later", marked(begin.Add(time.Hour+5*time.Second)))
	if err := w.watcher.Ready(); err != nil {
		t.Error(err)
	}
}

// A notice that cannot be reported is retried every second, also when the metadata service is unavailable by
// then.
func TestRetriesWriting(t *testing.T) {
	refused := errors.New("the API server is away")
	w := start(t, func(w *world) {
		w.says(going, nil)
		w.patchErr = refused
	})
	w.says(interruption.Report{}, errDark)
	w.pass(10 * time.Second)
	if _, patches := w.calls(); patches != 11 {
		t.Errorf("%d attempts in ten seconds, want 11", patches)
	}
	if err := w.watcher.Ready(); err == nil || !strings.Contains(err.Error(), refused.Error()) {
		t.Errorf("ready is %v", err)
	}
	w.change(func(c *cluster) { c.patchErr = nil })
	w.pass(time.Second)
	w.expect("it is told at last", marked(begin.Add(11*time.Second)))
	for _, hold := range w.holds[1:] {
		if hold != 0 {
			t.Errorf("a look waited up to %s for news while a notice was not told yet", hold)
		}
	}
}

// A failed answer is not read as "no notice any more".
func TestDarknessWithdrawsNothing(t *testing.T) {
	w := start(t, func(w *world) { w.says(going, nil) })
	w.says(interruption.Report{}, errDark)
	w.pass(30 * time.Minute)
	w.expect("half an hour of darkness", marked(begin))
	w.says(none, nil)
	w.pass(5 * time.Second)
	got := w.condition("Terminating")
	if got.Status != "False" || got.Reason != interruption.ReasonWithdrawn || w.node.Annotations[interruption.DeadlineAnnotation] != "" {
		t.Errorf("the cloud took it back, and the node says %v, %v", got, w.node.Annotations)
	}
}

// What an earlier process told, ours or the original's, is taken back by the
// first look that finds nothing: the instance was started again.
func TestLeftovers(t *testing.T) {
	w := start(t, func(w *world) {
		w.node.Status.Conditions = append(w.node.Status.Conditions, marked(begin.Add(-time.Hour)))
		w.says(none, nil)
	})
	if got := w.condition("Terminating"); got.Status != "False" {
		t.Errorf("the node says %v", got)
	}
}

// Who takes the condition off a doomed node, or makes the node again, gets it
// back within a minute.
func TestTellsAgain(t *testing.T) {
	w := start(t, func(w *world) { w.says(going, nil) })
	w.change(func(c *cluster) { c.node.UID, c.node.Status.Conditions = "u2", nil })
	w.pass(70 * time.Second)
	if got := w.condition("Terminating"); got.Status != "True" {
		t.Errorf("the node says %v", got)
	}
}

// After the deletion of the node there is nothing to report, and no reason to stay; a node that is created
// again gets the report.
func TestNodeIsGone(t *testing.T) {
	gone := apierrors.NewNotFound(corev1.Resource("nodes"), "n")
	w := start(t, func(w *world) {
		w.says(going, nil)
		w.getErr = gone
	})
	w.pass(10 * time.Second)
	if gets, _ := w.calls(); gets != 3 {
		t.Errorf("%d reads of a node that is gone in 10 seconds, want one with each of 3 looks", gets)
	}
	w.change(func(c *cluster) { c.getErr = nil })
	w.pass(5 * time.Second)
	w.expect("it is back", marked(begin.Add(15*time.Second)))
	w.change(func(c *cluster) { c.getErr = gone })
	w.pass(2 * time.Minute)
	w.stop()
	<-w.done
}

// A withdrawal that cannot be written is tried at the next look.
func TestRetriesWithdrawal(t *testing.T) {
	w := start(t, func(w *world) { w.says(going, nil) })
	w.change(func(c *cluster) { c.patchErr = errDark })
	w.says(none, nil)
	w.pass(10 * time.Second)
	w.expect("not written", marked(begin))
	w.change(func(c *cluster) { c.patchErr = nil })
	w.pass(5 * time.Second)
	if got := w.condition("Terminating"); got.Status != "False" {
		t.Errorf("the node says %v", got)
	}
}

func TestEnd(t *testing.T) {
	t.Run("10: a last look on SIGTERM: nothing", func(t *testing.T) {
		w := start(t, func(w *world) { w.says(none, nil) })
		w.stop()
		<-w.done
		if got := w.looked(); got != 2 {
			t.Errorf("%d looks, want 2", got)
		}
	})
	t.Run("10: a last look on SIGTERM: the notice is told", func(t *testing.T) {
		w := start(t, func(w *world) { w.says(none, nil) })
		w.says(going, nil)
		w.stop()
		<-w.done
		w.expect("told at the end", marked(begin))
		if got := w.holds[len(w.holds)-1]; got != 0 {
			t.Errorf("the last look waits up to %s for news", got)
		}
	})
}

func TestEndWhileTheNodeCannotBeWritten(t *testing.T) {
	t.Run("10: tried every second, for 30", func(t *testing.T) {
		w := start(t, func(w *world) {
			w.says(none, nil)
			w.patchErr = errDark
		})
		w.says(going, nil)
		w.end()
		w.pass(29 * time.Second)
		if _, patches := w.calls(); patches != 30 || w.ended() {
			t.Errorf("%d attempts in 29 seconds, want 30; ended is %v", patches, w.ended())
		}
		w.pass(2 * time.Second)
		if !w.ended() {
			t.Error("it does not give up")
		}
	})
	t.Run("told while it tries", func(t *testing.T) {
		w := start(t, func(w *world) {
			w.says(none, nil)
			w.patchErr = errDark
		})
		w.says(going, nil)
		w.end()
		w.change(func(c *cluster) { c.patchErr = nil })
		w.pass(time.Second)
		<-w.done
		w.expect("told at the end", marked(begin.Add(time.Second)))
	})
	t.Run("what is known is told first, and then nothing needs to be asked", func(t *testing.T) {
		w := start(t, func(w *world) {
			w.says(going, nil)
			w.patchErr = errDark
		})
		looks := w.looked()
		w.end()
		w.pass(2 * time.Second)
		w.change(func(c *cluster) { c.patchErr = nil })
		w.pass(time.Second)
		<-w.done
		w.expect("told at the end", marked(begin.Add(3*time.Second)))
		if got := w.looked() - looks; got > 0 {
			t.Errorf("%d looks more, although it is known that the instance goes", got)
		}
	})
}

// A look that does not come back is not waited for, and not believed either.
func TestEndInTheMiddleOfALook(t *testing.T) {
	w := start(t, func(w *world) { w.says(none, nil) })
	w.cloud.mu.Lock()
	w.block = make(chan struct{})
	w.cloud.mu.Unlock()
	w.clock.Step(5 * time.Second)
	for w.looked() < 2 {
		time.Sleep(time.Millisecond)
	}
	w.cloud.mu.Lock()
	w.block = nil
	w.cloud.mu.Unlock()
	w.says(going, nil)
	w.stop()
	<-w.done
	w.expect("the last look is one of its own", marked(begin.Add(5*time.Second)))
}

func TestLive(t *testing.T) {
	w := start(t, func(w *world) { w.says(none, nil) })
	if err := w.watcher.Live(); err != nil {
		t.Error(err)
	}
	w.cloud.mu.Lock()
	w.block = make(chan struct{})
	w.cloud.mu.Unlock()
	w.clock.Step(5 * time.Second)
	for w.looked() < 2 {
		time.Sleep(time.Millisecond)
	}
	w.clock.Step(150 * time.Second)
	if err := w.watcher.Live(); err != nil {
		t.Error("Azure's first answer may take that long:", err)
	}
	w.clock.Step(5 * time.Minute)
	if err := w.watcher.Live(); err == nil {
		t.Error("it hangs, and calls itself alive")
	}
	close(w.block)
}

func TestMetrics(t *testing.T) {
	w := start(t, func(w *world) { w.says(going, nil) })
	w.says(interruption.Report{}, errDark)
	w.pass(5 * time.Second)
	families, err := w.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "millwright_termination_handler_")
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	want := map[string]float64{
		"last_answer_timestamp_seconds": float64(begin.Unix()),
		"looks_total error":             1,
		"looks_total success":           1,
		"node_writes_total success":     1,
		"notices Maintenance":           0,
		"notices Rebalance":             0,
		"notices Termination":           1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestCloudByNode(t *testing.T) {
	clouds := Clouds{}
	for _, name := range []string{"aws", "azure", "gcp"} {
		clouds[name] = func() Source { return &cloud{err: errors.New("this is " + name)} }
	}
	cases := []struct{ reason, id, want string }{
		{"AWS", "aws:///eu-west-1a/i-1", "this is aws"},
		{"AWS without a zone, as the other API writes it", "aws:///eu-west-1/i-1", "this is aws"},
		{"Azure", "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm", "this is azure"},
		{"GCP", "gce://project/europe-west1-b/vm", "this is gcp"},
		{"a cloud without notices", "openstack:///uuid", "names none of aws, azure, gcp"},
		{"not known yet", "", "names none of aws, azure, gcp"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			nodes := newCluster()
			nodes.node.Spec.ProviderID = c.id
			_, err := (&ByNode{Clouds: clouds, Nodes: nodes, Node: "n"}).Look(t.Context(), 0)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", c.reason, err, c.want)
			}
		})
	}

	nodes := newCluster()
	nodes.getErr = errDark
	by := &ByNode{Clouds: clouds, Nodes: nodes, Node: "n"}
	if _, err := by.Look(t.Context(), 0); !errors.Is(err, errDark) {
		t.Errorf("the API server is away: %v", err)
	}
	nodes.getErr = nil
	for range 3 {
		_, _ = by.Look(t.Context(), 0)
	}
	if nodes.gets != 2 {
		t.Errorf("the node was asked %d times, want twice: until it has said", nodes.gets)
	}
}
