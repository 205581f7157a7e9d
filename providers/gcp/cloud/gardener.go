package cloud

import (
	"fmt"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/gcp/spec"
)

// gardenerInstance is the original's request for a spec.
func gardenerInstance(s *spec.Gardener, p placement, userData string) (*compute.Instance, error) {
	metadata, err := gardenerMetadata(s.Metadata, userData)
	if err != nil {
		return nil, err
	}
	again := s.Scheduling.AutomaticRestart
	i := &compute.Instance{
		CanIpForward: s.CanIPForward, DeletionProtection: s.DeletionProtection, MinCpuPlatform: s.MinCPUPlatform,
		MachineType: typePath(p), Tags: &compute.Tags{Items: s.Tags}, Metadata: metadata,
		Scheduling: &compute.Scheduling{
			AutomaticRestart: &again, OnHostMaintenance: s.Scheduling.OnHostMaintenance, Preemptible: s.Scheduling.Preemptible,
		},
	}
	if s.Description != nil {
		i.Description = *s.Description
	}
	if g := s.GPU; g != nil {
		i.GuestAccelerators = []*compute.AcceleratorConfig{{
			AcceleratorType: fmt.Sprintf("projects/%s/zones/%s/acceleratorTypes/%s", p.project, p.zone, g.AcceleratorType), AcceleratorCount: g.Count,
		}}
	}
	if s.Shielded != nil {
		i.ShieldedInstanceConfig = gardenerShielded(s.Shielded)
	}
	if f := s.Features; f != nil {
		i.AdvancedMachineFeatures = &compute.AdvancedMachineFeatures{EnableNestedVirtualization: f.EnableNestedVirtualization}
	}
	for _, d := range s.Disks {
		i.Disks = append(i.Disks, gardenerDisk(d, p))
	}
	for _, n := range s.NetworkInterfaces {
		i.NetworkInterfaces = append(i.NetworkInterfaces, gardenerInterface(n, p))
	}
	for _, a := range s.ServiceAccounts {
		i.ServiceAccounts = append(i.ServiceAccounts, &compute.ServiceAccount{Email: a.Email, Scopes: a.Scopes})
	}
	return i, nil
}

// gardenerShielded leaves omitted settings to Compute Engine: integrity monitoring is on there, and secure
// boot off.
func gardenerShielded(s *spec.GardenerShielded) *compute.ShieldedInstanceConfig {
	out := &compute.ShieldedInstanceConfig{}
	for _, f := range []struct {
		says *bool
		to   *bool
		name string
	}{
		{s.SecureBoot, &out.EnableSecureBoot, "EnableSecureBoot"},
		{s.VTPM, &out.EnableVtpm, "EnableVtpm"},
		{s.IntegrityMonitoring, &out.EnableIntegrityMonitoring, "EnableIntegrityMonitoring"},
	} {
		if f.says != nil {
			*f.to, out.ForceSendFields = *f.says, append(out.ForceSendFields, f.name)
		}
	}
	return out
}

// scriptKey is the metadata of user data that is not for cloud-init: the guest runs it at each start.
const scriptKey = "startup-script"

func gardenerMetadata(entries []*spec.GardenerMetadata, userData string) (*compute.Metadata, error) {
	key := scriptKey
	if strings.HasPrefix(userData, "#cloud-config") {
		key = spec.UserDataKey
	}
	items := []*compute.MetadataItems{{Key: key, Value: &userData}}
	for n, e := range entries {
		switch {
		case e == nil:
		case e.Key == key:
			return nil, provider.InvalidField(fmt.Sprintf("metadata[%d].key", n), "%q is where the user data of the secret goes", key)
		default:
			items = append(items, &compute.MetadataItems{Key: e.Key, Value: e.Value})
		}
	}
	return &compute.Metadata{Items: items}, nil
}

func gardenerDisk(d *spec.GardenerDisk, p placement) *compute.AttachedDisk {
	out := &compute.AttachedDisk{AutoDelete: d.AutoDelete == nil || *d.AutoDelete, Type: "PERSISTENT", Boot: d.Boot}
	if d.Type == spec.Scratch {
		out.Type, out.Boot, out.Interface = spec.Scratch, false, d.Interface
		out.InitializeParams = &compute.AttachedDiskInitializeParams{DiskType: diskType(p, "local-ssd")}
	} else {
		out.InitializeParams = &compute.AttachedDiskInitializeParams{
			DiskSizeGb: d.SizeGB, DiskType: diskType(p, d.Type), SourceImage: imagePath(p.project, d.Image), Labels: d.Labels,
			ProvisionedIops: d.ProvisionedIOPS, ProvisionedThroughput: d.ProvisionedThroughput, StoragePool: d.StoragePool,
		}
	}
	if e := d.Encryption; e != nil {
		out.DiskEncryptionKey = &compute.CustomerEncryptionKey{
			KmsKeyName: strings.TrimSpace(e.KMSKeyName), KmsKeyServiceAccount: strings.TrimSpace(e.KMSKeyServiceAccount),
		}
	}
	return out
}

// gardenerInterface sets IPv6 and alias ranges as the original does: only if the interface has both stacks
// or uses aliases.
func gardenerInterface(n *spec.GardenerInterface, p placement) *compute.NetworkInterface {
	out := &compute.NetworkInterface{}
	if !n.DisableExternalIP {
		out.AccessConfigs = []*compute.AccessConfig{{}}
	}
	if n.Network != "" {
		out.Network = networkPath(p.project, n.Network)
	}
	if n.Subnetwork != "" {
		out.Subnetwork = gardenerSubnetwork(p, n.Subnetwork)
	}
	if n.StackType != "IPV4_IPV6" && !n.UseAliasIPs {
		return out
	}
	// Compute Engine only returns the type of access, which is the subnetwork's. An external address would
	// need a configuration of its own, which the original does not request.
	out.StackType, out.Ipv6AccessType = n.StackType, n.IPv6AccessType
	if n.IPCidrRange != "" || n.SubnetworkRangeName != "" {
		out.AliasIpRanges = []*compute.AliasIpRange{{IpCidrRange: n.IPCidrRange, SubnetworkRangeName: n.SubnetworkRangeName}}
	}
	return out
}

// gardenerSubnetwork is the path of a subnetwork in the instance's project: the original names none.
func gardenerSubnetwork(p placement, name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "regions/" + p.region + "/subnetworks/" + name
}
