package yandex

import (
	"maps"
	"strings"
	"time"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// instance is an instance as requested, with its later changes. Its state depends on the time.
type instance struct {
	ID string
	// Request is the request for its creation. It is not changed.
	Request *compute.CreateInstanceRequest
	Labels  map[string]string
	Made    time.Time
	// Wish is the last requested state: "run", "stop" or "delete". It was requested at Since.
	Wish    string
	Since   time.Time
	Disk    string // the ID of the boot disk
	Address string
	Public  string
	Boots   int
	// Creation is the operation that creates it; empty for a planted instance.
	Creation string
	settled  bool
}

// disk is the boot disk of an instance. Instance is empty for one that its instance has left behind.
type disk struct {
	ID, Folder, Instance string
	// Stays: Compute Cloud does not delete it with its instance.
	Stays bool
}

// deleted is the state of an instance that does not exist: Compute Cloud has none for it.
const deleted compute.Instance_Status = -1

// longest is how long Compute Cloud lets a preemptible instance run.
const longest = 24 * time.Hour

// stateAt is the state at a time.
func (s *store) stateAt(i instance, at time.Time) compute.Instance_Status {
	took := at.Sub(i.Since)
	switch {
	case i.Wish == wishDelete && took < s.options.Delete:
		return compute.Instance_DELETING
	case i.Wish == wishDelete:
		return deleted
	case i.Wish == wishStop && took < s.options.Delete:
		return compute.Instance_STOPPING
	case i.Wish == wishStop, i.preemptible() && took >= longest:
		return compute.Instance_STOPPED
	case took < s.options.Boot/2 && i.Boots == 0:
		return compute.Instance_PROVISIONING
	case took < s.options.Boot:
		return compute.Instance_STARTING
	}
	return compute.Instance_RUNNING
}

// The requested states.
const (
	wishRun    = "run"
	wishStop   = "stop"
	wishDelete = "delete"
)

func (s *store) state(i instance) compute.Instance_Status { return s.stateAt(i, s.clock.Now()) }

func (i instance) preemptible() bool { return i.Request.GetSchedulingPolicy().GetPreemptible() }

// settle deletes the disks of deleted instances, unless they stay.
func (s *store) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.instances.All() {
		if i.settled || s.state(i) != deleted {
			continue
		}
		if d, ok := s.disks.Get(i.Disk); ok && d.Stays {
			d.Instance = ""
			s.disks.Put(d.ID, d)
		} else {
			s.disks.Delete(i.Disk)
		}
		s.instances.Change(i.ID, func(i *instance) { i.settled = true })
		s.instances.Delete(i.ID)
	}
}

// existing is an instance that is not deleted.
func (s *store) existing(id string) (instance, bool) {
	i, ok := s.instances.Get(id)
	return i, ok && s.state(i) != deleted
}

// wish changes the requested state of an instance.
func (s *store) wish(id, wish string) {
	s.instances.Change(id, func(i *instance) {
		if i.Wish == wishDelete {
			return
		}
		if wish == wishRun {
			i.Boots++
		}
		i.Wish, i.Since = wish, s.clock.Now()
	})
}

// hostName is the host name: the ID without another one.
func (i instance) hostName() string {
	if name := i.Request.GetHostname(); name != "" {
		return name
	}
	return i.ID
}

func (i instance) name() string { return i.Request.GetName() }

func (i instance) zone() string { return i.Request.GetZoneId() }

func (i instance) region() string {
	return i.zone()[:max(0, strings.LastIndexByte(i.zone(), '-'))]
}

// shown is an instance in an answer, in a state.
func (i instance) shown(state compute.Instance_Status) *compute.Instance {
	r := i.Request.GetResourcesSpec()
	address := &compute.PrimaryAddress{Address: i.Address}
	if i.Public != "" {
		address.OneToOneNat = &compute.OneToOneNat{Address: i.Public, IpVersion: compute.IpVersion_IPV4}
	}
	out := &compute.Instance{
		Id: i.ID, FolderId: i.Request.GetFolderId(), CreatedAt: timestamppb.New(i.Made.Truncate(time.Second)), Name: i.name(), Labels: maps.Clone(i.Labels), ZoneId: i.zone(),
		PlatformId: i.Request.GetPlatformId(), Status: state, Fqdn: i.hostName() + "." + i.region() + ".internal", SchedulingPolicy: i.Request.GetSchedulingPolicy(),
		Resources:       &compute.Resources{Memory: r.GetMemory(), Cores: r.GetCores(), CoreFraction: r.GetCoreFraction(), Gpus: r.GetGpus()},
		BootDisk:        &compute.AttachedDisk{DiskId: i.Disk, AutoDelete: i.Request.GetBootDiskSpec().GetAutoDelete(), Mode: compute.AttachedDisk_READ_WRITE},
		NetworkSettings: i.Request.GetNetworkSettings(),
	}
	if out.Resources.CoreFraction == 0 {
		out.Resources.CoreFraction = 100
	}
	if i.Request.GetHostname() == "" {
		out.Fqdn = i.ID + ".auto.internal"
	}
	for n, spec := range i.Request.GetNetworkInterfaceSpecs() {
		shown := &compute.NetworkInterface{Index: string(rune('0' + n)), SubnetId: spec.GetSubnetId()}
		if n == 0 {
			shown.PrimaryV4Address = address
		}
		out.NetworkInterfaces = append(out.NetworkInterfaces, shown)
	}
	return out
}
