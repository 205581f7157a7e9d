package spec

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// Gardener is the provider spec of a MachineClass for GCP.
type Gardener struct {
	APIVersion string `json:"apiVersion,omitempty"`
	// Region and Zone are where machines are. A zone may be several, separated by commas, best first.
	Region string `json:"region"`
	Zone   string `json:"zone"`
	// MachineType is the name of a type, or several, separated by commas, best first.
	MachineType    string `json:"machineType"`
	MinCPUPlatform string `json:"minCpuPlatform,omitempty"`
	// CanIPForward lets the instance send and receive packets of other addresses than its own.
	CanIPForward bool `json:"canIpForward"`
	// DeletionProtection lets Compute Engine refuse to delete the instance.
	DeletionProtection bool    `json:"deletionProtection"`
	Description        *string `json:"description,omitempty"`
	// Disks are made with the instance; the first with Boot is what it starts from.
	Disks             []*GardenerDisk          `json:"disks,omitempty"`
	GPU               *GardenerGPU             `json:"gpu,omitempty"`
	Labels            map[string]string        `json:"labels,omitempty"`
	Metadata          []*GardenerMetadata      `json:"metadata,omitempty"`
	NetworkInterfaces []*GardenerInterface     `json:"networkInterfaces,omitempty"`
	Scheduling        GardenerScheduling       `json:"scheduling"`
	ServiceAccounts   []GardenerServiceAccount `json:"serviceAccounts"`
	Shielded          *GardenerShielded        `json:"shieldedInstanceConfiguration,omitempty"`
	Features          *GardenerMachineFeatures `json:"advancedMachineFeatures,omitempty"`
	// Tags are network tags. Those that begin with kubernetes-io-cluster- and kubernetes-io-role- say whose the instance is.
	Tags []string `json:"tags,omitempty"`
}

// GardenerDisk is a disk of an instance.
type GardenerDisk struct {
	// AutoDelete: the disk goes with the instance; true where it is left out.
	AutoDelete *bool `json:"autoDelete"`
	Boot       bool  `json:"boot"`
	SizeGB     int64 `json:"sizeGb"`
	// Type is the name of a disk type, or SCRATCH for a local SSD.
	Type string `json:"type"`
	// Interface is that of a local SSD: NVME or SCSI.
	Interface             string              `json:"interface"`
	Image                 string              `json:"image"`
	Encryption            *GardenerEncryption `json:"encryption"`
	Labels                map[string]string   `json:"labels"`
	ProvisionedIOPS       int64               `json:"provisionedIops,omitempty"`
	ProvisionedThroughput int64               `json:"provisionedThroughput,omitempty"`
	StoragePool           string              `json:"storagePool,omitempty"`
}

// GardenerEncryption is the key of a disk, and who uses it.
type GardenerEncryption struct {
	KMSKeyName           string `json:"kmsKeyName"`
	KMSKeyServiceAccount string `json:"kmsKeyServiceAccount"`
}

// GardenerGPU are accelerators of one type.
type GardenerGPU struct {
	AcceleratorType string `json:"acceleratorType"`
	Count           int64  `json:"count"`
}

// GardenerMetadata is an entry of the metadata that the guest reads.
type GardenerMetadata struct {
	Key   string  `json:"key"`
	Value *string `json:"value"`
}

// GardenerInterface is a network interface. It has an external address unless that is disabled.
type GardenerInterface struct {
	DisableExternalIP bool   `json:"disableExternalIP,omitempty"`
	Network           string `json:"network,omitempty"`
	Subnetwork        string `json:"subnetwork,omitempty"`
	// StackType is IPV4_ONLY or IPV4_IPV6, with which IPv6AccessType is INTERNAL or EXTERNAL.
	StackType      string `json:"stackType,omitempty"`
	IPv6AccessType string `json:"ipv6accessType,omitempty"`
	// UseAliasIPs gives the instance a range of a secondary range of the subnetwork: so many addresses ("/24") of the one with the name.
	UseAliasIPs         bool   `json:"useAliasIPs,omitempty"`
	IPCidrRange         string `json:"ipCidrRange,omitempty"`
	SubnetworkRangeName string `json:"subnetworkRangeName,omitempty"`
}

// GardenerScheduling is what becomes of the instance when its host is maintained.
type GardenerScheduling struct {
	AutomaticRestart  bool   `json:"automaticRestart"`
	OnHostMaintenance string `json:"onHostMaintenance"`
	Preemptible       bool   `json:"preemptible"`
}

// GardenerServiceAccount is the identity of the guest.
type GardenerServiceAccount struct {
	Email  string   `json:"email"`
	Scopes []string `json:"scopes"`
}

// GardenerShielded is how far the guest's start is watched over.
type GardenerShielded struct {
	SecureBoot          *bool `json:"secureBoot,omitempty"`
	VTPM                *bool `json:"vtpm,omitempty"`
	IntegrityMonitoring *bool `json:"integrityMonitoring,omitempty"`
}

// GardenerMachineFeatures are features of the processor.
type GardenerMachineFeatures struct {
	EnableNestedVirtualization bool `json:"enableNestedVirtualization,omitempty"`
}

// Scratch is the type of disks that are local SSDs.
const Scratch = "SCRATCH"

// UserDataKey is the metadata of the user data, for guests that read cloud-init's or Ignition's.
const UserDataKey = "user-data"

// DecodeGardener returns a spec that can be made an instance of. The error is [provider.Invalid], and names each field that is wrong.
func DecodeGardener(raw []byte) (*Gardener, error) {
	s, _, err := lenient.Decode[Gardener](raw)
	if err != nil {
		return nil, err
	}
	return s, AsError(s.Validate(nil))
}

// AsError joins faults into an error of [provider.Invalid] errors; nil without faults.
func AsError(faults field.ErrorList) error {
	errs := make([]error, 0, len(faults))
	for _, f := range faults {
		text := f.ErrorBody()
		if f.Type == field.ErrorTypeRequired || f.Type == field.ErrorTypeForbidden {
			text = f.Detail // which says it all
		}
		errs = append(errs, provider.InvalidField(f.Field, "%s", text))
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// Validate returns what is wrong with the spec, with paths below the given one.
func (s *Gardener) Validate(path *field.Path) (faults field.ErrorList) {
	for _, f := range []struct{ name, value string }{{"region", s.Region}, {"zone", s.Zone}, {"machineType", s.MachineType}} {
		if f.value == "" {
			faults = append(faults, field.Required(path.Child(f.name), "has to be given"))
		}
	}
	faults = append(faults, s.checkDisks(path.Child("disks"))...)
	faults = append(faults, s.checkInterfaces(path.Child("networkInterfaces"))...)
	for i, m := range s.Metadata {
		if m != nil && m.Key == UserDataKey {
			faults = append(faults, field.Forbidden(path.Child("metadata").Index(i).Child("key"), "is where the user data of the secret goes"))
		}
	}
	faults = append(faults, s.checkGPU(path)...)
	if len(s.ServiceAccounts) > 1 {
		faults = append(faults, field.TooMany(path.Child("serviceAccounts"), len(s.ServiceAccounts), 1))
	}
	return faults
}

func (s *Gardener) checkDisks(path *field.Path) (faults field.ErrorList) {
	if len(s.Disks) == 0 {
		return field.ErrorList{field.Required(path, "give a disk")}
	}
	for i, d := range s.Disks {
		at := path.Index(i)
		if len(faults) > lenient.MostFaults {
			break
		}
		if d == nil {
			faults = append(faults, field.Required(at, "say what the disk is"))
			continue
		}
		if d.Type == Scratch && d.Interface != "NVME" && d.Interface != "SCSI" {
			faults = append(faults, field.NotSupported(at.Child("interface"), lenient.Shown(d.Interface), []string{"NVME", "SCSI"}))
		}
		if d.Boot && d.Image == "" {
			faults = append(faults, field.Required(at.Child("image"), "name the image of a boot disk"))
		}
		if d.SizeGB < 0 {
			faults = append(faults, field.Invalid(at.Child("sizeGb"), d.SizeGB, "is less than 0"))
		}
		if e := d.Encryption; e != nil {
			if strings.TrimSpace(e.KMSKeyName) == "" {
				faults = append(faults, field.Required(at.Child("encryption", "kmsKeyName"), "name the key"))
			}
			if e.KMSKeyServiceAccount != "" && strings.TrimSpace(e.KMSKeyServiceAccount) == "" {
				faults = append(faults, field.Invalid(at.Child("encryption", "kmsKeyServiceAccount"), "", "is blank: leave it out, or name a service account"))
			}
		}
	}
	return faults
}

func (s *Gardener) checkInterfaces(path *field.Path) (faults field.ErrorList) {
	if len(s.NetworkInterfaces) == 0 {
		return field.ErrorList{field.Required(path, "give a network interface")}
	}
	for i, n := range s.NetworkInterfaces {
		at := path.Index(i)
		if len(faults) > lenient.MostFaults {
			break
		}
		if n == nil || n.Network == "" && n.Subnetwork == "" {
			faults = append(faults, field.Required(at, "name the network, the subnetwork or both"))
			continue
		}
		faults = append(faults, oneOf(at.Child("stackType"), n.StackType, "", "IPV4_ONLY", "IPV4_IPV6")...)
		faults = append(faults, oneOf(at.Child("ipv6accessType"), n.IPv6AccessType, "", "EXTERNAL", "INTERNAL")...)
		if n.IPCidrRange != "" && !isRange(n.IPCidrRange) {
			faults = append(faults, field.Invalid(at.Child("ipCidrRange"), lenient.Shown(n.IPCidrRange), `has to be the length of a prefix, such as "/24"`))
		}
	}
	return faults
}

// isRange reads "/24".
func isRange(s string) bool {
	length, ok := strings.CutPrefix(s, "/")
	bits, err := strconv.Atoi(length)
	if !ok || err != nil {
		return false
	}
	_, err = netip.IPv4Unspecified().Prefix(bits)
	return err == nil
}

func oneOf(path *field.Path, value string, all ...string) field.ErrorList {
	for _, v := range all {
		if v == value {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(path, lenient.Shown(value), all[1:])}
}

func (s *Gardener) checkGPU(path *field.Path) (faults field.ErrorList) {
	maintenance := path.Child("scheduling", "onHostMaintenance")
	if s.Scheduling.OnHostMaintenance != "MIGRATE" && s.Scheduling.OnHostMaintenance != "TERMINATE" {
		faults = append(faults, field.NotSupported(maintenance, lenient.Shown(s.Scheduling.OnHostMaintenance), []string{"MIGRATE", "TERMINATE"}))
	}
	if s.GPU == nil {
		return faults
	}
	if s.Scheduling.OnHostMaintenance == "MIGRATE" {
		faults = append(faults, field.Forbidden(maintenance, "a machine with GPUs cannot migrate: set it to TERMINATE"))
	}
	if s.GPU.AcceleratorType == "" {
		faults = append(faults, field.Required(path.Child("gpu", "acceleratorType"), "name the type of the GPUs"))
	}
	if s.GPU.Count <= 0 {
		faults = append(faults, field.Invalid(path.Child("gpu", "count"), s.GPU.Count, "is less than 1"))
	}
	return faults
}
