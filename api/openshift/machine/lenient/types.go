package lenient

import (
	"encoding/json"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AddToScheme teaches a scheme Machine and MachineSet as published, and the MachineHealthCheck of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(machinev1.GroupVersion,
		&machinev1.Machine{}, &machinev1.MachineList{},
		&machinev1.MachineSet{}, &machinev1.MachineSetList{},
		&MachineHealthCheck{}, &MachineHealthCheckList{},
	)
	metav1.AddToGroupVersion(scheme, machinev1.GroupVersion)
	return nil
}

// MachineHealthCheck replaces machines whose nodes are not well.
//
// +kubebuilder:object:root=true
type MachineHealthCheck struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MachineHealthCheckSpec   `json:"spec,omitempty"`
	Status MachineHealthCheckStatus `json:"status,omitempty"`
}

// MachineHealthCheckList is a list of MachineHealthChecks.
//
// +kubebuilder:object:root=true
type MachineHealthCheckList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MachineHealthCheck `json:"items"`
}

// MachineHealthCheckSpec is what a check asks for.
type MachineHealthCheckSpec struct {
	// Selector tells the machines; an empty one selects all of the namespace.
	Selector metav1.LabelSelector `json:"selector"`
	// UnhealthyConditions make a node unhealthy; any one of them does.
	UnhealthyConditions []UnhealthyCondition `json:"unhealthyConditions"`
	// MaxUnhealthy is how many machines may be unhealthy for any of them to be remedied: a number, or a percentage as text
	// ("40%"). Nil is "100%".
	MaxUnhealthy *Amount `json:"maxUnhealthy,omitempty"`
	// NodeStartupTimeout is how long a machine may be without a node, as a duration ("10m"); "0" is for ever, nil is "10m".
	NodeStartupTimeout *string `json:"nodeStartupTimeout,omitempty"`
	// RemediationTemplate is what to make a remediation request from; nil deletes the machine.
	RemediationTemplate *corev1.ObjectReference `json:"remediationTemplate,omitempty"`
}

// UnhealthyCondition makes a node unhealthy that shows it for longer than the timeout.
type UnhealthyCondition struct {
	// Type is the type of a node condition ("Ready").
	Type corev1.NodeConditionType `json:"type,omitempty"`
	// Status is one of its statuses ("Unknown").
	Status corev1.ConditionStatus `json:"status,omitempty"`
	// Timeout is a duration ("5m").
	Timeout string `json:"timeout,omitempty"`
}

// MachineHealthCheckStatus is what came of the last look.
type MachineHealthCheckStatus struct {
	// ExpectedMachines is how many machines are selected, CurrentHealthy how many of them are healthy; nil before the first look.
	ExpectedMachines *int64 `json:"expectedMachines,omitempty"`
	CurrentHealthy   *int64 `json:"currentHealthy,omitempty"`
	// RemediationsAllowed is the number of machines that may still become unhealthy before the check remediates none. It is always written.
	RemediationsAllowed int64 `json:"remediationsAllowed"`
	// Conditions are sorted by their type.
	Conditions []machinev1.Condition `json:"conditions,omitempty"`
}

// Amount is a number or a text, in JSON, as it was written.
type Amount string

// AmountOf is a text as an Amount.
func AmountOf(text string) *Amount {
	raw, _ := json.Marshal(text) // text has an encoding, always
	a := Amount(raw)
	return &a
}

// UnmarshalJSON implements [json.Unmarshaler]. It takes anything.
func (a *Amount) UnmarshalJSON(raw []byte) error {
	*a = Amount(raw)
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (a Amount) MarshalJSON() ([]byte, error) {
	if a == "" {
		return []byte("null"), nil
	}
	return []byte(a), nil
}

// Text is the amount as people write it: without quotes.
func (a Amount) Text() string {
	var text string
	if json.Unmarshal([]byte(a), &text) == nil {
		return text
	}
	return string(a)
}
