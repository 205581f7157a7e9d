package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MachineDisruptionBudget limits how many machines are disrupted at the same time, for each cause and in both APIs. A machine
// controller asks all budgets that select a machine before it drains the machine's node, updates it in place or reboots it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machinedisruptionbudgets,scope=Cluster,shortName=mdb,categories=millwright,singular=machinedisruptionbudget
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Paused",type="boolean",JSONPath=".spec.paused",description="Whether no voluntary disruption begins"
// +kubebuilder:printcolumn:name="Machines",type="integer",JSONPath=".status.machines",description="Number of selected machines"
// +kubebuilder:printcolumn:name="In-use",type="integer",JSONPath=".status.inUse",description="Number of machines under disruption"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".spec.message",description="Why the budget exists",priority=1
// +kubebuilder:printcolumn:name="Valid",type="string",JSONPath=".status.conditions[?(@.type==\"Valid\")].message",description="Which field is invalid",priority=1
type MachineDisruptionBudget struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted limits.
	//
	// +optional
	Spec MachineDisruptionBudgetSpec `json:"spec,omitempty"`

	// Status has the disruptions that the budget permitted. Machine controllers write it.
	//
	// +optional
	Status MachineDisruptionBudgetStatus `json:"status,omitempty"`
}

// MachineDisruptionBudgetList is a list of MachineDisruptionBudgets.
//
// +kubebuilder:object:root=true
type MachineDisruptionBudgetList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MachineDisruptionBudget `json:"items"`
}

// MachineDisruptionBudgetSpec has the wanted limits.
type MachineDisruptionBudgetSpec struct {
	// Selector selects machines by their labels, of both APIs and in all namespaces; an empty selector selects all machines.
	//
	// +optional
	Selector metav1.LabelSelector `json:"selector,omitempty"`

	// Budgets are limits. All limits that apply at a time hold; the smallest counts. Without an entry that applies, the number
	// of disruptions is not limited.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Budgets []Budget `json:"budgets,omitempty"`

	// Paused is an emergency stop: no voluntary disruption of a selected machine begins. Disruptions that have begun continue.
	//
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Message says why the budget exists. It is shown on machines that wait for the budget.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// Budget is one limit.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) == has(self.duration)",message="schedule and duration must be set together"
// +kubebuilder:validation:XValidation:rule="has(self.schedule) || !has(self.timeZone)",message="timeZone needs a schedule"
// +kubebuilder:validation:XValidation:rule="type(self.nodes) != int || self.nodes >= 0",message="nodes must not be negative"
type Budget struct {
	// Nodes is the number of machines that may be under disruption at the same time: a number, or a percentage of the selected
	// machines ("10%"), which is rounded up. 0 forbids disruptions.
	//
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]{1,9})$`
	Nodes intstr.IntOrString `json:"nodes"`

	// Reasons are the causes that the limit is about; empty means all voluntary causes. Interruption is not voluntary: a limit
	// holds it only if it names it.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=6
	Reasons []DisruptionReason `json:"reasons,omitempty"`

	// Schedule says when the limit begins to apply, as a CronJob does ("0 9 * * mon-fri"); without it the limit always applies.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|[^\s=]+(\s+[^\s=]+){4})$`
	Schedule string `json:"schedule,omitempty"`

	// Duration is how long the limit applies after each begin, in hours and minutes ("8h", "1h30m").
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,4}h)?([0-9]{1,6}m)?(0s)?$`
	// +kubebuilder:validation:MinLength=2
	Duration *metav1.Duration `json:"duration,omitempty"`

	// TimeZone is the time zone of the schedule ("Europe/Berlin"); the default is UTC.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`

	// Query is a query in PromQL. The limit applies only while the query returns at least one sample, for example while an alert
	// fires: ALERTS{alertstate="firing", severity="critical"}. The machine controllers send it to the server of their flag
	// --prometheus-url. Without an answer of that server, the limit applies.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Query string `json:"query,omitempty"`
}

// DisruptionReason is the cause of a disruption.
//
// +kubebuilder:validation:Enum=Rollout;Remediation;ScaleDown;Interruption;Reboot;Manual
type DisruptionReason string

// The causes.
const (
	// ReasonRollout: a deployment replaces the machine, or updates it in place.
	ReasonRollout DisruptionReason = "Rollout"
	// ReasonRemediation: the machine or its node is unhealthy.
	ReasonRemediation DisruptionReason = "Remediation"
	// ReasonScaleDown: the machine's set or deployment wants fewer machines.
	ReasonScaleDown DisruptionReason = "ScaleDown"
	// ReasonInterruption: the cloud has announced the end of the instance. It is not voluntary.
	ReasonInterruption DisruptionReason = "Interruption"
	// ReasonReboot: the machine is rebooted.
	ReasonReboot DisruptionReason = "Reboot"
	// ReasonManual: a user, or an unknown client, deleted the machine.
	ReasonManual DisruptionReason = "Manual"
)

// DisruptionReasons are all of them.
var DisruptionReasons = []DisruptionReason{ReasonRollout, ReasonRemediation, ReasonScaleDown, ReasonInterruption, ReasonReboot, ReasonManual}

// MachineDisruptionBudgetStatus has the permitted disruptions, and what the budget would allow.
type MachineDisruptionBudgetStatus struct {
	// ObservedGeneration is the generation of the spec to which the status belongs.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Machines is the number of selected machines whose node has joined: percentages are of this number.
	//
	// +optional
	Machines int32 `json:"machines"`

	// InUse is the number of disruptions.
	//
	// +optional
	InUse int32 `json:"inUse"`

	// Observed has the numbers of machines that the controllers of each API see.
	//
	// +optional
	// +listType=atomic
	Observed []ObservedMachines `json:"observed,omitempty"`

	// Reasons have, for each cause, the allowed disruptions at the time of the last write.
	//
	// +optional
	// +listType=map
	// +listMapKey=reason
	Reasons []ReasonStatus `json:"reasons,omitempty"`

	// Queries have the last answers of the Prometheus server to the queries of the limits.
	//
	// +optional
	// +listType=map
	// +listMapKey=query
	Queries []QueryStatus `json:"queries,omitempty"`

	// Disruptions are the permits: the machines that are disrupted now. A controller writes a permit before it begins, and
	// removes it when the disruption is over. To take back the permit of a machine whose controller no longer runs, remove its
	// entry.
	//
	// +optional
	// +listType=map
	// +listMapKey=uid
	Disruptions []Disruption `json:"disruptions,omitempty"`

	// Conditions: Valid says whether the spec can be used. With an invalid spec, no disruption of a selected machine begins.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConditionValid is the type of the condition that names an invalid field of the spec.
const ConditionValid = "Valid"

// ObservedMachines is the number of machines that one controller sees.
type ObservedMachines struct {
	// API is the API group of the machines.
	API string `json:"api"`
	// Namespace is the only namespace of which the controller sees machines; empty: it sees all namespaces.
	//
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Machines is their number.
	Machines int32 `json:"machines"`
	// At is when the controller counted them. A number that is an hour old no longer counts.
	At metav1.Time `json:"at"`
}

// QueryStatus is the last answer to a query.
type QueryStatus struct {
	// Query is the query.
	Query string `json:"query"`
	// Samples says whether the query returned samples: limits with the query apply.
	Samples bool `json:"samples"`
	// At is when a controller asked the server. An answer that is two minutes old no longer counts, and the limits apply.
	At metav1.Time `json:"at"`
	// Error says why the server has not answered; then the limits apply.
	//
	// +optional
	Error string `json:"error,omitempty"`
}

// ReasonStatus is what a budget allows for one cause.
type ReasonStatus struct {
	// Reason is the cause.
	Reason DisruptionReason `json:"reason"`
	// Allowed is how many disruptions may exist at the same time; absent: the budget does not limit this cause now.
	//
	// +optional
	Allowed *int32 `json:"allowed,omitempty"`
	// InUse is the number of disruptions for this cause.
	InUse int32 `json:"inUse"`
}

// Disruption is one machine that is disrupted now.
type Disruption struct {
	// API is the API group of the machine.
	API string `json:"api"`
	// Namespace is the namespace of the machine.
	Namespace string `json:"namespace"`
	// Name is the name of the machine.
	Name string `json:"name"`
	// UID is the UID of the machine.
	UID types.UID `json:"uid"`
	// Reason is the cause; absent if it is unknown.
	//
	// +optional
	Reason DisruptionReason `json:"reason,omitempty"`
	// Since is when the controller got the permit.
	Since metav1.Time `json:"since"`
}
