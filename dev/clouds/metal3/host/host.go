// Package host simulates Metal3's hosts: it computes what the baremetal-operator would do with a BareMetalHost, as a function of
// the object and the time. The same code therefore works in the simulator's memory and in a real API
// server.
package host

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Host is a BareMetalHost with a field that the imported types lack.
type Host struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec                       `json:"spec,omitempty"`
	Status            metal3.BareMetalHostStatus `json:"status,omitempty"`
}

// Spec is the spec of a host.
type Spec struct {
	metal3.BareMetalHostSpec `json:",inline"`
	// DisablePowerOff: the host must never be powered off, because it could not be powered on again.
	DisablePowerOff bool `json:"disablePowerOff,omitempty"`
}

// Knobs are the durations of a host's steps.
type Knobs struct {
	// Step is the duration of registering, inspecting, preparing and deleting.
	Step time.Duration
	// Provision and Deprovision are durations of work on the disk, Power is the time without power during a reboot.
	Provision, Deprovision, Power time.Duration
}

// BreakAnnotation breaks a host while it is set: its value is a [metal3.ErrorType].
const BreakAnnotation = "double.metal3.millwright.dev/break"

// rebootOnce is the annotation for a single reboot. Other annotations with its prefix keep a host off while they are
// set.
const rebootOnce = metal3.RebootAnnotationPrefix

// Read decodes a host from JSON.
func Read(raw []byte) (h Host, err error) { return h, json.Unmarshal(raw, &h) }

// Next is the host at a time. Only its status, its annotations and its finalizers differ.
func Next(h Host, now time.Time, k Knobs) Host {
	n := next{Host: copied(h), now: now, knobs: k}
	if _, paused := h.Annotations[metal3.PausedAnnotation]; paused {
		return h
	}
	if n.DeletionTimestamp == nil && !slices.Contains(n.Finalizers, metal3.BareMetalHostFinalizer) {
		n.Finalizers = append(n.Finalizers, metal3.BareMetalHostFinalizer)
	}
	n.health()
	state, broken := n.Status.Provisioning.State, n.Annotations[BreakAnnotation]
	switch {
	case n.DeletionTimestamp != nil:
		n.leave(state)
	case broken != "" && stuck[metal3.ErrorType(broken)] == state:
	default:
		n.live(state)
	}
	if metal3.ErrorType(broken) != metal3.PowerManagementError {
		n.power()
	}
	return n.Host
}

func copied(h Host) Host {
	h.Annotations, h.Finalizers = maps.Clone(h.Annotations), slices.Clone(h.Finalizers)
	h.Status = *h.Status.DeepCopy()
	return h
}

// Changed reports the differences of two versions of a host: in its metadata, and in its status.
func Changed(a, b Host) (metadata, status bool) {
	return !maps.Equal(a.Annotations, b.Annotations) || !slices.Equal(a.Finalizers, b.Finalizers), !equality.Semantic.DeepEqual(a.Status, b.Status)
}

// stuck is the state in which an error keeps a host. A host that cannot be provisioned can still be released.
var stuck = map[metal3.ErrorType]metal3.ProvisioningState{
	metal3.RegistrationError: metal3.StateRegistering, metal3.InspectionError: metal3.StateInspecting, metal3.PreparationError: metal3.StatePreparing,
}

// next is a host in transition.
type next struct {
	Host
	now   time.Time
	knobs Knobs
}

// to changes the state.
func (n *next) to(state metal3.ProvisioningState) {
	n.Status.Provisioning.State = state
	n.touch()
}

func (n *next) touch() {
	at := metav1.NewTime(n.now)
	n.Status.LastUpdated = &at
}

// after reports whether the time d has passed since the last change.
func (n *next) after(d time.Duration) bool {
	return n.Status.LastUpdated == nil || n.now.Sub(n.Status.LastUpdated.Time) >= d
}

// health reports errors and their end.
func (n *next) health() {
	broken := n.Annotations[BreakAnnotation]
	_, detached := n.Annotations[metal3.DetachedAnnotation]
	switch {
	case broken != "":
		n.Status.ErrorType, n.Status.OperationalStatus = metal3.ErrorType(broken), metal3.OperationalStatusError
		n.Status.ErrorMessage, n.Status.ErrorCount = "the simulator was asked for a "+broken, 1
		return
	case detached:
		n.Status.OperationalStatus = metal3.OperationalStatusDetached
	default:
		n.Status.OperationalStatus = metal3.OperationalStatusOK
	}
	n.Status.ErrorType, n.Status.ErrorMessage, n.Status.ErrorCount = "", "", 0
}

// wanted reports whether the spec requests a deployment.
func (n *next) wanted() bool { return n.Spec.Image != nil || n.Spec.CustomDeploy != nil }

// live moves a host from registration to provisioning, and back.
func (n *next) live(state metal3.ProvisioningState) {
	k := n.knobs
	switch state {
	case metal3.StateNone, metal3.StateUnmanaged:
		n.register()
	case metal3.StateRegistering:
		if n.after(k.Step) {
			n.registered()
		}
	case metal3.StateInspecting, metal3.StateMatchProfile:
		if n.after(k.Step) {
			n.inspect()
			n.to(metal3.StatePreparing)
		}
	case metal3.StatePreparing:
		if n.after(k.Step) {
			n.to(metal3.StateAvailable)
		}
	case metal3.StateReady, metal3.StateAvailable:
		if n.Spec.Online && n.wanted() {
			n.Status.OperationHistory.Provision = metal3.OperationMetric{Start: metav1.NewTime(n.now)}
			n.to(metal3.StateProvisioning)
		}
	case metal3.StateProvisioning:
		n.provision()
	case metal3.StateProvisioned:
		if !n.asWritten() {
			n.to(metal3.StateDeprovisioning)
		}
	case metal3.StateDeprovisioning:
		if n.after(k.Deprovision) {
			n.Status.Provisioning.Image, n.Status.Provisioning.CustomDeploy = metal3.Image{}, nil
			n.to(metal3.StateAvailable)
		}
	case metal3.StateExternallyProvisioned:
		if !n.Spec.ExternallyProvisioned {
			n.to(metal3.StateInspecting)
		}
	}
}

func (n *next) register() {
	state := metal3.StateRegistering
	if n.Spec.BMC.Address == "" {
		state = metal3.StateUnmanaged
	}
	if n.Status.Provisioning.State != state {
		n.to(state)
	}
}

func (n *next) registered() {
	if n.Status.Provisioning.ID == "" {
		n.Status.Provisioning.ID = string(n.UID)
	}
	switch {
	case n.Spec.ExternallyProvisioned:
		n.to(metal3.StateExternallyProvisioned)
	case n.Status.Provisioning.Image.URL != "" || n.Status.Provisioning.CustomDeploy != nil:
		n.to(metal3.StateProvisioned)
	default:
		n.to(metal3.StateInspecting)
	}
}

// inspect reads the hardware. Users may set it in an annotation.
func (n *next) inspect() {
	raw, ok := n.Annotations[metal3.HardwareDetailsAnnotation]
	if !ok || n.Status.HardwareDetails != nil {
		return
	}
	hardware := &metal3.HardwareDetails{}
	if json.Unmarshal([]byte(raw), hardware) == nil {
		n.Status.HardwareDetails = hardware
	}
	delete(n.Annotations, metal3.HardwareDetailsAnnotation)
}

func (n *next) provision() {
	switch {
	case !n.wanted():
		n.to(metal3.StateDeprovisioning)
	case n.Status.ErrorType == metal3.ProvisioningError:
	case n.after(n.knobs.Provision):
		n.Status.Provisioning.Image, n.Status.Provisioning.CustomDeploy = metal3.Image{}, n.Spec.CustomDeploy.DeepCopy()
		if n.Spec.Image != nil {
			n.Status.Provisioning.Image = *n.Spec.Image.DeepCopy()
		}
		n.Status.PoweredOn = n.Spec.Online
		n.Status.OperationHistory.Provision.End = metav1.NewTime(n.now)
		n.to(metal3.StateProvisioned)
	}
}

// asWritten reports whether the disk has the deployment that the spec requests.
func (n *next) asWritten() bool {
	image := metal3.Image{}
	if n.Spec.Image != nil {
		image = *n.Spec.Image
	}
	return n.wanted() && equality.Semantic.DeepEqual(image, n.Status.Provisioning.Image) &&
		equality.Semantic.DeepEqual(n.Spec.CustomDeploy, n.Status.Provisioning.CustomDeploy)
}

// leave moves a deleted host towards its end.
func (n *next) leave(state metal3.ProvisioningState) {
	switch state {
	case metal3.StateProvisioning, metal3.StateProvisioned:
		n.to(metal3.StateDeprovisioning)
	case metal3.StateDeprovisioning:
		if n.after(n.knobs.Deprovision) {
			n.to(metal3.StatePoweringOffBeforeDelete)
		}
	case metal3.StatePoweringOffBeforeDelete:
		n.Status.PoweredOn = n.Spec.DisablePowerOff
		if n.after(n.knobs.Step) {
			n.to(metal3.StateDeleting)
		}
	case metal3.StateDeleting:
		n.Finalizers = slices.DeleteFunc(n.Finalizers, func(f string) bool { return f == metal3.BareMetalHostFinalizer })
	default:
		n.to(metal3.StatePoweringOffBeforeDelete)
	}
}

// powered are the states in which a host's power follows its spec.
var powered = []metal3.ProvisioningState{metal3.StateReady, metal3.StateAvailable, metal3.StateProvisioned, metal3.StateExternallyProvisioned}

// power switches a host, and reboots it.
func (n *next) power() {
	if !slices.Contains(powered, n.Status.Provisioning.State) {
		return
	}
	_, once := n.Annotations[rebootOnce]
	held := false
	for key := range n.Annotations {
		held = held || strings.HasPrefix(key, rebootOnce+"/")
	}
	on := n.Status.PoweredOn
	switch {
	case once && on:
		n.Status.PoweredOn = false
		n.touch()
	case once && n.after(n.knobs.Power):
		delete(n.Annotations, rebootOnce)
		n.Status.PoweredOn = n.Spec.Online && !held
		n.touch()
	case once:
	case on && (held || !n.Spec.Online && !n.Spec.DisablePowerOff), !on && n.Spec.Online && !held && n.after(n.knobs.Power):
		n.Status.PoweredOn = !on
		n.touch()
	}
}

// Runs reports whether the deployment on its disk runs.
func (h Host) Runs() bool {
	return h.Status.PoweredOn && slices.Contains([]metal3.ProvisioningState{metal3.StateProvisioned, metal3.StateExternallyProvisioned}, h.Status.Provisioning.State)
}
