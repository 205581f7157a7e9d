package cloud

import (
	"cmp"
	"fmt"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"google.golang.org/api/compute/v1"

	"github.com/millwright-dev/millwright/providers/gcp/spec"
)

// openshiftInstance is the original's request for a spec.
func openshiftInstance(s *machinev1beta1.GCPMachineProviderSpec, p placement, userData string) *compute.Instance {
	i := &compute.Instance{
		CanIpForward: s.CanIPForward, DeletionProtection: s.DeletionProtection,
		MachineType: typePath(p), Tags: &compute.Tags{Items: s.Tags},
		Scheduling:                 openshiftScheduling(s),
		ShieldedInstanceConfig:     shielded(s.ShieldedInstanceConfig),
		ConfidentialInstanceConfig: confidential(s.ConfidentialCompute),
		Metadata:                   openshiftMetadata(s.Metadata, userData),
	}
	for _, g := range s.GPUs {
		i.GuestAccelerators = append(i.GuestAccelerators, &compute.AcceleratorConfig{
			AcceleratorType: "zones/" + p.zone + "/acceleratorTypes/" + g.Type, AcceleratorCount: int64(cmp.Or(g.Count, 1)),
		})
	}
	for _, d := range s.Disks {
		i.Disks = append(i.Disks, openshiftDisk(d, p))
	}
	for _, n := range s.NetworkInterfaces {
		i.NetworkInterfaces = append(i.NetworkInterfaces, openshiftInterface(n, p))
	}
	for _, a := range s.ServiceAccounts {
		i.ServiceAccounts = append(i.ServiceAccounts, &compute.ServiceAccount{Email: a.Email, Scopes: a.Scopes})
	}
	return i
}

func typePath(p placement) string { return "zones/" + p.zone + "/machineTypes/" + p.machineType }

func openshiftScheduling(s *machinev1beta1.GCPMachineProviderSpec) *compute.Scheduling {
	out := &compute.Scheduling{Preemptible: s.Preemptible, OnHostMaintenance: strings.ToUpper(string(s.OnHostMaintenance))}
	if s.ProvisioningModel != nil && *s.ProvisioningModel == machinev1beta1.GCPSpotInstance {
		out.ProvisioningModel = "SPOT"
	}
	if s.RestartPolicy != "" {
		again := s.RestartPolicy == machinev1beta1.RestartPolicyAlways
		out.AutomaticRestart = &again
	}
	return out
}

// shielded has integrity monitoring on, and secure boot off, if the spec has no setting.
func shielded(c machinev1beta1.GCPShieldedInstanceConfig) *compute.ShieldedInstanceConfig {
	return &compute.ShieldedInstanceConfig{
		EnableSecureBoot:          c.SecureBoot == machinev1beta1.SecureBootPolicyEnabled,
		EnableVtpm:                c.VirtualizedTrustedPlatformModule != machinev1beta1.VirtualizedTrustedPlatformModulePolicyDisabled,
		EnableIntegrityMonitoring: c.IntegrityMonitoring != machinev1beta1.IntegrityMonitoringPolicyDisabled,
		ForceSendFields:           shieldedFields,
	}
}

var shieldedFields = []string{"EnableSecureBoot", "EnableVtpm", "EnableIntegrityMonitoring"}

func confidential(p machinev1beta1.ConfidentialComputePolicy) *compute.ConfidentialInstanceConfig {
	kinds := map[machinev1beta1.ConfidentialComputePolicy]string{
		machinev1beta1.ConfidentialComputePolicyEnabled: "", machinev1beta1.ConfidentialComputePolicySEV: "SEV",
		machinev1beta1.ConfidentialComputePolicySEVSNP: "SEV_SNP", machinev1beta1.ConfidentialComputePolicyTDX: "TDX",
	}
	kind, ok := kinds[p]
	if !ok {
		return nil
	}
	return &compute.ConfidentialInstanceConfig{EnableConfidentialCompute: true, ConfidentialInstanceType: kind}
}

// Windows reads its script from metadata of its own, without the tags that mark it elsewhere.
const (
	windowsKey   = "sysprep-specialize-script-ps1"
	windowsBegin = "<powershell>"
	windowsEnd   = "</powershell>"
)

// openshiftMetadata lets a user's entry replace the user data, as the original does.
func openshiftMetadata(entries []*machinev1beta1.GCPMetadata, userData string) *compute.Metadata {
	key := spec.UserDataKey
	if script := strings.TrimSpace(userData); strings.HasPrefix(script, windowsBegin) {
		key = windowsKey
		userData = strings.TrimSuffix(strings.TrimPrefix(script, windowsBegin), windowsEnd)
	}
	items := []*compute.MetadataItems{{Key: key, Value: &userData}}
	for _, e := range entries {
		switch {
		case e == nil:
		case e.Key == key:
			items[0].Value = e.Value
		default:
			items = append(items, &compute.MetadataItems{Key: e.Key, Value: e.Value})
		}
	}
	return &compute.Metadata{Items: items}
}

func openshiftDisk(d *machinev1beta1.GCPDisk, p placement) *compute.AttachedDisk {
	out := &compute.AttachedDisk{
		AutoDelete: d.AutoDelete, Boot: d.Boot,
		InitializeParams: &compute.AttachedDiskInitializeParams{
			DiskSizeGb: d.SizeGB, DiskType: diskType(p, d.Type), SourceImage: imagePath(p.project, d.Image), Labels: d.Labels,
		},
	}
	if k := d.EncryptionKey; k != nil && k.KMSKey != nil {
		out.DiskEncryptionKey = &compute.CustomerEncryptionKey{
			KmsKeyName: fmt.Sprintf("projects/%s/locations/%s/keyRings/%s/cryptoKeys/%s",
				cmp.Or(k.KMSKey.ProjectID, p.project), k.KMSKey.Location, k.KMSKey.KeyRing, k.KMSKey.Name),
			KmsKeyServiceAccount: k.KMSKeyServiceAccount,
		}
	}
	return out
}

// diskType accepts names and paths.
func diskType(p placement, name string) string {
	if name == "" || strings.Contains(name, "/") {
		return name
	}
	return "zones/" + p.zone + "/diskTypes/" + name
}

// imagePath is the path of an image, which may be given as a name of the project's.
func imagePath(project, image string) string {
	if image == "" || strings.Contains(image, "/") {
		return image
	}
	return "projects/" + project + "/global/images/" + image
}

// openshiftInterface has the names of network and subnetwork, possibly of another project: that of a shared
// VPC.
func openshiftInterface(n *machinev1beta1.GCPNetworkInterface, p placement) *compute.NetworkInterface {
	out, project := &compute.NetworkInterface{}, cmp.Or(n.ProjectID, p.project)
	if n.PublicIP {
		out.AccessConfigs = []*compute.AccessConfig{{}}
	}
	if n.Network != "" {
		out.Network = networkPath(project, n.Network)
	}
	if n.Subnetwork != "" {
		out.Subnetwork = subnetworkPath(project, p.region, n.Subnetwork)
	}
	return out
}

func networkPath(project, name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "projects/" + project + "/global/networks/" + name
}

func subnetworkPath(project, region, name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "projects/" + project + "/regions/" + region + "/subnetworks/" + name
}
