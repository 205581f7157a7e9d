// Package cloud is the infrastructure that kubemark simulates: instances with
// disks and network interfaces, kept in a [Store], whose state follows from the
// clock, and whose bodies are whatever a [Body] makes of them.
package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Record is one instance as the store keeps it.
type Record struct {
	// ID is unique among all clusters and never used twice.
	ID string `json:"id"`
	// Cluster is the ownership scope.
	Cluster string `json:"cluster"`
	// UID is the UID of the machine; empty when another implementation made
	// the instance.
	UID string `json:"uid,omitempty"`
	// Name is the machine's name, Node the name under which it registers and
	// which its network interface claims. They differ only where an instance
	// was made around the provider.
	Name string `json:"name"`
	Node string `json:"node"`
	// Owner is the control plane, Namespace that of the machine, that the instance
	// was made for; empty when it was made without.
	Owner     string `json:"owner,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Traits are fixed when the instance is made.
	Traits Traits            `json:"traits"`
	Tags   map[string]string `json:"tags,omitempty"`
	// Created is when the instance was accepted.
	Created time.Time `json:"created"`
	// Initialized says that Initialize was called.
	Initialized bool `json:"initialized,omitempty"`
	// Power is what was last asked for, and when.
	Power   Power     `json:"power,omitempty"`
	PowerAt time.Time `json:"powerAt,omitzero"`
	// Rebooted is the last request for a reboot that was taken up.
	Rebooted string `json:"rebooted,omitempty"`
	// Deleted is when deletion was asked for; zero when it was not.
	Deleted time.Time `json:"deleted,omitzero"`
	// Told is what the infrastructure was told to announce about the instance.
	Told Told `json:"told,omitzero"`
	// Body is what is known of what runs for the instance.
	Body BodyStatus `json:"body,omitzero"`
}

// Traits are what a provider spec says about the instances of its class.
type Traits struct {
	Backend      string `json:"backend"`
	InstanceType string `json:"instanceType,omitempty"`
	Region       string `json:"region,omitempty"`
	Zone         string `json:"zone,omitempty"`
	Arch         string `json:"arch,omitempty"`
	Cores        int64  `json:"cores,omitempty"`
	// Memory is in bytes.
	Memory  int64 `json:"memory,omitempty"`
	MaxPods int64 `json:"maxPods,omitempty"`
	// Resources are what else the node has, in bytes or pieces.
	Resources map[corev1.ResourceName]int64 `json:"resources,omitempty"`
	// Address is the internal IP; empty for one that is derived from the ID.
	Address string            `json:"address,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Taints  []corev1.Taint    `json:"taints,omitempty"`

	Latencies
	// Fault is the [provider.Kind] of the error with which the instance is given up
	// when it would run; empty where it runs.
	Fault      string `json:"fault,omitempty"`
	NeverJoins bool   `json:"neverJoins,omitempty"`
	// NeedsInit says that the instance is incomplete until initialized.
	NeedsInit bool `json:"needsInit,omitempty"`
	// DiesAfter and InterruptAfter count from the first moment of running;
	// zero means never. The interruption is announced InterruptNotice before.
	DiesAfter       time.Duration `json:"diesAfter,omitempty"`
	InterruptAfter  time.Duration `json:"interruptAfter,omitempty"`
	InterruptNotice time.Duration `json:"interruptNotice,omitempty"`
	// Healthy is how long the body answers before it falls silent; zero means
	// for ever. Silent is how long it then stays silent; zero means for ever.
	Healthy time.Duration `json:"healthy,omitempty"`
	Silent  time.Duration `json:"silent,omitempty"`
}

// Latencies are how long things take.
type Latencies struct {
	CreateLatency time.Duration `json:"createLatency,omitempty"`
	BootLatency   time.Duration `json:"bootLatency,omitempty"`
	// BootSpread is by how much BootLatency is longer or shorter at most, by instance.
	BootSpread    time.Duration `json:"bootSpread,omitempty"`
	DeleteLatency time.Duration `json:"deleteLatency,omitempty"`
}

// GPU is the resource by which pods ask for accelerators.
const GPU corev1.ResourceName = "nvidia.com/gpu"

// Further are the resources of the node besides cores, memory and pods.
func (t Traits) Further() corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, n := range t.Resources {
		format := resource.DecimalSI
		if !strings.Contains(string(name), "/") { // bytes
			format = resource.BinarySI
		}
		out[name] = *resource.NewQuantity(n, format)
	}
	return out
}

// Power is a power operation asked for.
type Power string

// The power operations. The empty Power is that of a fresh instance: on.
const (
	PowerOn     Power = "on"
	PowerOff    Power = "off"
	PowerReboot Power = "reboot"
)

// BodyStatus is what the last effect on the body was, and what the body needs
// to be found again.
type BodyStatus struct {
	// Want is the last effect that succeeded; empty when there was none.
	Want Want `json:"want,omitempty"`
	// PID and Started identify the process of a hollow body. Started is in
	// clock ticks since boot, as the kernel has it.
	PID     int    `json:"pid,omitempty"`
	Started uint64 `json:"started,omitempty"`
	// StopAsked is when the process was asked to end; zero when it was not.
	StopAsked time.Time `json:"stopAsked,omitzero"`
	// NodeUID is that of the Node object that a kwok body made.
	NodeUID string `json:"nodeUID,omitempty"`
}

// Key identifies a machine in its cluster: all instances that were ever made
// for one machine share it. An instance without UID is keyed by its node name.
func Key(uid, node string) string {
	if uid == "" {
		uid = "/" + node
	}
	sum := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(sum[:12])
}

// Key is the record's [Key].
func (r Record) Key() string { return Key(r.UID, r.Node) }

// InstanceID makes an instance ID of an idempotency token.
func InstanceID(token string) string { return fmt.Sprintf("i-%.16s", token) }

// ProviderID is what the Node's spec.providerID reads.
func (r Record) ProviderID() string { return Scheme + r.Node }

// Scheme begins every provider ID; the node name follows.
const Scheme = "kubemark://"

// Address is the internal IP: that of the traits, or one of 10.0.0.0/8 that
// follows from the ID.
func (r Record) Address() string {
	if r.Traits.Address != "" {
		return r.Traits.Address
	}
	sum := sha256.Sum256([]byte(r.ID))
	// 1..254 in the last place, so that it is neither a network nor a
	// broadcast address of a /24.
	return fmt.Sprintf("10.%d.%d.%d", sum[0], sum[1], 1+int(sum[2])%254)
}

// NodeAddresses are the addresses of the instance, in the order in which a
// kubelet reports them.
func (r Record) NodeAddresses() []corev1.NodeAddress {
	return []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: r.Address()},
		{Type: corev1.NodeHostName, Address: r.Node},
		{Type: corev1.NodeInternalDNS, Address: r.Node},
	}
}

// NodeLabels are those that the node registers with.
func (r Record) NodeLabels() map[string]string {
	labels := maps.Clone(r.Traits.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	for name, value := range map[string]string{
		corev1.LabelTopologyRegion:     r.Traits.Region,
		corev1.LabelTopologyZone:       r.Traits.Zone,
		corev1.LabelInstanceTypeStable: r.Traits.InstanceType,
	} {
		if value != "" {
			labels[name] = value
		}
	}
	return labels
}

// dependants are what an instance holds besides itself.
func (r Record) dependants() []Dependant {
	all := dependants(r.UID, r.ID, r.Node)
	for n := range all {
		all[n].Owner, all[n].Namespace = r.Owner, r.Namespace
	}
	return all
}

func dependants(uid, id, node string) []Dependant {
	key := Key(uid, node)
	return []Dependant{
		{Kind: NIC, Name: node, Key: key, UID: uid, Instance: id},
		{Kind: Disk, Name: id, Key: key, UID: uid, Instance: id},
	}
}

// clone copies what the caller of a store could otherwise change in it.
func (r Record) clone() Record {
	r.Tags = maps.Clone(r.Tags)
	r.Traits.Labels = maps.Clone(r.Traits.Labels)
	r.Traits.Taints = slices.Clone(r.Traits.Taints)
	r.Traits.Resources = maps.Clone(r.Traits.Resources)
	return r
}
