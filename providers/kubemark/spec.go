package kubemark

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind and APIVersion are those of a [Spec] in each API. A spec of the
// OpenShift API has to name its kind; in a MachineClass it may.
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

// Spec is the provider spec of both APIs. Every field may be left out.
// Durations are Go duration strings ("90s").
type Spec struct {
	metav1.TypeMeta `json:",inline"`
	// Metadata is accepted as the ancestor does, without effect.
	Metadata json.RawMessage `json:"metadata,omitempty"`

	// Backend is what runs for an instance: "hollow", "kwok" or "memory".
	// Default: that of the provider's configuration.
	Backend string `json:"backend,omitempty"`

	Capacity `json:",inline"`
	// Arch is the Kubernetes name of the architecture. Default: the provider
	// host's.
	Arch string `json:"arch,omitempty"`

	// InstanceType is a name of one's own choice.
	InstanceType string `json:"instanceType,omitempty"`
	// Region and Zone default to what the class declares outside its spec.
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
	// Zones are as good as each other: the machines of one owner are spread over them.
	Zones []string `json:"zones,omitempty"`
	// Choices are what an instance may be made of, best first: each is tried while
	// those before it are exhausted.
	Choices []Choice `json:"choices,omitempty"`

	// Labels and Taints are what the node registers with.
	Labels map[string]string `json:"labels,omitempty"`
	Taints []corev1.Taint    `json:"taints,omitempty"`
	// Tags are put on the instance.
	Tags map[string]string `json:"tags,omitempty"`

	Latencies `json:",inline"`

	// CreateFailureRate and DeleteFailureRate are shares of calls, 0..1.
	CreateFailureRate float64 `json:"createFailureRate,omitempty"`
	DeleteFailureRate float64 `json:"deleteFailureRate,omitempty"`
	// Quota is how many instances of this InstanceType the cluster may have in
	// one zone. Default: no limit.
	Quota *int `json:"quota,omitempty"`
	// CallsPerSecond is how many calls are served for the cluster. Default: no
	// limit.
	CallsPerSecond float64 `json:"callsPerSecond,omitempty"`

	// Fault lets an instance that was accepted be given up in place of running,
	// with an error of that [provider.Kind].
	Fault string `json:"fault,omitempty"`
	// NeverJoins leaves Running instances without a body.
	NeverJoins bool `json:"neverJoins,omitempty"`
	// DiesAfter is how long an instance runs before it stops by itself.
	DiesAfter *metav1.Duration `json:"diesAfter,omitempty"`
	// InterruptAfter is how long an instance runs before it is taken back, and
	// InterruptNotice how long before that it is told. Default of the latter:
	// 2m.
	InterruptAfter  *metav1.Duration `json:"interruptAfter,omitempty"`
	InterruptNotice *metav1.Duration `json:"interruptNotice,omitempty"`
	// Initialize demands a step after creation.
	Initialize bool `json:"initialize,omitempty"`

	Moods `json:",inline"`

	// Image is accepted as the ancestor does, without effect.
	Image string `json:"image,omitempty"`

	// UserDataSecret and CredentialsSecret are read by the engine.
	UserDataSecret    *SecretName `json:"userDataSecret,omitempty"`
	CredentialsSecret *SecretName `json:"credentialsSecret,omitempty"`
}

// Choice is one of several things to make an instance of. What it leaves out is as in
// the rest of the spec.
type Choice struct {
	InstanceType string `json:"instanceType,omitempty"`
	Zone         string `json:"zone,omitempty"`
}

// Moods are how bodies fall silent.
type Moods struct {
	// TurnUnhealthyAfter lets the body fall silent for good after
	// HealthyDuration, TurnUnhealthyPeriodically for UnhealthyDuration again
	// and again. Default of both durations: 1m.
	TurnUnhealthyAfter        bool             `json:"turnUnhealthyAfter,omitempty"`
	TurnUnhealthyPeriodically bool             `json:"turnUnhealthyPeriodically,omitempty"`
	HealthyDuration           *metav1.Duration `json:"healthyDuration,omitempty"`
	UnhealthyDuration         *metav1.Duration `json:"unhealthyDuration,omitempty"`
}

// Latencies are how long things take.
type Latencies struct {
	// CreateLatency is the time from create to Running, BootLatency from
	// there to the start of the body, DeleteLatency from delete to gone.
	// An instance boots for up to BootSpread more or less. Default: 0s.
	CreateLatency *metav1.Duration `json:"createLatency,omitempty"`
	BootLatency   *metav1.Duration `json:"bootLatency,omitempty"`
	BootSpread    *metav1.Duration `json:"bootSpread,omitempty"`
	DeleteLatency *metav1.Duration `json:"deleteLatency,omitempty"`
	// DeletionTimeout is the ancestor's name for DeleteLatency.
	DeletionTimeout *metav1.Duration `json:"deletionTimeout,omitempty"`
	// ReadLag is how long Find and List do not show a new instance.
	ReadLag *metav1.Duration `json:"readLag,omitempty"`
}

// SecretName names a secret in the machine's namespace.
type SecretName struct {
	Name string `json:"name"`
}
