package kubemark

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind and APIVersion identify a [Spec] in each API. A spec of the OpenShift API must have the kind; in a
// MachineClass the kind is optional.
const (
	Kind                = "KubemarkMachineProviderConfig"
	OpenShiftAPIVersion = "kubemarkproviderconfig.k8s.io/v1beta1"
	GardenerAPIVersion  = "kubemark.millwright.dev/v1alpha1"
)

// The back ends.
const (
	Hollow = "hollow"
	Kwok   = "kwok"
	Memory = "memory"
)

// Spec is the provider spec of both APIs. Every field is optional. Durations are Go duration strings ("90s").
type Spec struct {
	metav1.TypeMeta `json:",inline"`
	// Metadata is accepted for compatibility, and ignored.
	Metadata json.RawMessage `json:"metadata,omitempty"`

	// Backend is what runs for an instance: "hollow", "kwok" or "memory". Default: that of the provider's
	// configuration.
	Backend string `json:"backend,omitempty"`

	Capacity `json:",inline"`
	// Arch is the Kubernetes name of the architecture. Default: the provider host's.
	Arch string `json:"arch,omitempty"`

	// InstanceType is any name.
	InstanceType string `json:"instanceType,omitempty"`
	// Region and Zone default to those that the class declares outside its spec.
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
	// Zones are equivalent: the machines of one owner are spread over them.
	Zones []string `json:"zones,omitempty"`
	// Choices are the alternatives of an instance, best first: each is used while the previous ones are
	// exhausted.
	Choices []Choice `json:"choices,omitempty"`

	// Labels and Taints are set when the node registers.
	Labels map[string]string `json:"labels,omitempty"`
	Taints []corev1.Taint    `json:"taints,omitempty"`
	// Tags are tags of the instance.
	Tags map[string]string `json:"tags,omitempty"`

	Latencies `json:",inline"`

	// CreateFailureRate and DeleteFailureRate are the shares of calls that fail, 0..1.
	CreateFailureRate float64 `json:"createFailureRate,omitempty"`
	DeleteFailureRate float64 `json:"deleteFailureRate,omitempty"`
	// Quota limits the instances of this InstanceType in one zone of the cluster. Default: no limit.
	Quota *int `json:"quota,omitempty"`
	// CallsPerSecond limits the rate of calls for the cluster. Default: no limit.
	CallsPerSecond float64 `json:"callsPerSecond,omitempty"`

	// Fault makes an accepted instance fail instead of starting, with an error of that [provider.Kind].
	Fault string `json:"fault,omitempty"`
	// NeverJoins: a running instance has no kubelet and no node.
	NeverJoins bool `json:"neverJoins,omitempty"`
	// DiesAfter is the time from the start until the instance stops by itself.
	DiesAfter *metav1.Duration `json:"diesAfter,omitempty"`
	// InterruptAfter is the time from the start until the infrastructure terminates the instance, and
	// InterruptNotice the time of the notice before that. Default of the latter: 2m.
	InterruptAfter  *metav1.Duration `json:"interruptAfter,omitempty"`
	InterruptNotice *metav1.Duration `json:"interruptNotice,omitempty"`
	// Initialize requires a step after the creation.
	Initialize bool `json:"initialize,omitempty"`

	FailureModes `json:",inline"`

	// Image is accepted for compatibility, and ignored.
	Image string `json:"image,omitempty"`

	// UserDataSecret and CredentialsSecret are read by the engine.
	UserDataSecret    *SecretName `json:"userDataSecret,omitempty"`
	CredentialsSecret *SecretName `json:"credentialsSecret,omitempty"`
}

// Choice is an alternative of an instance. Omitted fields are those of the spec.
type Choice struct {
	InstanceType string `json:"instanceType,omitempty"`
	Zone         string `json:"zone,omitempty"`
}

// FailureModes configures when instances stop answering.
type FailureModes struct {
	// With TurnUnhealthyAfter an instance stops answering for good after HealthyDuration. With
	// TurnUnhealthyPeriodically it stops answering for UnhealthyDuration, again and again. Default of both
	// durations: 1m.
	TurnUnhealthyAfter        bool             `json:"turnUnhealthyAfter,omitempty"`
	TurnUnhealthyPeriodically bool             `json:"turnUnhealthyPeriodically,omitempty"`
	HealthyDuration           *metav1.Duration `json:"healthyDuration,omitempty"`
	UnhealthyDuration         *metav1.Duration `json:"unhealthyDuration,omitempty"`
}

// Latencies are how long things take.
type Latencies struct {
	// CreateLatency is the time from the creation to Running, BootLatency from Running to the start of the
	// body, DeleteLatency from the deletion to the end. An instance boots up to BootSpread faster or slower.
	// Default: 0s.
	CreateLatency *metav1.Duration `json:"createLatency,omitempty"`
	BootLatency   *metav1.Duration `json:"bootLatency,omitempty"`
	BootSpread    *metav1.Duration `json:"bootSpread,omitempty"`
	DeleteLatency *metav1.Duration `json:"deleteLatency,omitempty"`
	// DeletionTimeout is the former name of DeleteLatency.
	DeletionTimeout *metav1.Duration `json:"deletionTimeout,omitempty"`
	// ReadLag is the time for which Find and List do not show a new instance.
	ReadLag *metav1.Duration `json:"readLag,omitempty"`
}

// SecretName names a secret in the machine's namespace.
type SecretName struct {
	Name string `json:"name"`
}
