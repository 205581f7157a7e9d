package spec

import (
	"github.com/millwright-dev/millwright/provider/lenient"
)

// The prefixes of tags that say whose an instance is, in specs of machine.sapcloud.io: of a cluster, and of a role of nodes in it.
const (
	ClusterTagPrefix = "kubernetes.io/cluster/"
	RoleTagPrefix    = "kubernetes.io/role/"
)

// RootDevice stands in the spec of a class for the root device of its image, whatever that is called there.
const RootDevice = "/root"

// ProviderSpec is what a MachineClass of machine.sapcloud.io says of instances of AWS. Its names are those of the
// original, which is provider AWS in version mcm.gardener.cloud/v1alpha1.
type ProviderSpec struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`

	// AMI is the ID of the image, such as ami-0123456789abcdef0. Required.
	AMI string `json:"ami,omitempty"`
	// MachineType is the type of instance, such as m5.large. Required.
	MachineType string `json:"machineType,omitempty"`
	// Region is where the instance is made. Required.
	Region string `json:"region,omitempty"`
	// IAM is the instance profile. Required.
	IAM IAMProfile `json:"iam,omitzero"`
	// KeyName is a key pair for SSH.
	KeyName *string `json:"keyName,omitempty"`
	// NetworkInterfaces are those of the instance, the first one is the primary one. At least one.
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`
	// SrcAndDstChecksEnabled: false turns off the check of sources and destinations, so that nodes may route for pods.
	SrcAndDstChecksEnabled *bool `json:"srcAndDstChecksEnabled,omitempty"`
	// BlockDevices are disks. One that is alone, or named /root, is the image's root disk.
	BlockDevices []BlockDevice `json:"blockDevices,omitempty"`
	// EBSOptimized asks for a connection to disks of its own, on types where that is a choice.
	EBSOptimized bool `json:"ebsOptimized,omitempty"`
	// Monitoring asks for measurements every minute.
	Monitoring bool `json:"monitoring,omitempty"`
	// SpotPrice makes it a spot instance, for at most so many dollars an hour; with "" for at most the price on demand.
	SpotPrice *string `json:"spotPrice,omitempty"`
	// Market is how the instance is paid; SpotPrice counts for nothing beside it.
	Market *Market `json:"instanceMarketOptions,omitempty"`
	// CapacityReservation is capacity that was reserved.
	CapacityReservation *CapacityReservation `json:"capacityReservation,omitempty"`
	// Placement is where in the zone it runs.
	Placement *Placement `json:"placement,omitempty"`
	// CPU says how many cores and threads of the type are used.
	CPU *CPU `json:"cpuOptions,omitempty"`
	// Metadata is how the instance reaches its metadata service.
	Metadata *Metadata `json:"instanceMetadataOptions,omitempty"`
	// Tags are written on the instance, its disks and its network interfaces. By those that begin with
	// kubernetes.io/cluster/ and kubernetes.io/role/ instances are listed.
	Tags map[string]string `json:"tags,omitempty"`
}

// IAMProfile names an instance profile, in one of two ways.
type IAMProfile struct {
	Name string `json:"name,omitempty"`
	ARN  string `json:"arn,omitempty"`
}

// NetworkInterface is made with the instance.
type NetworkInterface struct {
	SubnetID         string   `json:"subnetID,omitempty"`
	SecurityGroupIDs []string `json:"securityGroupIDs,omitempty"`
	// AssociatePublicIPAddress gives it a public IPv4 address; the subnet decides if it is not set.
	AssociatePublicIPAddress *bool `json:"associatePublicIPAddress,omitempty"`
	// IPv6AddressCount and IPv6PrefixCount are how many addresses, and prefixes of 80 bits, it has of its subnet. Prefixes
	// are assigned once the instance runs.
	IPv6AddressCount *int32 `json:"ipv6AddressCount,omitempty"`
	IPv6PrefixCount  *int32 `json:"ipv6PrefixCount,omitempty"`
	// PrimaryIPv6 makes the first IPv6 address one that stays. It is true if not set, and counts where IPv6AddressCount is set only.
	PrimaryIPv6 *bool `json:"primaryIpv6,omitempty"`
	// DeleteOnTermination: it goes with the instance, unless this is false.
	DeleteOnTermination *bool   `json:"deleteOnTermination,omitempty"`
	Description         *string `json:"description,omitempty"`
	// InterfaceType is interface, efa or efa-only.
	InterfaceType *string `json:"interfaceType,omitempty"`
	// NetworkCardIndex and DeviceIndex say where it is attached; the device is its place in the list if not set.
	NetworkCardIndex *int32 `json:"networkCardIndex,omitempty"`
	DeviceIndex      *int32 `json:"deviceIndex,omitempty"`
}

// BlockDevice is a disk, or keeps one of the image away.
type BlockDevice struct {
	// DeviceName is a name such as /dev/sdf, or /root.
	DeviceName string `json:"deviceName,omitempty"`
	EBS        EBS    `json:"ebs,omitzero"`
	// NoDevice and VirtualName were never used by the original.
	NoDevice    string `json:"noDevice,omitempty"`
	VirtualName string `json:"virtualName,omitempty"`
}

// EBS is a disk.
type EBS struct {
	// DeleteOnTermination: it goes with the instance, unless this is false.
	DeleteOnTermination *bool   `json:"deleteOnTermination,omitempty"`
	Encrypted           bool    `json:"encrypted,omitempty"`
	KMSKeyID            *string `json:"kmsKeyID,omitempty"`
	SnapshotID          *string `json:"snapshotID,omitempty"`
	// VolumeSize is in GiB.
	VolumeSize int32  `json:"volumeSize,omitempty"`
	VolumeType string `json:"volumeType,omitempty"`
	// IOPS are operations a second, Throughput is MiB a second.
	IOPS       int32  `json:"iops,omitempty"`
	Throughput *int32 `json:"throughput,omitempty"`
}

// Market is how an instance is paid.
type Market struct {
	// MarketType is spot, capacity-block or interruptible-capacity-reservation.
	MarketType string `json:"marketType,omitempty"`
}

// CapacityReservation is a preference, or a reservation, or a group of reservations.
type CapacityReservation struct {
	// Preference is open, none or capacity-reservations-only.
	Preference       string  `json:"capacityReservationPreference,omitempty"`
	ID               *string `json:"capacityReservationId,omitempty"`
	ResourceGroupARN *string `json:"capacityReservationResourceGroupArn,omitempty"`
	// MLCapacityBlock: the reservation is a capacity block.
	MLCapacityBlock *bool `json:"isMLCapacityBlock,omitempty"`
}

// Placement is where in a zone an instance runs.
type Placement struct {
	GroupID *string `json:"groupId,omitempty"`
	// Tenancy is default, dedicated or host.
	Tenancy         *string `json:"tenancy,omitempty"`
	HostID          *string `json:"hostId,omitempty"`
	PartitionNumber *int32  `json:"partitionNumber,omitempty"`
	// Affinity is default or host.
	Affinity *string `json:"affinity,omitempty"`
}

// CPU says how many cores and threads of a type are used.
type CPU struct {
	CoreCount      *int32 `json:"coreCount,omitempty"`
	ThreadsPerCore *int32 `json:"threadsPerCore,omitempty"`
	// AMDSEVSNP is enabled or disabled.
	AMDSEVSNP *string `json:"amdSevSnp,omitempty"`
}

// Metadata is how an instance reaches its metadata service.
type Metadata struct {
	// Endpoint and ProtocolIPv6 are enabled or disabled, Tokens is required or optional.
	Endpoint     *string `json:"httpEndpoint,omitempty"`
	HopLimit     *int32  `json:"httpPutResponseHopLimit,omitempty"`
	Tokens       *string `json:"httpTokens,omitempty"`
	ProtocolIPv6 *string `json:"httpProtocolIpv6,omitempty"`
}

// DecodeProviderSpec reads the providerSpec of a class as the original does, and refuses what it refuses.
func DecodeProviderSpec(raw []byte) (*ProviderSpec, error) {
	s, _, err := lenient.Decode[ProviderSpec](raw)
	if err != nil {
		return nil, err
	}
	return s, Refused(s.Check())
}

// Whose are the keys of the tags that say whose an instance is: those of the cluster and of the role, in order. A spec
// that names neither has none.
func (s *ProviderSpec) Whose() (keys []string) { return ownershipKeys(s.Tags) }
