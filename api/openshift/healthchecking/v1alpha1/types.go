package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
)

// GroupName is the API group of every kind of this package.
const GroupName = "healthchecking.openshift.io"

// KindMachineHealthCheck is the kind as manifests spell it.
const KindMachineHealthCheck = "MachineHealthCheck"

// The ConfigMap that says which node conditions count.
const (
	// ConditionsConfigMap is its name, in the namespace of the controllers.
	ConditionsConfigMap = "node-unhealthy-conditions"
	// ConditionsKey is the key of its data: YAML, a list of name, status and timeout under the key items.
	ConditionsKey = "conditions"
)

// Values of spec.remediationStrategy.
const (
	// StrategyReboot asks, by an annotation on the node, for a restart, instead of deleting the machine.
	StrategyReboot = "reboot"
)

var (
	// GroupVersion is the group and version of every kind of this package.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// SchemeBuilder collects the functions that teach a scheme the kinds of this package.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme teaches a scheme the kinds of this package.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &MachineHealthCheck{}, &MachineHealthCheckList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// MachineHealthCheck replaces machines whose nodes are not well.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machinehealthchecks,scope=Namespaced,categories=millwright,singular=machinehealthcheck
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ExpectedMachines",type="integer",JSONPath=".status.expectedMachines",description="Number of machines currently monitored"
// +kubebuilder:printcolumn:name="CurrentHealthy",type="integer",JSONPath=".status.currentHealthy",description="Current observed healthy machines"
// +kubebuilder:printcolumn:name="Why",type="string",JSONPath=".status.conditions[?(@.type==\"RemediationAllowed\")].message",description="Why nothing is remedied",priority=1
type MachineHealthCheck struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the configuration of the check.
	//
	// +optional
	Spec MachineHealthCheckSpec `json:"spec,omitempty"`

	// Status is the result of the last check.
	//
	// +optional
	Status lenient.MachineHealthCheckStatus `json:"status,omitempty"`
}

// MachineHealthCheckList is a list of MachineHealthChecks.
//
// +kubebuilder:object:root=true
type MachineHealthCheckList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MachineHealthCheck `json:"items"`
}

// MachineHealthCheckSpec is what a check asks for.
type MachineHealthCheckSpec struct {
	// Selector selects the machines; an empty selector selects none.
	//
	// +optional
	Selector metav1.LabelSelector `json:"selector,omitempty"`

	// RemediationStrategy is what is done about an unhealthy machine: "reboot" asks for a restart of its node; anything else,
	// and nothing, deletes the machine.
	//
	// +optional
	RemediationStrategy *string `json:"remediationStrategy,omitempty"`

	// UnhealthyConditions override the conditions of the ConfigMap, if there are any.
	//
	// +optional
	// +listType=atomic
	UnhealthyConditions []lenient.UnhealthyCondition `json:"unhealthyConditions,omitempty"`

	// MaxUnhealthy is how many machines may be unhealthy for any of them to be remedied: a number, or a percentage as text
	// ("40%"). All, without it.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	MaxUnhealthy *lenient.Amount `json:"maxUnhealthy,omitempty"`
}
