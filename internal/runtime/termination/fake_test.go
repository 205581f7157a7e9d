package termination

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	testclock "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

var begin = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// cloud is a metadata service: it returns the configured answers.
type cloud struct {
	mu     sync.Mutex
	report interruption.Report
	err    error
	looks  int
	holds  []time.Duration
	// block, if it is set, is read by a look before it answers.
	block chan struct{}
}

func (c *cloud) Look(ctx context.Context, hold time.Duration) (interruption.Report, error) {
	c.mu.Lock()
	c.looks++
	c.holds = append(c.holds, hold)
	block := c.block
	c.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return interruption.Report{}, ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report, c.err
}

func (c *cloud) says(r interruption.Report, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report, c.err = r, err
}

func (c *cloud) looked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looks
}

// cluster has one node, and patches it as an API server does.
type cluster struct {
	mu            sync.Mutex
	node          *corev1.Node
	gets, patches int
	getErr        error
	patchErr      error
}

func newCluster() *cluster {
	return &cluster{node: &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u1", Annotations: map[string]string{"mine": "stays"}},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-west-1a/i-1"},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "True", Reason: "KubeletReady"}}},
	}}
}

func (c *cluster) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gets++
	if c.getErr != nil {
		return nil, c.getErr
	}
	if name != c.node.Name {
		return nil, errors.New("there is no node " + name)
	}
	return c.node.DeepCopy(), nil
}

func (c *cluster) Patch(_ context.Context, name string, pt types.PatchType, data []byte, _ metav1.PatchOptions, sub ...string) (*corev1.Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.patches++
	if c.patchErr != nil {
		return nil, c.patchErr
	}
	var meta struct {
		Metadata struct {
			UID types.UID `json:"uid"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return nil, err
	}
	if name != c.node.Name || pt != types.StrategicMergePatchType || len(sub) != 1 || sub[0] != "status" || meta.Metadata.UID != c.node.UID {
		return nil, errors.New("an API server would refuse this patch: " + string(data))
	}
	before, err := json.Marshal(c.node)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, data, &corev1.Node{})
	if err != nil {
		return nil, err
	}
	c.node = &corev1.Node{}
	if err := json.Unmarshal(after, c.node); err != nil {
		return nil, err
	}
	return c.node.DeepCopy(), nil
}

// change alters what the API server has and does.
func (c *cluster) change(f func(c *cluster)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

// condition is the node's; the zero one where it has none.
func (c *cluster) condition(is corev1.NodeConditionType) corev1.NodeCondition {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, condition := range c.node.Status.Conditions {
		if condition.Type == is {
			return condition
		}
	}
	return corev1.NodeCondition{}
}

func (c *cluster) calls() (gets, patches int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gets, c.patches
}

// world is a watcher at work on a clock that the test turns.
type world struct {
	*cloud
	*cluster
	watcher *Watcher
	t       *testing.T
	clock   *testclock.FakeClock
	metrics *prometheus.Registry
	stop    context.CancelFunc
	done    chan struct{}
}

// start runs a watcher until it waits for the first time.
func start(t *testing.T, prepare func(w *world)) *world {
	t.Helper()
	w := &world{
		cloud: &cloud{}, cluster: newCluster(), t: t, clock: testclock.NewFakeClock(begin),
		metrics: prometheus.NewRegistry(), done: make(chan struct{}),
	}
	if prepare != nil {
		prepare(w)
	}
	w.watcher = New(Options{
		Source: w.cloud, Nodes: w.cluster, Node: "n", Clock: w.clock, Interval: 5 * time.Second,
		Log: testr.New(t), Metrics: NewMetrics(w.metrics),
	})
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	go func() { defer close(w.done); w.watcher.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for {
			select {
			case <-w.done:
				return
			default:
				w.clock.Step(time.Second) // whatever the farewell waits for
				time.Sleep(time.Millisecond)
			}
		}
	})
	w.settle()
	return w
}

// settle waits until the watcher waits for the clock, or has ended.
func (w *world) settle() {
	w.t.Helper()
	for range 100_000 {
		select {
		case <-w.done:
			return
		default:
		}
		if w.clock.HasWaiters() {
			return
		}
		time.Sleep(50 * time.Microsecond)
	}
	w.t.Fatal("the watcher does not come to rest")
}

// pass lets time go by, a second at a time, as far as the watcher waits for it.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	for ; d > 0; d -= time.Second {
		w.clock.Step(time.Second)
		w.settle()
	}
}

// end tells the watcher to end, and waits until it has looked or tried to write
// once more.
func (w *world) end() {
	w.t.Helper()
	done := func() int { _, patches := w.calls(); return w.looked() + patches }
	before := done()
	w.stop()
	for done() == before {
		time.Sleep(50 * time.Microsecond)
	}
	w.settle()
}

func (w *world) ended() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}
