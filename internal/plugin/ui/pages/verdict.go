package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/plugin/budgets"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// Verdict says whether a drain of a machine's node would finish now.
type Verdict struct {
	// Finishes says that nothing is in the way: each pod leaves after its grace period.
	Finishes bool   `json:"finishes"`
	Sentence string `json:"sentence"`
	// Leaving pods have to leave. Staying pods are mirror pods and pods of DaemonSets, for which a drain does not wait.
	Leaving int `json:"leaving"`
	Staying int `json:"staying"`
	// Blocks are the reasons why the drain would wait, those that waiting alone does not end first.
	Blocks []Block `json:"blocks,omitempty"`
	// Notes are costs of a drain, and budgets that delay its begin.
	Notes []string `json:"notes,omitempty"`
}

// Block is a reason why a drain would wait: a PodDisruptionBudget, or several that cover one pod.
type Block struct {
	// Pods are the pods of the node that wait ("web/frontend-7d9").
	Pods []string `json:"pods"`
	// Budget is the PodDisruptionBudget ("web/frontend"), or several, separated by commas.
	Budget string `json:"budget"`
	// Allowed are the evictions that the budget allows now. Healthy of Expected pods are healthy, and Desired have to be.
	Allowed  int `json:"allowed"`
	Healthy  int `json:"healthy"`
	Desired  int `json:"desired"`
	Expected int `json:"expected"`
	// Endless says that waiting alone does not end the wait.
	Endless bool   `json:"endless,omitempty"`
	Why     string `json:"why"`
	// Do is what the user can do.
	Do string `json:"do"`
}

// VerdictOf returns nil for other objects, for a machine without a node, and if pods or budgets could not be read. all
// are the machine disruption budgets.
func VerdictOf(now time.Time, all []v1alpha1.MachineDisruptionBudget, d collect.Detail) *Verdict {
	if d.Node == nil || !d.PodsRead {
		return nil
	}
	f := drain.Facts{Node: d.Node, Pods: d.Pods, Budgets: d.Budgets}
	p := drain.Policy{NodeUnreachable: silent(d.Node)}
	decision := drain.Decide(now, f, drain.Memory{}, p)
	v := &Verdict{}
	for _, o := range decision.Ignored {
		if o.Reason == drain.ReasonDaemonSet || o.Reason == drain.ReasonMirror {
			v.Staying++
		}
	}
	leaving := leavingPods(d.Pods, decision)
	v.Leaving = len(leaving)
	never := map[string]string{}
	for _, o := range drain.Foresee(f, p) {
		if o.Endless {
			never[o.Pod.String()] = o.Message
		} else {
			v.Notes = append(v.Notes, o.Pod.String()+": "+o.Message)
		}
	}
	v.Blocks = blocksOf(leaving, d.Budgets, never)
	if lost := drain.Unmanaged(f, p); len(lost) > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("no controller creates %s again", named(lost)))
	}
	if d.Object != nil {
		if a := budgets.Ask(now, all, budgets.Machine{UID: d.Object.GetUID(), Labels: d.Object.GetLabels()}, v1alpha1.ReasonManual); !a.Granted {
			v.Notes = append(v.Notes, "the deletion of the machine waits for "+a.Message)
		}
	}
	v.Finishes = len(v.Blocks) == 0
	v.Sentence = v.sentence()
	return v
}

// silent reports whether the kubelet of a node does not answer.
func silent(n *corev1.Node) bool {
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	return i < 0 || n.Status.Conditions[i].Status == corev1.ConditionUnknown
}

// leavingPods returns the pods that a drain evicts, deletes or waits for.
func leavingPods(pods []corev1.Pod, d drain.Decision) (out []*corev1.Pod) {
	leaves := map[types.NamespacedName]bool{}
	for _, t := range slices.Concat(d.Evict, d.Delete) {
		leaves[t.Pod] = true
	}
	for _, b := range slices.Concat(d.Waiting, d.Blocked) {
		leaves[b.Pod] = leaves[b.Pod] || b.Volume == ""
	}
	for i := range pods {
		if leaves[types.NamespacedName{Namespace: pods[i].Namespace, Name: pods[i].Name}] {
			out = append(out, &pods[i])
		}
	}
	return out
}

// blocksOf returns the budgets that do not allow the evictions of all these pods at once. never has the reasons why a pod
// is never evicted.
func blocksOf(leaving []*corev1.Pod, all []policyv1.PodDisruptionBudget, never map[string]string) (out []Block) {
	type group struct {
		covering []*policyv1.PodDisruptionBudget
		pods     []string
		why      string
	}
	groups := map[string]*group{}
	for _, p := range leaving {
		covering := drain.Covering(*p, all)
		if len(covering) == 0 || p.DeletionTimestamp != nil || finished(p) {
			continue
		}
		var names []string
		for _, b := range covering {
			names = append(names, b.Namespace+"/"+b.Name)
		}
		key, name := strings.Join(names, ", "), p.Namespace+"/"+p.Name
		if groups[key] == nil {
			groups[key] = &group{covering: covering}
		}
		g := groups[key]
		g.pods, g.why = append(g.pods, name), cmp.Or(g.why, never[name])
	}
	for key, g := range groups {
		b := g.covering[0]
		room := drain.Room(b)
		if g.why == "" && len(g.pods) <= room {
			continue
		}
		s := b.Status
		block := Block{Pods: g.pods, Budget: key, Allowed: room, Healthy: int(s.CurrentHealthy), Desired: int(s.DesiredHealthy), Expected: int(s.ExpectedPods), Why: g.why, Endless: g.why != ""}
		switch {
		case len(g.covering) > 1:
			block.Do = "keep one PodDisruptionBudget for these pods: `kubectl get poddisruptionbudgets -n " + b.Namespace + "`"
		case block.Endless:
			block.Do = "run more replicas of the workload, or change the budget: `kubectl edit poddisruptionbudget " + b.Name + " -n " + b.Namespace + "`"
		case room > 0:
			block.Why = fmt.Sprintf("it allows %d of %d evictions now; the others follow when the evicted pods are healthy on other nodes", room, len(g.pods))
			block.Do = "wait: the drain continues by itself"
		default:
			block.Why = fmt.Sprintf("it allows no eviction now: %d of %d pods are healthy, %d have to be", s.CurrentHealthy, s.ExpectedPods, s.DesiredHealthy)
			block.Do = "find out why pods are not healthy: `kubectl get pods -n " + b.Namespace + selector(b) + "`"
		}
		out = append(out, block)
	}
	slices.SortFunc(out, func(a, b Block) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Budget, b.Budget))
	})
	return out
}

// rank orders blocks: first those that waiting alone does not end, last those that only take turns.
func rank(b Block) int {
	switch {
	case b.Endless:
		return 0
	case b.Allowed == 0:
		return 1
	}
	return 2
}

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// selector returns the argument of kubectl for the pods of a budget.
func selector(b *policyv1.PodDisruptionBudget) string {
	if s := metav1.FormatLabelSelector(b.Spec.Selector); s != "<none>" && s != "<error>" {
		return " -l '" + s + "'"
	}
	return ""
}

// mostNamed is how many pods a sentence names.
const mostNamed = 3

func named(pods []types.NamespacedName) string {
	var out []string
	for _, p := range pods[:min(len(pods), mostNamed)] {
		out = append(out, p.String())
	}
	if n := len(pods) - mostNamed; n > 0 {
		out = append(out, fmt.Sprintf("%d more pods", n))
	}
	return strings.Join(out, ", ")
}

func (v *Verdict) sentence() string {
	pods := fmt.Sprintf("%d pods have to leave", v.Leaving)
	if v.Leaving == 1 {
		pods = "1 pod has to leave"
	}
	switch {
	case v.Leaving == 0:
		return "A drain would finish at once: no pod has to leave."
	case v.Finishes:
		return "A drain would finish now: " + pods + ", and no PodDisruptionBudget is in the way."
	case v.Blocks[0].Endless:
		return "A drain would not finish: " + pods + ", and a user has to change a PodDisruptionBudget or its workload."
	case v.Blocks[0].Allowed == 0:
		return "A drain would not finish now: " + pods + ", and a PodDisruptionBudget allows no eviction."
	}
	return "A drain would finish in steps: " + pods + ", and a PodDisruptionBudget allows some of them at a time."
}
