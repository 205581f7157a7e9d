package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/drain"
)

// memoryKept is how long the attempts on a node's pods are remembered after the last observation of the node.
// Forgetting them early only means that a pod may be evicted once more.
const memoryKept = time.Hour

// memory is the memory of one node's drain.
type memory struct {
	drain.Memory
	node string
	used time.Time
	// refused are the namespaces in which a budget refused a pod.
	refused map[string]bool
}

// keyOf returns the key of a node's drain: its UID, or its name if the node itself does not exist any more.
func keyOf(n *corev1.Node) types.UID { return cmp.Or(n.UID, types.UID("node/"+n.Name)) }

// Drain observes the node's pods and their volumes once, sends the requests that the decision allows, and
// returns what is left. It never waits: call it again after Decision.Next. Evict, Delete and Detach of the
// result are the requests that were sent; a refusal appears among Blocked. The first call returns the
// foreseen obstacles in Obstacles.
//
// The pods are read from the cache. Only if it shows no pod that has to leave are they read once more past
// it, so that a pod that is not in the cache yet is not lost with its node. Calls for the same node must not
// overlap.
//
// A node without a UID stands for one that does not exist any more: pods bound to its name are treated in the
// same way.
//
// An error means that the state is unknown, or that a request failed for a reason other than a refusal; the
// next call continues.
func (c *Cluster) Drain(ctx context.Context, n *corev1.Node, p drain.Policy) (drain.Decision, error) {
	if c == nil || n == nil {
		return drain.Decision{Done: true}, nil
	}
	d, err := c.drain(ctx, c.Client, n, p)
	if err == nil && d.Done {
		c.doubt(keyOf(n)) // a live list shows which pods are deleted
		began := d.Began
		d, err = c.drain(ctx, c.Live, n, p)
		d.Began = d.Began || began
	}
	if err == nil && d.Done {
		c.forget(keyOf(n))
	}
	return d, err
}

// Vacant reports whether the node has no pod that a drain would have to evict, and no volume that it would
// wait for. It changes nothing. Only a live list proves that there is no pod.
func (c *Cluster) Vacant(ctx context.Context, n *corev1.Node, p drain.Policy) (bool, error) {
	if c == nil || n == nil {
		return true, nil
	}
	for _, r := range []client.Reader{c.Client, c.Live} {
		f, err := c.look(ctx, r, n, p)
		if err != nil || !drain.Decide(c.Clock.Now(), f, drain.Memory{}, p).Done {
			return false, err
		}
	}
	return true, nil
}

// Foresee returns the obstacles of a drain of the node. It changes nothing, and may be called for any node.
func (c *Cluster) Foresee(ctx context.Context, n *corev1.Node, p drain.Policy) ([]drain.Obstacle, error) {
	if c == nil || n == nil {
		return nil, nil
	}
	f, err := c.look(ctx, c.Client, n, p)
	if err != nil {
		return nil, err
	}
	return c.foresee(ctx, f, p)
}

func (c *Cluster) foresee(ctx context.Context, f drain.Facts, p drain.Policy) ([]drain.Obstacle, error) {
	var err error
	if f.Budgets, err = c.budgets(ctx, podsOf(f.Pods)); err != nil {
		return nil, err
	}
	return drain.Foresee(f, p), nil
}

func podsOf(pods []corev1.Pod) []types.NamespacedName {
	out := make([]types.NamespacedName, len(pods))
	for i := range pods {
		out[i] = client.ObjectKeyFromObject(&pods[i])
	}
	return out
}

// look reads the node's pods from r, and their volumes if the policy concerns them.
func (c *Cluster) look(ctx context.Context, r client.Reader, n *corev1.Node, p drain.Policy) (drain.Facts, error) {
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.MatchingFields{PodNodeIndex: n.Name}); err != nil {
		return drain.Facts{}, fmt.Errorf("listing the pods of node %s: %w", n.Name, err)
	}
	f := drain.Facts{Node: n, Pods: pods.Items}
	if !p.VolumesOneByOne && !p.RemoveAttachments {
		return f, nil
	}
	err := c.volumes(ctx, &f)
	return f, err
}

// drain makes one pass over the pods of the reader.
func (c *Cluster) drain(ctx context.Context, r client.Reader, n *corev1.Node, p drain.Policy) (drain.Decision, error) {
	f, err := c.look(ctx, r, n, p)
	if err != nil {
		return drain.Decision{}, err
	}
	now := c.Clock.Now()
	m := c.recall(keyOf(n), f, now)
	if m.Begun.IsZero() {
		if m.Obstacles, err = c.foresee(ctx, f, p); err != nil {
			return drain.Decision{}, err
		}
	}
	if err := c.follow(ctx, &f, m.Seen(now, f, p)); err != nil {
		return drain.Decision{}, err
	}
	if f.Budgets, err = c.budgets(ctx, refused(f.Pods, m.Attempts)); err != nil {
		return drain.Decision{}, err
	}
	asked := drain.Decide(now, f, m, p)
	came, failed := c.request(ctx, now, asked, m.Attempts)
	m = m.After(came).Seen(now, f, p)
	c.remember(n, m, now, refused(f.Pods, m.Attempts))

	left := drain.Decide(now, f, m, p)
	if len(left.Blocked) > 0 {
		if f.Budgets, err = c.budgets(ctx, blockedPods(left)); err != nil {
			return left, errors.Join(failed, err)
		}
		left = drain.Decide(now, f, m, p)
	}
	left.Evict, left.Delete, left.Detach = asked.Evict, asked.Delete, asked.Detach
	if left.Began = asked.Began; left.Began {
		left.Obstacles = asked.Obstacles
	}
	return left, failed
}

// refused returns the pods that a budget refused.
func refused(pods []corev1.Pod, attempts drain.Attempts) (out []types.NamespacedName) {
	for i := range pods {
		if attempts[pods[i].UID].Refusals > 0 {
			out = append(out, client.ObjectKeyFromObject(&pods[i]))
		}
	}
	return out
}

func blockedPods(d drain.Decision) []types.NamespacedName {
	out := make([]types.NamespacedName, len(d.Blocked))
	for i, b := range d.Blocked {
		out[i] = b.Pod
	}
	return out
}

// request sends the requests of a decision and returns the result of each, after the attempts of before.
func (c *Cluster) request(ctx context.Context, now time.Time, d drain.Decision, before drain.Attempts) (came drain.Attempts, err error) {
	came = drain.Attempts{}
	var failed []error
	for _, t := range d.Evict {
		err := c.gone(ctx, t, c.evict(ctx, t))
		a := noted(before[t.UID], now, err)
		a.Evicted = true
		came[t.UID] = a
		failed = append(failed, unexpected(err, "evicting", t))
	}
	for _, t := range d.Delete {
		err := c.gone(ctx, t, c.deletePod(ctx, t))
		a := noted(before[t.UID], now, err)
		a.Evicted = false
		came[t.UID] = a
		failed = append(failed, unexpected(err, "deleting", t))
	}
	for _, a := range d.Detach {
		err := c.detach(ctx, a)
		came[a.UID] = noted(before[a.UID], now, err)
		failed = append(failed, client.IgnoreNotFound(err))
	}
	return came, errors.Join(failed...)
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

// gone returns err, or NotFound if a conflict means that the pod does not exist: another one has its name.
// Otherwise the budget was written at the same moment. A NotFound counts only if a read confirms it: a
// webhook before the request may not have found an object of its own.
func (c *Cluster) gone(ctx context.Context, t drain.Target, err error) error {
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return err
	}
	var now corev1.Pod
	switch lookErr := c.Live.Get(ctx, t.Pod, &now); {
	case apierrors.IsNotFound(lookErr):
		return lookErr
	case lookErr == nil && now.UID != t.UID:
		return apierrors.NewNotFound(corev1.Resource("pods"), t.Pod.Name)
	case apierrors.IsNotFound(err):
		return apierrors.NewForbidden(corev1.Resource("pods"), t.Pod.Name, fmt.Errorf("the API server answers %q, and has the pod", err.Error()))
	}
	return err
}

func seconds(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	s := int64((*d + time.Second - 1) / time.Second)
	return &s
}

// noted adds the answer to a request to the attempt on the pod.
func noted(a drain.Attempt, now time.Time, err error) drain.Attempt {
	a.At = now
	switch {
	case err == nil:
		a.Accepted, a.Unclear, a.Reply, a.Since, a.Refusals = true, false, "", time.Time{}, 0
		return a
	case apierrors.IsNotFound(err):
		a.Gone = true
		return a
	}
	a.Accepted, a.Unclear, a.Reply = false, unclear(err), err.Error()
	if a.Since.IsZero() {
		a.Since = now
	}
	if byBudget(err) {
		a.Refusals++
	}
	return a
}

// byBudget distinguishes a refusal by a disruption budget from a busy API server; both are status 429.
func byBudget(err error) bool {
	return apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)
}

// unclear reports whether a failed request may still have taken effect: it got no answer, or that of a
// failing server.
func unclear(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError && !severalBudgets(err)
}

// severalBudgets: an eviction is refused with status 500 if several budgets cover the pod.
func severalBudgets(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "more than one PodDisruptionBudget")
}

// unexpected returns err unless a drain handles it.
func unexpected(err error, doing string, t drain.Target) error {
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsTooManyRequests(err), severalBudgets(err):
		return nil
	}
	return fmt.Errorf("%s pod %s: %w", doing, t.Pod, err)
}

// budgets returns those of the namespaces of the pods.
func (c *Cluster) budgets(ctx context.Context, pods []types.NamespacedName) ([]policyv1.PodDisruptionBudget, error) {
	var out []policyv1.PodDisruptionBudget
	seen := map[string]bool{"": true}
	for _, p := range pods {
		if seen[p.Namespace] {
			continue
		}
		seen[p.Namespace] = true
		var list policyv1.PodDisruptionBudgetList
		if err := c.Client.List(ctx, &list, client.InNamespace(p.Namespace)); err != nil {
			return nil, fmt.Errorf("listing disruption budgets in %s: %w", p.Namespace, err)
		}
		out = append(out, list.Items...)
	}
	return out, nil
}

// recall returns the memory of the pods and attachments that still exist, and of the volumes.
func (c *Cluster) recall(node types.UID, f drain.Facts, now time.Time) drain.Memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.memory[node].Memory.Of(f)
	for uid, m := range c.memory {
		if now.Sub(m.used) > memoryKept {
			delete(c.memory, uid)
		}
	}
	return out
}

func (c *Cluster) remember(n *corev1.Node, m drain.Memory, now time.Time, refused []types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.memory == nil {
		c.memory = map[types.UID]memory{}
	}
	in := map[string]bool{}
	for _, pod := range refused {
		in[pod.Namespace] = true
	}
	c.memory[keyOf(n)] = memory{Memory: m, node: n.Name, used: now, refused: in}
}

// DrainsRefusedIn returns the nodes with pods of the namespace that a budget refused.
func (c *Cluster) DrainsRefusedIn(namespace string) (out []string) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.memory {
		if m.refused[namespace] {
			out = append(out, m.node)
		}
	}
	slices.Sort(out)
	return out
}

// BudgetOpened reports whether a change of a budget may allow evictions that it refused: it allows more, has
// changed, or was deleted.
func BudgetOpened(before, after *policyv1.PodDisruptionBudget) bool {
	return before != nil && (after == nil || drain.Room(after) > drain.Room(before) || after.Generation != before.Generation)
}

// doubt forgets which pods are deleted.
func (c *Cluster) doubt(node types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.memory[node]
	m.Memory = m.Doubting()
	c.memory[node] = m
}

func (c *Cluster) forget(node types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.memory, node)
}
