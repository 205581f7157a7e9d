// Package termination watches for a cloud's notices about the instance it runs on, and reports them on the
// instance's node.
//
// It keeps trying: an unavailable metadata service or API server is called again, and a notice is not
// forgotten meanwhile. The consequences of a notice are decided in internal/engine/interruption; machine
// health checks act on the conditions of the node.
package termination

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

// Source reads the notices of one cloud.
type Source interface {
	// Look returns the notices. It may wait up to hold for news. The error names the unknown facts; the
	// report has the known ones.
	Look(ctx context.Context, hold time.Duration) (interruption.Report, error)
}

// Nodes is the part of the client of nodes that a watcher needs.
type Nodes interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Node, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*corev1.Node, error)
}

// Options are the inputs of a watcher. All but Metrics are required.
type Options struct {
	Source Source
	Nodes  Nodes
	// Node is the name of the node whose instance this is.
	Node  string
	Clock clock.Clock
	// Interval is the time between two reads of the metadata service.
	Interval time.Duration
	Log      logr.Logger
	Metrics  *Metrics
}

const (
	// retry is the time between two attempts to write a notice to the node: instances have as little as 30 s.
	retry = time.Second
	// farewell is how long the watcher still tries that after it was asked to end. An instance ends its
	// processes before it terminates.
	farewell = 30 * time.Second
	// remember is how long the last observation of the node is used while the node has one of our conditions.
	remember = time.Minute
	// stuck is how much longer than the interval a turn may take: the longest answer of a metadata service
	// takes 150 s.
	stuck = 4 * time.Minute
)

// Watcher watches one instance.
type Watcher struct {
	Options
	known interruption.Report
	// node is the node as it was read or written last, at seen; nil before.
	node *interruption.Node
	seen time.Time
	// pending says that a notice is not on the node yet.
	pending bool
	told    map[string]string

	mu      sync.Mutex
	turned  time.Time
	trouble error
}

// New returns a watcher.
func New(o Options) *Watcher {
	w := &Watcher{Options: o, told: map[string]string{}, trouble: errors.New("the metadata service was not asked yet")}
	w.turned = o.Clock.Now()
	return w
}

// Run watches until ctx is done. Then it reads the notices a last time, and ends when all are reported, at
// the latest after 30 seconds.
func (w *Watcher) Run(ctx context.Context) {
	var due time.Time
	for ctx.Err() == nil {
		now := w.Clock.Now()
		var trouble error
		if !now.Before(due) {
			due = now.Add(w.Interval)
			trouble = w.look(ctx, w.hold())
		}
		if ctx.Err() == nil {
			w.turn(errors.Join(trouble, w.apply(ctx)))
		}
		next := due
		if again := w.Clock.Now().Add(retry); w.pending && again.Before(next) {
			next = again
		}
		w.wait(ctx, next)
	}
	w.farewell(context.WithoutCancel(ctx))
}

// hold returns how long a read may wait for news.
func (w *Watcher) hold() time.Duration {
	if w.pending {
		return 0
	}
	return w.Interval
}

func (w *Watcher) farewell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	end := w.Clock.Now().Add(farewell)
	// Known notices are reported before the next request.
	trouble := w.apply(ctx)
	if !w.pending {
		trouble = w.lastLook(ctx)
	}
	for {
		w.turn(errors.Join(trouble, w.apply(ctx)))
		if !w.pending {
			return
		}
		next := w.Clock.Now().Add(retry)
		if next.After(end) || ctx.Err() != nil {
			w.Log.Info("Ending although the node does not have the notice", "node", w.Node)
			return
		}
		w.wait(ctx, next)
	}
}

// lastLook leaves time to report the answer.
func (w *Watcher) lastLook(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, farewell/3)
	defer cancel()
	return w.look(ctx, 0)
}

// wait returns at t, or when ctx is done.
func (w *Watcher) wait(ctx context.Context, t time.Time) {
	timer := w.Clock.NewTimer(t.Sub(w.Clock.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// look reads the notices and merges them with the known ones.
func (w *Watcher) look(ctx context.Context, hold time.Duration) error {
	r, err := w.Source.Look(ctx, hold)
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil // it was not the service that ended the request
	}
	w.Metrics.looked(err, w.Clock.Now())
	w.known = interruption.Merge(w.known, r)
	w.Metrics.knows(w.known)
	if err != nil {
		err = fmt.Errorf("ask the metadata service: %w", err)
	}
	w.tell("metadata", err)
	return err
}

// apply updates the node by the known notices.
func (w *Watcher) apply(ctx context.Context) error {
	wrote, err := w.write(ctx)
	// A deleted node needs no report.
	w.pending = err != nil && !apierrors.IsNotFound(err) && len(w.known.Notices) > 0
	if wrote || err != nil {
		w.Metrics.wrote(err)
	}
	if err != nil {
		err = fmt.Errorf("tell it on node %s: %w", w.Node, err)
	}
	w.tell("node", err)
	return err
}

func (w *Watcher) write(ctx context.Context) (wrote bool, err error) {
	if w.node != nil && !w.outdated() && w.change().None() {
		return false, nil
	}
	if w.known.Empty() {
		return false, nil
	}
	n, err := w.Nodes.Get(ctx, w.Node, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	w.believe(n)
	change := w.change()
	if change.None() {
		return false, nil
	}
	patch, err := patchOf(n, change)
	if err != nil {
		return false, err
	}
	after, err := w.Nodes.Patch(ctx, w.Node, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "termination-handler"}, "status")
	if err != nil {
		return false, err
	}
	w.believe(after)
	for _, c := range change.Conditions {
		w.Log.Info("Told on the node", "node", w.Node, "condition", c.Type, "status", c.Status, "reason", c.Reason, "message", c.Message)
	}
	return true, nil
}

func (w *Watcher) change() interruption.Change {
	return interruption.Decide(w.Clock.Now(), *w.node, w.known)
}

func (w *Watcher) believe(n *corev1.Node) {
	node := interruption.NodeOf(n)
	w.node, w.seen = &node, w.Clock.Now()
}

// outdated reports whether the node has to be read again: its conditions, or those that it should have, may
// have been removed. Without notices it has none of our conditions, and is not read.
func (w *Watcher) outdated() bool {
	return (w.node.Stands() || len(w.known.Notices) > 0) && w.Clock.Now().Sub(w.seen) >= remember
}

// patchOf returns a strategic merge patch: conditions are merged by type, so that the kubelet's own are
// neither lost nor delayed. It applies to this node only, not to another one of the same name.
func patchOf(n *corev1.Node, c interruption.Change) ([]byte, error) {
	meta, body := map[string]any{"uid": n.UID}, map[string]any{}
	if c.Deadline != nil {
		var value any // null removes an annotation
		if *c.Deadline != "" {
			value = *c.Deadline
		}
		meta["annotations"] = map[string]any{interruption.DeadlineAnnotation: value}
	}
	if len(c.Conditions) > 0 {
		body["status"] = map[string]any{"conditions": c.Conditions}
	}
	body["metadata"] = meta
	return json.Marshal(body)
}

// tell logs a problem of one of the two sides when it changes: a service that is unavailable for an hour is
// called 720 times.
func (w *Watcher) tell(side string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == w.told[side] {
		return
	}
	w.told[side] = text
	if err != nil {
		w.Log.Error(err, "Trying again", "side", side)
		return
	}
	w.Log.Info("It works again", "side", side)
}

// turn records that a turn is over, and its problem.
func (w *Watcher) turn(trouble error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turned, w.trouble = w.Clock.Now(), trouble
}

// Live fails if the watcher is blocked.
func (w *Watcher) Live() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if age := w.Clock.Now().Sub(w.turned); age > w.Interval+stuck {
		return fmt.Errorf("the last turn ended %s ago", age.Round(time.Second))
	}
	return nil
}

// Ready fails unless the last turn was successful.
func (w *Watcher) Ready() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trouble
}
