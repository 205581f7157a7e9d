package dialect

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Annotations of ours on health checks of every API group. Without them, the
// breaker reports and stops nothing.
const (
	// BreakerAnnotation is what the storm breaker's word is worth: "report",
	// which is the default, "enforce" or "off". Enforced, a storm of machines of
	// one template also stops the rollout of a deployment to it.
	BreakerAnnotation = millwright.RemediationBreaker
	// RateAnnotation is how many remedies may begin within an hour ("5", "20%").
	// Of a percentage, 3 are the least.
	RateAnnotation = millwright.RemediationRate
	// StormShareAnnotation is which share of a zone, a rack, the machines of a
	// template or all of them is a storm when it is sick ("55%").
	StormShareAnnotation = millwright.RemediationStormShare
	// CooldownAnnotation is how long after a storm its machines are left alone
	// ("10m").
	CooldownAnnotation = millwright.RemediationCooldown
	// BackoffAnnotation is how long a machine is left that was made in the place
	// of one that failed ("1m"); it doubles with each further one.
	BackoffAnnotation = millwright.RemediationBackoff
	// RackLabelAnnotation names the label of nodes that holds their rack.
	RackLabelAnnotation = millwright.RackLabel
	// MachineAPIAnnotation is the API group of the machines that the check
	// selects; by default its own.
	MachineAPIAnnotation = millwright.MachineAPI
	// RemediationsAnnotation is written by us: what was begun, and the storms.
	RemediationsAnnotation = millwright.Remediations
)

// Annotations of ours on machines of every API group, for health checks.
const (
	// SkipRemediationAnnotation, unless "false", keeps health checks from
	// remedying the machine. It counts as unhealthy all the same.
	SkipRemediationAnnotation = millwright.SkipRemediation
	// CreationTimeoutAnnotation is how long the machine may be without a node,
	// from its creation ("20m"), whatever the check says.
	CreationTimeoutAnnotation = millwright.CreationTimeout
	// HealthTimeoutAnnotation counts instead of the timeouts of a check's
	// conditions ("10m").
	HealthTimeoutAnnotation = millwright.HealthTimeout
	// NodeConditionsAnnotation are node conditions, separated by commas, that
	// must be False as well; it has an effect together with
	// [HealthTimeoutAnnotation].
	NodeConditionsAnnotation = millwright.NodeConditions
)

// DefaultRackLabel is the label that holds a node's rack.
const DefaultRackLabel = "topology.kubernetes.io/rack"

// HealthChecks reads and writes one kind of health check. The same two laws
// hold as for machines.
type HealthChecks[C client.Object] interface {
	// Traits are what does not depend on the object.
	Traits() HealthTraits
	// New returns an empty check, NewList an empty list of them.
	New() C
	NewList() client.ObjectList
	// View projects c onto the engine's facts, faults included. Common are the
	// conditions that all checks share, where the kind goes by such.
	View(c C, common CommonConditions) health.Check
	// Selector tells the machines of c, in its namespace; it matches nothing
	// where c is at fault about it.
	Selector(c C) labels.Selector
	// Template is what remediation requests are made from; nil when none are.
	Template(c C) *corev1.ObjectReference
	// Record writes what came of a pass into the status of c, and nothing else.
	Record(c C, o HealthOutcome)
}

// HealthTraits is what holds for all checks of a kind.
type HealthTraits struct {
	Kind schema.GroupVersionKind
	// ReadsCommon says that the kind goes by conditions that all checks share,
	// in the ConfigMap of this name, in the namespace of the controllers.
	ReadsCommon bool
	ConfigMap   string
}

// CommonConditions are conditions that all checks of a kind share.
type CommonConditions struct {
	Conditions []health.Condition
	Faults     []lifecycle.Fault
}

// HealthOutcome is what a pass over a check came to.
type HealthOutcome struct {
	Now   time.Time
	Check health.Check
	Plan  health.Plan
	// Requested says that remediation requests were looked at; TemplateErr is
	// why their template cannot be used, RequestErr why one could not be made.
	Requested               bool
	TemplateErr, RequestErr error
}

// Patients reads the machines of an API group as health checks see them.
type Patients interface {
	// API is the group: [provider.OpenShift] or [provider.Gardener].
	API() string
	// Machine returns an empty machine, Machines an empty list of them.
	Machine() client.Object
	Machines() client.ObjectList
	// NodeName is the node recorded as the machine's; empty when none is.
	NodeName(m client.Object) string
	// Patient projects m; n is its node, nil when there is none.
	Patient(m client.Object, n *health.Node) health.Target
	// Mark edits m to ask somebody else to remedy it.
	Mark(m client.Object)
}

// Events about machines and their checks, as clients know them.
const (
	EventDetectedUnhealthy        = "DetectedUnhealthy"
	EventSkippedNoController      = "SkippedNoController"
	EventMachineDeleted           = "MachineDeleted"
	EventMachineDeletionFailed    = "MachineDeletionFailed"
	EventExternalAnnotationAdded  = "ExternalAnnotationAdded"
	EventExternalAnnotationFailed = "ExternalAnnotationFailed"
	EventRemediationRestricted    = "RemediationRestricted"
	// EventStorm is ours: many machines of a group fell ill.
	EventStorm = "RemediationStorm"
	// EventNoMachines and EventSharedMachines are ours: a check selects nothing, or
	// what another selects, too.
	EventNoMachines     = "NoMachines"
	EventSharedMachines = "SharedMachines"
	// ActionRemediate and ActionHealthCheck are what was being done.
	ActionRemediate   = "Remediate"
	ActionHealthCheck = "HealthCheck"
)

// ReadBreaker reads what a check asks of the storm breaker. What is not
// understood is a fault, and the default holds.
func ReadBreaker(annotations map[string]string) (health.Breaker, []lifecycle.Fault) {
	b := health.DefaultBreaker()
	r := millwright.Read(annotations)
	if word, ok := r.Word(BreakerAnnotation); ok {
		b.Mode = health.Mode(word)
	}
	if l, ok := millwright.Limit(r, RateAnnotation, health.ParseLimit); ok {
		b.Rate = l
	}
	if n, ok := r.Percentage(StormShareAnnotation); ok {
		b.StormShare = n
	}
	if d, ok := r.Duration(CooldownAnnotation); ok {
		b.Cooldown = d
	}
	if d, ok := r.Duration(BackoffAnnotation); ok {
		b.Backoff = d
	}
	return b, faultsOf(r)
}

// ReadOwn reads the timeouts that a machine brings along. What is not
// understood is passed over: the check's counts.
func ReadOwn(annotations map[string]string) (out health.Own) {
	r := millwright.Read(annotations)
	if d, ok := r.Duration(CreationTimeoutAnnotation); ok {
		out.Startup = &d
	}
	if d, ok := r.Duration(HealthTimeoutAnnotation); ok {
		out.Health = &d
	}
	out.Conditions = r.List(NodeConditionsAnnotation)
	return out
}

// RackLabel is the label in which a check looks for the racks of nodes.
func RackLabel(check client.Object) string {
	if l := check.GetAnnotations()[RackLabelAnnotation]; l != "" {
		return l
	}
	return DefaultRackLabel
}

// storedPast and storedStorm are the forms in which a memory is kept.
type (
	storedPast struct {
		Machine types.UID `json:"uid"`
		Name    string    `json:"machine"`
		Owner   types.UID `json:"owner,omitempty"`
		At      time.Time `json:"at"`
		After   time.Time `json:"after,omitzero"`
		Again   int       `json:"again,omitempty"`
		By      types.UID `json:"by,omitempty"`
		Settled bool      `json:"settled,omitempty"`
		Free    bool      `json:"free,omitempty"`
	}
	storedStorm struct {
		Kind health.Kind `json:"kind"`
		Name string      `json:"name,omitempty"`
		Sick int         `json:"sick,omitempty"`
		Of   int         `json:"of,omitempty"`
		Over *time.Time  `json:"over,omitempty"`
	}
	storedCount struct {
		At    time.Time `json:"at"`
		Count int       `json:"n"`
	}
	storedMemory struct {
		Past    []storedPast  `json:"begun,omitempty"`
		Counted []storedCount `json:"counted,omitempty"`
		Storms  []storedStorm `json:"storms,omitempty"`
	}
)

// ReadMemory reads what a check remembers. What is not understood is forgotten.
func ReadMemory(check client.Object) (m health.Memory) {
	var s storedMemory
	if _, err := millwright.Read(check.GetAnnotations()).JSON(RemediationsAnnotation, &s); err != nil {
		return m
	}
	for _, p := range s.Past {
		m.Past = append(m.Past, health.Past(p))
	}
	for _, c := range s.Counted {
		m.Counted = append(m.Counted, health.Counted(c))
	}
	for _, st := range s.Storms {
		storm := health.Storm{Group: health.Group{Kind: st.Kind, Name: st.Name}, Sick: st.Sick, Total: st.Of}
		if st.Over != nil {
			storm.Over = *st.Over
		}
		m.Storms = append(m.Storms, storm)
	}
	return m
}

// WriteMemory edits check to remember m.
func WriteMemory(check client.Object, m health.Memory) {
	var s storedMemory
	for _, p := range m.Past {
		p.At = p.At.UTC()
		s.Past = append(s.Past, storedPast(p))
	}
	for _, c := range m.Counted {
		s.Counted = append(s.Counted, storedCount{c.At.UTC(), c.Count})
	}
	for _, st := range m.Storms {
		stored := storedStorm{Kind: st.Kind, Name: st.Name, Sick: st.Sick, Of: st.Total}
		if over := st.Over.UTC(); !st.Over.IsZero() {
			stored.Over = &over
		}
		s.Storms = append(s.Storms, stored)
	}
	text := ""
	if len(s.Past)+len(s.Counted)+len(s.Storms) > 0 {
		text = encoded(s)
	}
	SetAnnotation(check, RemediationsAnnotation, text)
}
