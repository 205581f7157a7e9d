package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// Annotations of health checks.
const (
	strategy     = "machine.openshift.io/remediation-strategy"
	machineAPI   = "millwright.dev/machine-api"
	breaker      = "millwright.dev/remediation-breaker"
	hourlyRate   = "millwright.dev/remediation-rate"
	remediations = "millwright.dev/remediations"
)

// healthRecord is the judge's memory of health checks.
type healthRecord struct {
	// remedies are the remedies of each check, oldest first, by the check's UID.
	remedies map[types.UID][]remedy
	// undone are remedies whose record a restore removed, by check and machine, with the number of changes before the
	// restore.
	undone map[types.UID]map[types.UID]int64
	// births are all machines that ever had a controller, with their times of creation, by the controller's UID.
	births map[types.UID]map[types.UID]time.Time
	// calm is the time at which the faults stopped. overdue is the time since which a remedy has been due, by check and
	// machine.
	calm    time.Time
	overdue map[[2]types.UID]time.Time
	// rebooted are all reboots.
	rebooted reboots
}

// remedy is a machine that a check remedied, and the time of its first request for that.
type remedy struct {
	machine, owner types.UID
	at             time.Time
}

func newHealthRecord() healthRecord {
	return healthRecord{
		remedies: map[types.UID][]remedy{}, undone: map[types.UID]map[types.UID]int64{},
		births: map[types.UID]map[types.UID]time.Time{}, overdue: map[[2]types.UID]time.Time{}, rebooted: reboots{},
	}
}

// note records that a machine has a controller.
func (d *healthRecord) note(m client.Object) {
	owner := controller(m)
	if d.births[owner] == nil {
		d.births[owner] = map[types.UID]time.Time{}
	}
	d.births[owner][m.GetUID()] = m.GetCreationTimestamp().Time
}

// asked reports whether c requested a remedy of the machine before.
func (d *healthRecord) asked(c *check, machine types.UID) bool {
	return slices.ContainsFunc(d.remedies[c.UID], func(r remedy) bool { return r.machine == machine })
}

// target is a machine in the view of health checks.
type target struct {
	machine
	// spared: users excluded it. treated: a check asked an external controller to remedy it.
	spared, treated bool
	on              *corev1.Node
	// restarting: a check asked an external controller to restart its node.
	restarting bool
	// hasRequest: a remediation request is about it.
	hasRequest bool
	// startup and sick are the machine's own timeouts; nil: the timeouts of the check.
	startup, sick *time.Duration
	// failure: it has failed permanently.
	failure bool
}

// targetOf reads m and its node n. The name of a node that never joined counts as empty.
func targetOf(m machine, n *corev1.Node) target {
	a := m.GetAnnotations()
	skip, spared := a[skipRemediation]
	_, treated := a[externalRemedy]
	p := target{machine: m, on: n, treated: treated, spared: spared && skip != "false" || m.kept}
	if n != nil {
		_, p.restarting = n.Annotations[restartNode]
	}
	p.startup, p.sick = positive(a[creationTimeout]), positive(a[healthTimeout])
	p.failure = m.phase == "Failed"
	if _, gardener := m.Object.(*v1alpha1.Machine); gardener && n == nil && namesFutureNode(m.phase) {
		p.node = ""
	}
	return p
}

// namesFutureNode reports whether a machine in the phase may name a node that has not joined yet.
func namesFutureNode(phase string) bool {
	return phase == "" || phase == string(v1alpha1.MachinePending) || phase == string(v1alpha1.MachineCrashLoopBackOff) || phase == string(v1alpha1.MachineAvailable)
}

func positive(text string) *time.Duration {
	if d := duration(text); d != nil && *d > 0 {
		return d
	}
	return nil
}

// under are the machines among the objects that c selects.
func (j *Judge) under(c *check, objects []client.Object, node func(name string) *corev1.Node) map[types.UID]target {
	out := map[types.UID]target{}
	selector, err := metav1.LabelSelectorAsSelector(&c.Spec.Selector)
	if err != nil || c.older && selector.Empty() {
		return out
	}
	for _, o := range objects {
		if sameKind(o, selectable(c)) && selector.Matches(labels.Set(o.GetLabels())) {
			m := readMachine(o)
			t := targetOf(m, node(m.node))
			t.hasRequest = requests(c) && j.hasRequest(o)
			out[o.GetUID()] = t
		}
	}
	return out
}

// truly are the present targets of c, seenBy the targets that the pass saw.
func (j *Judge) truly(c *check) map[types.UID]target {
	return j.under(c, j.All(selectable(c)), j.node)
}

func (j *Judge) seenBy(p *Pass, c *check) map[types.UID]target {
	var all []client.Object
	nodes := map[string]*corev1.Node{}
	for _, o := range p.seen {
		if n, ok := o.(*corev1.Node); ok {
			nodes[n.Name] = n
		}
		all = append(all, o)
	}
	return j.under(c, all, func(name string) *corev1.Node { return nodes[name] })
}

// symptom is a reason to remedy a machine. It counts after it has lasted longer than the timeout.
type symptom struct {
	what string
	// from is the time at which it began. ours: a process recorded that time, by its own clock.
	from    time.Time
	ours    bool
	timeout time.Duration
}

// nodeGone is a symptom that depends on the present state only.
const nodeGone = "its node does not exist"

// startup is how long machines of c may be without a node; zero: without limit.
func startup(c *check) time.Duration {
	const usual = 10 * time.Minute
	text := c.Spec.NodeStartupTimeout
	if text == nil {
		return usual
	}
	if d := duration(*text); d != nil {
		return *d
	}
	return 0
}

// symptoms are the symptoms of t, evaluated as in the specification.
func symptoms(c *check, t target) (out []symptom) {
	wait := startup(c)
	switch {
	case c.older && t.on == nil:
		return nil
	case t.failure && !c.older:
		return []symptom{{what: "it failed", from: t.updated, ours: true}}
	case t.node == "" && t.startup != nil:
		return []symptom{{what: "it has no node", from: t.GetCreationTimestamp().Time, timeout: *t.startup}}
	case t.node == "" && (wait <= 0 || t.updated.IsZero()):
		return nil
	case t.node == "":
		// Each change of the status restarts the timer, but not without limit.
		return []symptom{
			{what: "it has no node", from: t.updated, ours: true, timeout: wait},
			{what: "it has no node", from: t.GetCreationTimestamp().Time, timeout: 3 * wait},
		}
	case t.on == nil:
		return []symptom{{what: nodeGone}}
	}
	for _, have := range t.on.Status.Conditions {
		for _, want := range c.Spec.UnhealthyConditions {
			timeout := duration(want.Timeout)
			if have.Type != want.Type || have.Status != want.Status || timeout == nil {
				continue
			}
			if t.sick != nil {
				timeout = t.sick
			}
			from := have.LastTransitionTime.Time
			if born := t.GetCreationTimestamp().Time; born.After(from) {
				from = born // the node of an earlier instance may have the name
			}
			out = append(out, symptom{what: string(have.Type) + "=" + string(have.Status), from: from, timeout: *timeout})
		}
	}
	return out
}

// ill reports whether t counts against the budget of its check.
func ill(c *check, t target) bool {
	return t.GetDeletionTimestamp() != nil || t.treated || t.on == nil || len(symptoms(c, t)) > 0
}

// budget is how many of total machines may be unhealthy, -1 if the value is unreadable: 40 % of 5 is 2, and 40 % of 3 is 1.
func budget(c *check, total int) int {
	if c.Spec.MaxUnhealthy == nil {
		return total
	}
	n, percent, err := amount(c.Spec.MaxUnhealthy.Text())
	switch {
	case err != nil:
		return -1
	case percent:
		return n * total / 100
	}
	return n
}

// hourly is how many remedies may begin within an hour. A share allows at least 3.
func hourly(c *check, total int) int {
	text := c.Annotations[hourlyRate]
	if text == "" {
		text = "20%"
	}
	n, percent, err := amount(text)
	switch {
	case err != nil:
		return 0
	case percent:
		return max(3, n*total/100)
	}
	return n
}

func enforces(c *check) bool { return c.Annotations[breaker] == "enforce" }

// external reports whether the check leaves remedies to an external controller. Machines that failed permanently are
// deleted nevertheless.
func external(c *check) bool {
	return !c.older && !requests(c) && c.Annotations[strategy] == "external-baremetal"
}

func paused(c *check) bool {
	_, is := c.Annotations[remediationPaused]
	return is
}

// memory is a check's stored record: the remedies that it began, and storms.
type memory struct {
	Begun  []begun `json:"begun"`
	Storms []struct {
		Kind string     `json:"kind"`
		Name string     `json:"name"`
		Over *time.Time `json:"over"`
	} `json:"storms"`
}

type begun struct {
	Machine types.UID `json:"uid"`
	Owner   types.UID `json:"owner"`
	At      time.Time `json:"at"`
}

// remembered is the stored record of c; empty if it is unreadable.
func remembered(c *check) (m memory) {
	if json.Unmarshal([]byte(c.Annotations[remediations]), &m) != nil {
		return memory{}
	}
	return m
}

// unreplaced are the machines that were remedied within the hour, do not exist any more, and have no successor of the
// same owner among the given machines.
func (j *Judge) unreplaced(remedies []remedy, among func(types.UID) bool) (out []remedy) {
	used := map[types.UID]bool{}
	for _, r := range remedies {
		if _, there := find(j.machines(), r.machine); there || j.Now().Sub(r.at) >= time.Hour {
			continue
		}
		if by := j.successor(r, used, among); by != "" {
			used[by] = true
		} else {
			out = append(out, r)
		}
	}
	return out
}

// successor is the owner's first unused machine that was created since the remedy.
func (j *Judge) successor(r remedy, used map[types.UID]bool, among func(types.UID) bool) (by types.UID) {
	for uid, born := range j.births[r.owner] {
		first := by == "" || born.Before(j.births[r.owner][by]) || born.Equal(j.births[r.owner][by]) && strings.Compare(string(uid), string(by)) < 0
		if !used[uid] && first && !born.Before(r.at.Truncate(time.Second)) && among(uid) {
			by = uid
		}
	}
	return by
}
