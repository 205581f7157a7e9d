// Package cloud is the infrastructure that kubemark simulates: instances with disks and network interfaces in
// a [Store]. Their states follow from the clock; a [Body] runs for each instance.
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

// Record is an instance in the store.
type Record struct {
	// ID is unique among all clusters and never used twice.
	ID string `json:"id"`
	// Cluster is the ownership scope.
	Cluster string `json:"cluster"`
	// UID is the UID of the machine; empty: another implementation created the instance.
	UID string `json:"uid,omitempty"`
	// Name is the machine's name, Node the name under which it registers and which its network interface
	// claims. They differ only for instances that were not created by the provider.
	Name string `json:"name"`
	Node string `json:"node"`
	// Owner is the control plane, and Namespace the machine's namespace, at the creation of the instance;
	// they may be empty.
	Owner     string `json:"owner,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Traits are fixed at the creation.
	Traits Traits            `json:"traits"`
	Tags   map[string]string `json:"tags,omitempty"`
	// Created is when the cloud accepted the instance.
	Created time.Time `json:"created"`
	// Initialized says that Initialize was called.
	Initialized bool `json:"initialized,omitempty"`
	// Power is the last power operation, and its time.
	Power   Power     `json:"power,omitempty"`
	PowerAt time.Time `json:"powerAt,omitzero"`
	// Rebooted is the last accepted reboot request.
	Rebooted string `json:"rebooted,omitempty"`
	// Deleted is the time of the deletion request; zero: it is not deleted.
	Deleted time.Time `json:"deleted,omitzero"`
	// Announced has the requested announcements about the instance.
	Announced Announced `json:"told,omitzero"`
	// Body is the status of the instance's body.
	Body BodyStatus `json:"body,omitzero"`
}

// Traits are the instance's properties from the provider spec.
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
	// Resources are further resources of the node, in bytes or pieces.
	Resources map[corev1.ResourceName]int64 `json:"resources,omitempty"`
	// Address is the internal IP; empty: it is derived from the ID.
	Address string            `json:"address,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Taints  []corev1.Taint    `json:"taints,omitempty"`

	Latencies
	// Fault is the [provider.Kind] of the error with which the instance fails instead of starting; empty: it
	// starts.
	Fault      string `json:"fault,omitempty"`
	NeverJoins bool   `json:"neverJoins,omitempty"`
	// NeedsInit: the instance is incomplete until Initialize is called.
	NeedsInit bool `json:"needsInit,omitempty"`
	// DiesAfter and InterruptAfter count from the start; zero means never. The interruption is announced
	// InterruptNotice before.
	DiesAfter       time.Duration `json:"diesAfter,omitempty"`
	InterruptAfter  time.Duration `json:"interruptAfter,omitempty"`
	InterruptNotice time.Duration `json:"interruptNotice,omitempty"`
	// Healthy is the time after which the body stops answering; zero: it always answers. Silent is the time
	// for which it then does not answer; zero: for good.
	Healthy time.Duration `json:"healthy,omitempty"`
	Silent  time.Duration `json:"silent,omitempty"`
}

// Latencies are how long things take.
type Latencies struct {
	CreateLatency time.Duration `json:"createLatency,omitempty"`
	BootLatency   time.Duration `json:"bootLatency,omitempty"`
	// BootSpread is the maximum individual difference of BootLatency.
	BootSpread    time.Duration `json:"bootSpread,omitempty"`
	DeleteLatency time.Duration `json:"deleteLatency,omitempty"`
}

// GPU is the resource name of accelerators in pods' requests.
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

// Power is a requested power operation.
type Power string

// The power operations. The empty Power is that of a new instance: on.
const (
	PowerOn     Power = "on"
	PowerOff    Power = "off"
	PowerReboot Power = "reboot"
)

// BodyStatus has the last effect on the body, and what identifies the body.
type BodyStatus struct {
	// Want is the last effect that succeeded; empty: no effect has succeeded.
	Want Want `json:"want,omitempty"`
	// PID and Started identify the process of a hollow body. Started is in clock ticks since boot, as in the
	// kernel.
	PID     int    `json:"pid,omitempty"`
	Started uint64 `json:"started,omitempty"`
	// StopAsked is when the process received SIGTERM; zero: it did not.
	StopAsked time.Time `json:"stopAsked,omitzero"`
	// NodeUID is the UID of the Node object that a kwok body created.
	NodeUID string `json:"nodeUID,omitempty"`
}

// Key identifies a machine in its cluster: all instances of one machine have the same key. The key of an
// instance without UID is its node name.
func Key(uid, node string) string {
	if uid == "" {
		uid = "/" + node
	}
	sum := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(sum[:12])
}

// Key is the record's [Key].
func (r Record) Key() string { return Key(r.UID, r.Node) }

// InstanceID derives an instance ID from an idempotency token.
func InstanceID(token string) string { return fmt.Sprintf("i-%.16s", token) }

// ProviderID is the Node's spec.providerID.
func (r Record) ProviderID() string { return Scheme + r.Node }

// Scheme is the prefix of every provider ID; the node name follows.
const Scheme = "kubemark://"

// Address is the internal IP: that of the traits, or one of 10.0.0.0/8 that is derived from the ID.
func (r Record) Address() string {
	if r.Traits.Address != "" {
		return r.Traits.Address
	}
	sum := sha256.Sum256([]byte(r.ID))
	// 1..254 in the last place, so that it is neither a network nor a
	// broadcast address of a /24.
	return fmt.Sprintf("10.%d.%d.%d", sum[0], sum[1], 1+int(sum[2])%254)
}

// NodeAddresses are the addresses of the instance, in the order in which a kubelet reports them.
func (r Record) NodeAddresses() []corev1.NodeAddress {
	return []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: r.Address()},
		{Type: corev1.NodeHostName, Address: r.Node},
		{Type: corev1.NodeInternalDNS, Address: r.Node},
	}
}

// NodeLabels are the labels with which the node registers.
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

// dependants are the dependants of an instance.
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

// clone copies the parts of a record that are shared by reference.
func (r Record) clone() Record {
	r.Tags = maps.Clone(r.Tags)
	r.Traits.Labels = maps.Clone(r.Traits.Labels)
	r.Traits.Taints = slices.Clone(r.Traits.Taints)
	r.Traits.Resources = maps.Clone(r.Traits.Resources)
	return r
}
