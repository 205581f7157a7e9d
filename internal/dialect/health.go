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

// Millwright's annotations on health checks of every API group. Without them, the breaker reports and stops
// nothing.
const (
	// BreakerAnnotation is the mode of the storm breaker: "report" (the default), "enforce" or "off". In the
	// mode "enforce", a storm of machines of one template also stops the rollout of a deployment to it.
	BreakerAnnotation = millwright.RemediationBreaker
	// RateAnnotation is how many remedies may begin within an hour ("5", "20%"). A percentage allows at least
	// 3.
	RateAnnotation = millwright.RemediationRate
	// StormShareAnnotation is the share of sick machines in a zone, a rack, a template or the fleet that
	// counts as a storm ("55%").
	StormShareAnnotation = millwright.RemediationStormShare
	// CooldownAnnotation is how long after a storm its machines are left alone
	// ("10m").
	CooldownAnnotation = millwright.RemediationCooldown
	// BackoffAnnotation is how long a machine is left alone that replaced a failed one ("1m"); it doubles
	// with each further failure.
	BackoffAnnotation = millwright.RemediationBackoff
	// RackLabelAnnotation names the node label with the rack.
	RackLabelAnnotation = millwright.RackLabel
	// MachineAPIAnnotation is the API group of the machines that the check selects; the default is its own.
	MachineAPIAnnotation = millwright.MachineAPI
	// RemediationsAnnotation is written by Millwright: the remedies that have begun, and the storms.
	RemediationsAnnotation = millwright.Remediations
)

// Millwright's annotations on machines of every API group, for health checks.
const (
	// SkipRemediationAnnotation, unless "false", keeps health checks from remediating the machine. It still
	// counts as unhealthy.
	SkipRemediationAnnotation = millwright.SkipRemediation
	// CreationTimeoutAnnotation is how long the machine may be without a node, from its creation ("20m"). It
	// overrides the check.
	CreationTimeoutAnnotation = millwright.CreationTimeout
	// HealthTimeoutAnnotation replaces the timeouts of a check's conditions ("10m").
	HealthTimeoutAnnotation = millwright.HealthTimeout
	// NodeConditionsAnnotation has further node conditions, separated by commas, that must be False; it has
	// an effect only together with [HealthTimeoutAnnotation].
	NodeConditionsAnnotation = millwright.NodeConditions
)

// DefaultRackLabel is the label that holds a node's rack.
const DefaultRackLabel = "topology.kubernetes.io/rack"

// HealthChecks reads and writes one kind of health check. The same two laws hold as for machines.
type HealthChecks[C client.Object] interface {
	// Traits returns the properties of the kind.
	Traits() HealthTraits
	// New returns an empty check, NewList an empty list of them.
	New() C
	NewList() client.ObjectList
	// View returns the engine's facts of c, including faults. Common are the conditions that all checks
	// share, if the kind uses such.
	View(c C, common CommonConditions) health.Check
	// Selector selects the machines of c, in its namespace; it matches nothing if c's selector is invalid.
	Selector(c C) labels.Selector
	// Template returns the template of remediation requests; nil if none exist.
	Template(c C) *corev1.ObjectReference
	// Record writes the result of a pass into the status of c, and nothing else.
	Record(c C, o HealthOutcome)
}

// HealthTraits has the properties of a kind of check.
type HealthTraits struct {
	Kind schema.GroupVersionKind
	// ReadsCommon says that the kind uses conditions that all checks share, in the ConfigMap of this name, in
	// the namespace of the controllers.
	ReadsCommon bool
	ConfigMap   string
}

// CommonConditions are conditions that all checks of a kind share.
type CommonConditions struct {
	Conditions []health.Condition
	Faults     []lifecycle.Fault
}

// HealthOutcome is the result of a pass over a check.
type HealthOutcome struct {
	Now   time.Time
	Check health.Check
	Plan  health.Plan
	// Requested says that remediation requests were read; TemplateErr is why their template cannot be used,
	// RequestErr why one could not be created.
	Requested               bool
	TemplateErr, RequestErr error
}

// Patients reads the machines of an API group for health checks.
type Patients interface {
	// API is the group: [provider.OpenShift] or [provider.Gardener].
	API() string
	// Machine returns an empty machine, Machines an empty list of them.
	Machine() client.Object
	Machines() client.ObjectList
	// NodeName returns the recorded node of the machine; empty if none exists.
	NodeName(m client.Object) string
	// Patient returns the facts of m; n is its node, nil if none exists.
	Patient(m client.Object, n *health.Node) health.Target
	// Mark edits m to ask another program to remediate it.
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
	// EventStorm is Millwright's: many machines of a group became unhealthy.
	EventStorm = "RemediationStorm"
	// EventNoMachines and EventSharedMachines are Millwright's: a check selects no machine, or machines that
	// another check selects, too.
	EventNoMachines     = "NoMachines"
	EventSharedMachines = "SharedMachines"
	// ActionRemediate and ActionHealthCheck are the actions of these events.
	ActionRemediate   = "Remediate"
	ActionHealthCheck = "HealthCheck"
)

// ReadBreaker reads a check's settings of the storm breaker. An invalid value is a fault, and the default
// applies.
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

// ReadOwn reads a machine's own timeouts. An invalid value is ignored: that of the check applies.
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

// RackLabel returns the node label in which a check finds the rack.
func RackLabel(check client.Object) string {
	if l := check.GetAnnotations()[RackLabelAnnotation]; l != "" {
		return l
	}
	return DefaultRackLabel
}

// storedPast and storedStorm are the stored forms of a memory.
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

// ReadMemory reads a check's memory. Invalid entries are dropped.
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

// WriteMemory stores m in check.
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
