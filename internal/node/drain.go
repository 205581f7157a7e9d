package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/drain"
)

// memoryKept is how long the attempts on a node's pods are remembered after the
// last look at it. Forgetting them early only means that a pod may be asked
// once more.
const memoryKept = time.Hour

// memory is what is remembered of one node's drain.
type memory struct {
	attempts drain.Attempts
	used     time.Time
}

// Drain looks at the node's pods once, sends the requests that the decision
// allows, and returns what is left. It never waits: ask again after
// Decision.Next. Evict and Delete of the result are the requests that were
// sent; a refusal shows among Blocked.
//
// The pods are read from the cache. Only when that shows none that must go are
// they read once more past it, so that a pod which the cache has not seen yet
// is not lost with its node. Calls for the same node must not overlap.
//
// An error means that nothing is known, or that a request failed for another
// reason than a refusal; the next call goes on.
func (c *Cluster) Drain(ctx context.Context, n *corev1.Node, p drain.Policy) (drain.Decision, error) {
	if c == nil || n == nil {
		return drain.Decision{Done: true}, nil
	}
	d, err := c.drain(ctx, c.Client, n, p)
	if err == nil && d.Done {
		c.forget(n.UID) // a live list needs no telling which pods are gone
		d, err = c.drain(ctx, c.Live, n, p)
	}
	if err == nil && d.Done {
		c.forget(n.UID)
	}
	return d, err
}

// Vacant reports whether the node has no pod that a drain would have to move.
// It changes nothing. That there is none is believed only of a live list.
func (c *Cluster) Vacant(ctx context.Context, n *corev1.Node, p drain.Policy) (bool, error) {
	if c == nil || n == nil {
		return true, nil
	}
	for _, r := range []client.Reader{c.Client, c.Live} {
		var pods corev1.PodList
		if err := r.List(ctx, &pods, client.MatchingFields{PodNodeIndex: n.Name}); err != nil {
			return false, fmt.Errorf("listing the pods of node %s: %w", n.Name, err)
		}
		if !drain.Decide(c.Clock.Now(), pods.Items, nil, nil, p).Done {
			return false, nil
		}
	}
	return true, nil
}

// drain makes one pass over the pods that the reader shows.
func (c *Cluster) drain(ctx context.Context, r client.Reader, n *corev1.Node, p drain.Policy) (drain.Decision, error) {
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.MatchingFields{PodNodeIndex: n.Name}); err != nil {
		return drain.Decision{}, fmt.Errorf("listing the pods of node %s: %w", n.Name, err)
	}
	now := c.Clock.Now()
	attempts := c.recall(n.UID, pods.Items, now)
	asked := drain.Decide(now, pods.Items, nil, attempts, p)

	failed := c.request(ctx, now, asked, attempts)
	c.remember(n.UID, attempts, now)

	var budgets []policyv1.PodDisruptionBudget
	left := drain.Decide(now, pods.Items, nil, attempts, p)
	if len(left.Blocked) > 0 {
		var err error
		if budgets, err = c.budgets(ctx, left.Blocked); err != nil {
			return left, errors.Join(failed, err)
		}
		left = drain.Decide(now, pods.Items, budgets, attempts, p)
	}
	left.Evict, left.Delete = asked.Evict, asked.Delete
	return left, failed
}

// request sends the requests of a decision and notes what came of each.
func (c *Cluster) request(ctx context.Context, now time.Time, d drain.Decision, attempts drain.Attempts) error {
	var failed []error
	for _, t := range d.Evict {
		err := c.evict(ctx, t)
		attempts[t.UID] = noted(attempts[t.UID], now, err)
		failed = append(failed, unexpected(err, "evicting", t))
	}
	for _, t := range d.Delete {
		err := c.deletePod(ctx, t)
		attempts[t.UID] = noted(attempts[t.UID], now, err)
		failed = append(failed, unexpected(err, "deleting", t))
	}
	return errors.Join(failed...)
}

func (c *Cluster) evict(ctx context.Context, t drain.Target) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.Pod.Namespace, Name: t.Pod.Name}}
	e := &policyv1.Eviction{
		ObjectMeta: pod.ObjectMeta,
		DeleteOptions: &metav1.DeleteOptions{
			Preconditions:      &metav1.Preconditions{UID: &t.UID},
			GracePeriodSeconds: seconds(t.Grace),
		},
	}
	return c.Client.SubResource("eviction").Create(ctx, pod, e)
}

func (c *Cluster) deletePod(ctx context.Context, t drain.Target) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.Pod.Namespace, Name: t.Pod.Name}}
	return c.Client.Delete(ctx, pod, &client.DeleteOptions{
		Preconditions:      &metav1.Preconditions{UID: &t.UID},
		GracePeriodSeconds: seconds(t.Grace),
	})
}

func seconds(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	s := int64((*d + time.Second - 1) / time.Second)
	return &s
}

// noted adds the answer to a request to what is known of the pod. A conflict
// means that another pod has its name, or that the budget was written at the
// same moment; the next look at the pods tells which.
func noted(a drain.Attempt, now time.Time, err error) drain.Attempt {
	a.At = now
	switch {
	case err == nil:
		a.Accepted, a.Reply, a.Since, a.Refusals = true, "", time.Time{}, 0
		return a
	case apierrors.IsNotFound(err):
		a.Gone = true
		return a
	}
	a.Accepted, a.Reply = false, err.Error()
	if a.Since.IsZero() {
		a.Since = now
	}
	if byBudget(err) {
		a.Refusals++
	}
	return a
}

// byBudget tells a refusal by a disruption budget from an API server that is
// busy; both are status 429.
func byBudget(err error) bool {
	return apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)
}

// unexpected leaves out the answers that a drain knows how to take. Several
// budgets for one pod are refused with status 500.
func unexpected(err error, doing string, t drain.Target) error {
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsTooManyRequests(err):
		return nil
	case apierrors.IsInternalError(err) && strings.Contains(err.Error(), "more than one PodDisruptionBudget"):
		return nil
	}
	return fmt.Errorf("%s pod %s: %w", doing, t.Pod, err)
}

// budgets are those of the namespaces of the blocked pods.
func (c *Cluster) budgets(ctx context.Context, blocked []drain.Blocker) ([]policyv1.PodDisruptionBudget, error) {
	var out []policyv1.PodDisruptionBudget
	seen := map[string]bool{}
	for _, b := range blocked {
		if seen[b.Pod.Namespace] {
			continue
		}
		seen[b.Pod.Namespace] = true
		var list policyv1.PodDisruptionBudgetList
		if err := c.Client.List(ctx, &list, client.InNamespace(b.Pod.Namespace)); err != nil {
			return nil, fmt.Errorf("listing disruption budgets in %s: %w", b.Pod.Namespace, err)
		}
		out = append(out, list.Items...)
	}
	return out, nil
}

// recall returns what is remembered of the pods that are still there.
func (c *Cluster) recall(node types.UID, pods []corev1.Pod, now time.Time) drain.Attempts {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := drain.Attempts{}
	for _, p := range pods {
		if a, ok := c.memory[node].attempts[p.UID]; ok {
			out[p.UID] = a
		}
	}
	for uid, m := range c.memory {
		if now.Sub(m.used) > memoryKept {
			delete(c.memory, uid)
		}
	}
	return out
}

func (c *Cluster) remember(node types.UID, attempts drain.Attempts, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.memory == nil {
		c.memory = map[types.UID]memory{}
	}
	c.memory[node] = memory{attempts: attempts, used: now}
}

func (c *Cluster) forget(node types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.memory, node)
}
