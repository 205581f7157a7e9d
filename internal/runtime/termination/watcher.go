// Package termination watches for notices that a cloud gives about the
// instance it runs on, and tells them on the instance's node.
//
// It keeps on: a metadata service or an API server that is away is asked again,
// and what was noticed is not forgotten meanwhile. What follows from a notice
// is decided in internal/engine/interruption, and what is done about the node by the
// machine health checks that look for its conditions.
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

// Source asks one cloud.
type Source interface {
	// Look reports what is announced. It may wait up to hold for news. The
	// error says what could not be learned; the report has what could.
	Look(ctx context.Context, hold time.Duration) (interruption.Report, error)
}

// Nodes is what is needed of the client of nodes.
type Nodes interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Node, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*corev1.Node, error)
}

// Options are what a watcher needs. All are required but Metrics.
type Options struct {
	Source Source
	Nodes  Nodes
	// Node is the name of the node whose instance this is.
	Node  string
	Clock clock.Clock
	// Interval is the time from one look to the next.
	Interval time.Duration
	Log      logr.Logger
	Metrics  *Metrics
}

const (
	// retry is the time between two attempts to write a notice to the node:
	// instances have as little as 30 s.
	retry = time.Second
	// farewell is how long the watcher still tries that once it was told to
	// end. An instance that goes ends its processes first.
	farewell = 30 * time.Second
	// remember is how long the node is believed to be as it was seen, while it
	// says something of ours.
	remember = time.Minute
	// stuck is how much longer than the interval a turn may take: the longest
	// answer of a metadata service takes 150 s.
	stuck = 4 * time.Minute
)

// Watcher watches one instance.
type Watcher struct {
	Options
	known interruption.Report
	// node is the node as it was seen or written last, at seen; nil before.
	node *interruption.Node
	seen time.Time
	// pending says that a notice is not on the node yet.
	pending bool
	told    map[string]string

	mu      sync.Mutex
	turned  time.Time
	trouble error
}

// New makes a watcher.
func New(o Options) *Watcher {
	w := &Watcher{Options: o, told: map[string]string{}, trouble: errors.New("the metadata service was not asked yet")}
	w.turned = o.Clock.Now()
	return w
}

// Run watches until ctx is done. Then it looks a last time, and ends when there
// is nothing left to tell, at the latest after 30 seconds.
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

// hold is how long a look may wait for news.
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
	// What is known is told before anything else is asked.
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

// lastLook does not wait as long for an answer as there is time to tell it.
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

// look asks the cloud and adds what it says to what is known.
func (w *Watcher) look(ctx context.Context, hold time.Duration) error {
	r, err := w.Source.Look(ctx, hold)
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil // it was not the service that ended the look
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

// apply brings the node in step with what is known.
func (w *Watcher) apply(ctx context.Context) error {
	wrote, err := w.write(ctx)
	// A node that is gone has nobody to be told.
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

// outdated reports whether the node has to be read again: what stands on it, or
// has to, may have been taken away. At rest nothing does, and nothing is read.
func (w *Watcher) outdated() bool {
	return (w.node.Stands() || len(w.known.Notices) > 0) && w.Clock.Now().Sub(w.seen) >= remember
}

// patchOf is a strategic merge patch: conditions are merged by type, so that
// the kubelet's own are neither lost nor held up. It holds for this very node,
// not for another one that has taken its name.
func patchOf(n *corev1.Node, c interruption.Change) ([]byte, error) {
	meta, body := map[string]any{"uid": n.UID}, map[string]any{}
	if c.Deadline != nil {
		var value any // null takes an annotation away
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

// tell logs what is wrong with one of the two sides when that changes: a
// service that is away for an hour is asked 720 times.
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

// turn records that a turn is over, and what was wrong.
func (w *Watcher) turn(trouble error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turned, w.trouble = w.Clock.Now(), trouble
}

// Live fails when the watcher does not go on any more.
func (w *Watcher) Live() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if age := w.Clock.Now().Sub(w.turned); age > w.Interval+stuck {
		return fmt.Errorf("the last turn ended %s ago", age.Round(time.Second))
	}
	return nil
}

// Ready fails unless the last turn could do all it had to.
func (w *Watcher) Ready() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trouble
}
